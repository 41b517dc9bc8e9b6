"""Tokens that end a header and begin arguments, asked for once for each grammar."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from enforcer.engines.mask_rows import is_member
from enforcer.errors import EngineFailure
from enforcer.turn import bits
from enforcer.turn.bits import ids_of
from enforcer.turn.cuts import Cut, Loose
from enforcer.turn.first_ids import FirstIds
from tests import toys
from tests.dialect_cases import vocabulary

if TYPE_CHECKING:
    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.bits import Sparse
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


def ids(row: Sparse | None) -> set[int]:
    """Give the ids of a row without zeros."""
    whole = V.row(())
    bits.write(whole, row)
    return {i for i in range(V.size) if is_member(whole, i)}


def test_ids_are_legal_whose_second_part_begins_a_text() -> None:
    firsts = FirstIds(V)
    assert ids(firsts.legal(CUT, Grammar(b"a=1"))) == {WHOLE}
    assert ids(firsts.legal(CUT, Grammar(b"get=1"))) == {LOOSE}
    assert ids(firsts.legal(CUT, Grammar(b"get=1", b"a"))) == {WHOLE, LOOSE}
    assert ids(firsts.legal(CUT, Grammar(b"go=1"))) == set()


@pytest.mark.slow
def test_a_grammar_is_asked_once_and_not_kept_alive() -> None:
    firsts, grammar = FirstIds(V), Grammar(b"a=1")
    cut = Cut(CUT.ids, CUT.heads, CUT.tails, ())
    first = firsts.legal(cut, grammar)
    assert firsts.legal(cut, grammar) is first
    row = V.row(())
    firsts.text(grammar).fill(row)
    assert grammar.started == 1
    assert len(firsts._rows) == len(firsts._firsts) == 1
    del grammar
    gc.collect()
    assert len(firsts._rows) == len(firsts._firsts) == 0


def test_what_is_kept_of_a_grammar_has_a_bound() -> None:
    firsts, grammar = FirstIds(V), Grammar(b"a=1")
    kept = set()
    for _ in range(1000):
        firsts.legal(Cut(CUT.ids, CUT.heads, CUT.tails, ()), grammar)
        kept.add(len(firsts._rows[grammar]))
    assert kept == set(range(1, 65))


@pytest.mark.parametrize("texts", [(b"get=1", b"a"), (b"", b"a=1"), (b"(a",)])
def test_a_text_that_is_looked_at_is_one_that_has_begun(texts: tuple[bytes, ...]) -> None:
    firsts, grammar = FirstIds(V), Grammar(*texts)
    looked: ArgumentMatcher = firsts.text(grammar)
    begun: ArgumentMatcher = grammar.matcher()
    rows = V.row(()), V.row(())
    for token in (None, *range(V.size)):
        accepted = token is not None and begun.accept(token)
        assert token is None or looked.accept(token) == accepted
        for text, row in zip((looked, begun), rows, strict=True):
            text.fill(row)
        assert (rows[0] == rows[1]).all()
        assert looked.is_accepting() == begun.is_accepting()
        for text in (looked, begun):
            text.rollback(accepted)


def test_a_text_that_is_looked_at_goes_back_to_where_nothing_was_read() -> None:
    firsts, grammar = FirstIds(V), Grammar(b"a=1", b"")
    text, first, row = firsts.text(grammar), V.row(()), V.row(())
    text.fill(first)
    assert text.is_accepting()
    assert text.accept(ord("a"))
    assert not text.accept(ord("a"))
    assert not text.is_accepting()
    text.fill(row)
    assert is_member(row, ord("="))
    text.rollback(1)
    text.fill(row)
    assert (row == first).all()
    assert text.is_accepting()


def test_a_grammar_that_starts_no_text_lets_none_begin_and_is_asked_again() -> None:
    firsts, grammar = FirstIds(V), Grammar(error=EngineFailure("gave up"))
    assert firsts.legal(CUT, grammar) is None
    assert firsts.legal(CUT, grammar) is None
    assert grammar.started == 2
    with pytest.raises(EngineFailure):
        firsts.text(grammar)


@pytest.mark.slow
def test_what_is_kept_of_cuts_goes_with_the_grammar() -> None:
    firsts, grammar = FirstIds(V), Grammar(b"a")
    firsts.cuts(grammar).keep("here", CUT)
    assert firsts.cuts(grammar).get("here") is CUT
    assert firsts.cuts(Grammar(b"a")).get("here") is None
    kept = weakref.ref(firsts.cuts(grammar))
    del grammar
    gc.collect()
    assert kept() is None
