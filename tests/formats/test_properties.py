"""What holds of every turn, over the tokenizers of the formats' models: few turns of each.

`tests/properties/test_dialects.py` asks more, over small vocabularies.
"""

import json
from random import Random

import jsonschema
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.formats.catalogue import ROWS
from enforcer.turn.matcher import Matcher
from tests.formats import ours, sampled, vocabularies
from tests.formats.said import plain
from tests.vocabularies import row_of, split
from tests.walks import examples

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32)
SOME = 40  # ids of each mask, of those that are legal and of the others


@pytest.mark.parametrize("name", ROWS)
@examples(4)
@given(seed=SEEDS)
def test_sampled_calls_are_valid_and_read_alike_in_any_split(name: str, seed: int) -> None:
    rng = Random(seed)
    tools = sampled.tools(name, rng)
    ids = sampled.turn(name, rng, tools)
    assume(ids is not None)
    read = ours.read(name, ids, tools)
    assert not read.problem
    schemas = {each["function"]["name"]: each["function"]["parameters"] for each in tools}
    for tool, arguments in read.calls:
        jsonschema.Draft202012Validator(schemas[tool]).validate(json.loads(arguments))
    again = resplit(name, rng, ids)
    assert ours.legal(name, again, tools) == len(again)
    assert plain(ours.read(name, again, tools)) == plain(read)


def resplit(name: str, rng: Random, ids: list[int]) -> list[int]:
    """Split the text between control tokens anew."""
    found = vocabularies.vocabulary(name)
    again: list[int] = []
    text = b""
    for token_id in ids:
        if token_id in found.control_ids:
            again += [*split(rng.choice, found, text), token_id]
            text = b""
        else:
            text += found.token_bytes(token_id)
    return again + split(rng.choice, found, text)


@pytest.mark.parametrize("name", ROWS)
@examples(4)
@given(seed=SEEDS)
def test_a_bit_is_set_exactly_if_accept_then_succeeds(name: str, seed: int) -> None:
    rng = Random(seed)
    size = vocabularies.vocabulary(name).size
    controls = sorted(vocabularies.vocabulary(name).control_ids)

    def look(matcher: Matcher, legal: np.ndarray) -> None:
        if rng.random() < 0.7:
            return
        before = row_of(matcher).copy()
        allowed, others = np.flatnonzero(legal[:size]), np.flatnonzero(~legal[:size])
        assert len(allowed)
        drawn = [int(rng.choice(ids)) for ids in (allowed, others) if len(ids) for _ in range(SOME)]
        for token_id in (*drawn, *controls[:SOME], *controls[-SOME:]):
            accepted = matcher.accept(token_id)
            assert accepted == legal[token_id], (token_id, matcher)
            if accepted:
                matcher.rollback(1)
        assert (row_of(matcher) == before).all()

    sampled.turn(name, rng, sampled.tools(name, rng), look)
