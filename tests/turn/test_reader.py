"""Reading a turn, position by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from enforcer.turn import dialects
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.reader import TokenReader
from enforcer.turn.table import Table
from enforcer.turn.transitions import Transitions
from tests import toys
from tests.turn.known import BEGIN, CALL_END, HOLE, OPENED, TEXT, TEXTS, V, byte
from tests.vocabularies import bits, write

if TYPE_CHECKING:
    from enforcer.turn.position import Position

TABLE = Table(dialects.load("kimi_k2"), V)


def begun(due: Due = Due.WORD) -> tuple[TokenReader, Position]:
    """Give a reader, and the beginning of a turn's content."""
    envelope = Envelope(TABLE, ("get", "a"), due=due, most=3, first=0, preamble=2)
    listed: Any = toys.Starts(lambda: toys.Listed(V, TEXTS))
    transitions = Transitions(envelope, lambda _: listed, None, None)
    return TokenReader(envelope, transitions), transitions.enter("CONTENT", 0, 0)


def row_at(reader: TokenReader, now: Position) -> set[int]:
    row = np.full(V.words, -1, dtype=np.int32)
    reader.fill(now, row)
    return bits(row)


def test_a_call_is_read_and_each_token_is_in_the_row_before() -> None:
    reader, now = begun()
    for token in write(V, OPENED + '{"a": 1}<|tool_call_end|>'):
        assert token in row_at(reader, now)
        after = reader.read(now, token, counts=True)
        assert after is not None
        now = after
    assert (now.calls, now.grammar) == (1, None)


@pytest.mark.parametrize("token", [-1, V.size, HOLE, CALL_END])
@pytest.mark.parametrize("before", ["", OPENED[:29], OPENED, OPENED + '{"a"'])
def test_what_is_illegal_leads_nowhere(before: str, token: int) -> None:
    reader, now = begun()
    for each in write(V, before):
        now = reader.read(now, each, counts=True) or now
    assert reader.read(now, token, counts=True) is None
    assert token not in row_at(reader, now)


def test_text_is_counted_where_a_call_is_demanded() -> None:
    reader, now = begun(Due.CALL)
    for _ in range(2):
        assert byte("x") in row_at(reader, now)
        now = reader.read(now, byte("x"), counts=True) or now
    assert now.text == 2
    assert row_at(reader, now) == {BEGIN}
    reader, now = begun(Due.CALL)
    assert reader.read(now, byte("x"), counts=False) is now
    reader, now = begun()
    assert reader.read(now, byte("x"), counts=True) is now
    assert row_at(reader, now) >= TEXT
