"""What is said of a turn holds in the masks: for drawn schemas, at every place of sampled turns."""

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from enforcer.errors import SchemaError
from enforcer.tools.explain.turn import ExplainedMatcher
from enforcer.tools.explain.words import Expected
from tests.explained_turns import start
from tests.schema_strategies import schemas
from tests.support.tools import tool
from tests.vocabularies import feed, legal, row_of, write
from tests.walks import V, examples, requests, served, step

SEEDS = st.integers(0, 2**32)
BEGUN = write(
    V, "<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>"
)


def begun(schema: dict[str, Any]) -> ExplainedMatcher | None:
    """Start the arguments of a tool with that schema; None where it is refused."""
    try:
        matcher = start(served(), [tool("t", schema)], "required")
        matcher.validate(BEGUN)
    except SchemaError:
        return None
    feed(matcher, BEGUN)
    return matcher


def check(matcher: ExplainedMatcher, random: Random) -> Expected:
    """Compare all that is said at one place with the mask, which must not change by it."""
    row = row_of(matcher)
    ids = legal(matcher)
    found = matcher.expected()
    assert found.legal == len(ids)
    assert found.options, f"no words for {len(ids)} ids: {matcher!r}"
    others = [i for i in range(V.size) if i not in ids]
    for token_id in (
        *random.sample(sorted(ids), min(4, len(ids))),
        *random.sample(others, min(6, len(others))),
    ):
        said = matcher.explain(token_id)
        assert said.legal == (token_id in ids)
        assert said.reason
    assert np.array_equal(row_of(matcher), row), "asking has changed what is legal"
    return found


@pytest.mark.slow
@examples(40)
@given(st.data(), SEEDS)
def test_words_for_the_arguments_of_any_schema(data: st.DataObject, seed: int) -> None:
    schema = data.draw(schemas())
    matcher = begun(schema if isinstance(schema, dict) else {})
    assume(matcher is not None)
    random = Random(seed)
    for at in range(25):
        found = check(matcher, random)
        if found.at is None:
            event("no words for the inside")
        values_can_follow(matcher, found)
        if matcher.state != "ARGUMENTS":
            return
        assert matcher.accept(step(matcher, random, hurry=0.2 + at / 50))


@pytest.mark.slow
@examples(30)
@given(requests(), SEEDS)
def test_words_for_a_whole_turn(request: dict[str, Any], seed: int) -> None:
    matcher = start(served(), **request)
    random = Random(seed)
    for at in range(60):
        check(matcher, random)
        if matcher.state == "END":
            return
        assert matcher.accept(step(matcher, random, hurry=0.3 + at / 60))


def values_can_follow(matcher: ExplainedMatcher, found: Expected) -> None:
    """Check that every value and name that is listed can really be written next."""
    for option in found.options:
        if option.what.startswith(("the value of", "element", "the name of a property")):
            for value in option.values:
                rest = rest_of(value, found.begun)
                if rest is not None:
                    assert can(matcher, rest), f"{value} after {found.begun!r}"


def can(matcher: ExplainedMatcher, text: str) -> bool:
    """Tell whether a text can follow, behind the line feed that a carriage return wants, too."""
    tried = [V.encode(text), V.encode("\n" + text)]
    return any(matcher.validate(ids) == len(ids) for ids in tried)


def rest_of(value: str, begun: str) -> str | None:
    """Write what is left of a JSON text; None where it has been begun in another spelling."""
    return value[len(begun) :] if value.startswith(begun) else None


SCALARS = st.one_of(
    st.text(st.sampled_from('abé\\"日 '), max_size=4),
    st.integers(-20, 130),
    st.sampled_from([None, True, False, 1.5, 0.25]),
)


@examples(40)
@given(st.lists(SCALARS, min_size=1, max_size=6), SEEDS)
def test_the_named_enum_values_are_those_left(values: list[float | str | None], seed: int) -> None:
    properties = {"v": {"enum": values}}
    matcher = begun({"properties": properties, "required": ["v"], "additionalProperties": False})
    random = Random(seed)
    feed(matcher, write(V, '{"v":'))
    texts = {json.dumps(value, ensure_ascii=False) for value in values}
    while True:
        found = matcher.expected()
        option = found.options[0]
        if option.what.split(":")[0] != 'the value of "v"':
            break  # it is complete
        assert option.paths == ("$.properties.v",)
        rests = {text: rest_of(text, found.begun) for text in texts}
        if found.begun.startswith('"') and "\\" in found.begun:
            event("an escape")  # other spellings of a character: the rest is not a text's tail
        elif found.begun.endswith("\ufffd"):
            event("within a character")
        else:
            remaining = {
                text for text, rest in rests.items() if rest is not None and can(matcher, rest)
            }
            assert set(option.values) >= remaining
            if found.begun.startswith('"') or not found.begun:
                assert set(option.values) == remaining
        assert matcher.accept(step(matcher, random, hurry=0.3))
    assert matcher.state == "ARGUMENTS"
