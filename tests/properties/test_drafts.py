"""What holds of draft tokens in every format, wherever a turn stands."""

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given

from enforcer.turn.matcher import Matcher
from enforcer.turn.reader import native_text
from tests.dialect_cases import NAMES, vocabulary
from tests.properties.test_dialects import SEEDS, matcher_of, requests, step, written
from tests.vocabularies import legal, row_of
from tests.walks import examples

_IN_STRING = (7, 15, 19)  # phases of the kernel


def is_free(matcher: Matcher, written_ids: list[int]) -> bool:
    """Return whether content, reasoning or a free string is written, no delimiter being begun."""
    if matcher.position.grammar is None:
        return bool(matcher.position.row.text)
    text = native_text(matcher.position.grammar)
    is_string = text.open_values()[0][0] in _IN_STRING and {*b"xyz"} <= legal(matcher)
    data = matcher.envelope.table.vocabulary.decode(written_ids)
    return is_string and not re.search(rb"<[/\w]+$", data)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(request=requests(), seed=SEEDS)
def test_drafts_are_legal_and_change_nothing(name: str, request: dict[str, Any], seed: int) -> None:
    matcher, random = matcher_of(name, written(name, request)), Random(seed)
    ids: list[int] = []
    while len(ids) < 90 and not matcher.is_finished:
        row, now, limit = row_of(matcher), matcher.position, random.randint(1, 12)
        found = matcher.propose(limit, likely=random.random() < 0.5)
        assert len(found) <= limit
        assert matcher.validate(found) == len(found)
        assert (row_of(matcher) == row).all()
        assert (matcher.position, matcher.accepted) == (now, len(ids))
        for at, token_id in enumerate(found):
            is_line_break = vocabulary(name).token_bytes(token_id) == b"\n"  # before a raw value
            assert is_line_break or not is_free(matcher, ids + found[:at]), (token_id, matcher)
            assert matcher.accept(token_id)
        matcher.rollback(len(found))
        assert (row_of(matcher) == row).all()
        kept = found if random.random() < 0.5 else []
        ids += kept
        assert all(map(matcher.accept, kept))
        if not matcher.is_finished:
            ids.append(step(matcher, random, hurry=0.4 + len(ids) / 150))
            assert matcher.accept(ids[-1])
    assert matcher.failure is None
    matcher.rollback(len(ids))
    assert matcher.validate(ids) == len(ids)
