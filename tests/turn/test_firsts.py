"""Tokens that end a header and begin arguments, asked for once for each grammar."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np

from enforcer.errors import EngineFailure
from enforcer.turn import bits
from enforcer.turn.bits import ids_of
from enforcer.turn.cuts import Cut, Loose
from enforcer.turn.firsts import Firsts
from tests import toys
from tests.dialect_cases import vocabulary

if TYPE_CHECKING:
    from tests.toys import Listed


V = vocabulary("pythonic")
WHOLE, LOOSE = V.find(b"(a"), V.find(b"[get")
CUT = Cut(
    ids_of([WHOLE]),
    ids_of([ord("(")]),
    ids_of([ord("a")]),
    (Loose(LOOSE, 1, ord("["), ord("g")),),
)


class Grammar:
    def __init__(self, *texts: bytes, error: EngineFailure | None = None) -> None:
        self.started = 0
        self._texts = texts
        self._error = error

    def matcher(self) -> Listed:
        self.started += 1
        if self._error is not None:
            raise self._error
        return toys.Listed(V, self._texts)


def test_ids_are_legal_whose_second_part_begins_a_text() -> None:
    firsts = Firsts(V)
    assert firsts.legal(CUT, Grammar(b"a=1")).tolist() == [WHOLE]
    assert firsts.legal(CUT, Grammar(b"get=1")).tolist() == [LOOSE]
    assert set(firsts.legal(CUT, Grammar(b"get=1", b"a")).tolist()) == {WHOLE, LOOSE}
    assert firsts.legal(CUT, Grammar(b"go=1")).tolist() == []


def test_a_grammar_is_asked_once_and_not_kept_alive() -> None:
    firsts, grammar = Firsts(V), Grammar(b"a=1")
    first = firsts.legal(CUT, grammar)
    assert firsts.legal(CUT, grammar) is first
    assert grammar.started == 1
    firsts.keep_row(grammar, "around", V.row([1]))
    assert len(firsts._ids) == len(firsts._rows) == 1
    del grammar
    gc.collect()
    assert len(firsts._ids) == len(firsts._rows) == 0


def test_what_is_kept_of_a_grammar_has_a_bound() -> None:
    firsts, grammar = Firsts(V), Grammar(b"a=1")
    for _ in range(1000):
        firsts.legal(Cut(CUT.ids, CUT.heads, CUT.tails, ()), grammar)
        firsts.keep_row(grammar, object(), V.row([1]))
    assert len(firsts._ids[grammar]) <= 64
    assert len(firsts._rows[grammar]) <= 8


def test_a_row_is_kept_for_what_it_depends_on() -> None:
    firsts, grammar = Firsts(V), Grammar()
    firsts.keep_row(grammar, 1, V.row([3, 40]))
    row = V.row(())
    bits.join(row, firsts.row(grammar, 1))
    assert (row == V.row([3, 40])).all()
    assert firsts.row(grammar, 2) is None
    assert firsts.row(Grammar(), 1) is None
    many = np.arange(V.words, dtype=np.int32)
    firsts.keep_row(grammar, 3, many)
    bits.write(row, firsts.row(grammar, 3))
    assert (row == many).all()


def test_a_grammar_that_starts_no_text_lets_none_begin_and_is_asked_again() -> None:
    firsts, grammar = Firsts(V), Grammar(error=EngineFailure("gave up"))
    assert firsts.legal(CUT, grammar) is None
    assert firsts.legal(CUT, grammar) is None
    assert grammar.started == 2
