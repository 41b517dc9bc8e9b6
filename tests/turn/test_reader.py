"""Reading a turn, position by position."""

import gc
from typing import Any
from weakref import ref

import numpy as np
import pytest

from enforcer.turn import dialects
from enforcer.turn.envelope import Due, Envelope
from enforcer.turn.position import Position
from enforcer.turn.reader import TokenReader
from enforcer.turn.table import Table
from enforcer.turn.transitions import Transitions
from tests import toys
from tests.dialect_cases import TOOLS, at, served
from tests.turn.known import BEGIN, CALL_END, HOLE, OPENED, TEXT, TEXTS, V
from tests.vocabularies import bits, row_of, write

CALLS = {
    "kimi_k2": OPENED + '{"a": ',
    "hermes": '<tool_call>\n{"name": "get", "arguments": {"a": ',
    "pythonic": "[get(a=1), a(a=",
}
TABLE = Table(dialects.load("kimi_k2"), V)


def begun(due: Due = Due.WORD) -> tuple[TokenReader, Position]:
    """Return a reader, and the beginning of a turn's content."""
    envelope = Envelope(TABLE, ("get", "a"), due=due, most=3, first=0, preamble=2)
    listed: Any = toys.Starts(lambda: toys.Listed(V, TEXTS))
    transitions = Transitions(envelope, lambda _: listed, None, is_shared=True)
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
        assert ord("x") in row_at(reader, now)
        now = reader.read(now, ord("x"), counts=True) or now
    assert now.text == 2
    assert row_at(reader, now) == {BEGIN}
    reader, now = begun(Due.CALL)
    assert reader.read(now, ord("x"), counts=False) is now
    reader, now = begun()
    assert reader.read(now, ord("x"), counts=True) is now
    assert row_at(reader, now) >= TEXT


@pytest.mark.parametrize("name", ["kimi_k2", "hermes", "pythonic"])
def test_a_turn_that_nobody_has_is_freed_at_once(name: str) -> None:
    """Not by Python's collector: texts may be large, and a server may have switched it off."""
    found = served(name)
    turn = found.start(found.read_request(TOOLS), None)
    for token in write(found.vocabulary, CALLS[name]):
        row_of(turn)
        assert turn.accept(token)
    reader, text = ref(turn._reader), turn.position.grammar
    assert text is not None
    gc.disable()
    try:
        del turn, text
        assert reader() is None
    finally:
        gc.enable()


def test_a_text_stays_if_the_rest_of_a_token_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher, find = at("pythonic", "[get(a=1")
    token, before = find(b"), get"), row_of(matcher)
    with monkeypatch.context() as patched:
        patched.setattr(TokenReader, "_read", lambda *_: None)
        assert not matcher.accept(token)
    assert (row_of(matcher) == before).all()
    assert matcher.accept(token)
    matcher.rollback(1)
    assert (row_of(matcher) == before).all()
