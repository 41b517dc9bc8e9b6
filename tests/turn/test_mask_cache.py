"""Masks that are kept from one request to the next."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from enforcer.turn import bits, mask_cache
from enforcer.turn.bits import NO_IDS, ids_of
from enforcer.turn.cuts import Cut
from enforcer.turn.mask_cache import CutCache, RowCache, ToolsCache
from tests.dialect_cases import vocabulary

if TYPE_CHECKING:
    from enforcer.engines import ArgumentMatcher, Startable


V = vocabulary("pythonic")
ROW = V.row([3, 40])


NONE: dict[str, Startable] = {}


class Grammar:
    """Nothing but itself."""

    def matcher(self) -> ArgumentMatcher:
        raise NotImplementedError


def test_a_row_is_given_while_its_grammars_are_the_same() -> None:
    rows = RowCache()
    grammars: dict[str, Startable] = {"a": Grammar(), "b": Grammar()}
    rows.keep("here", ROW, grammars)
    found = V.row(())
    bits.join(found, rows.get("here", grammars.get))
    assert (found == ROW).all()
    assert rows.get("there", grammars.get) is None
    assert rows.get("here", {**grammars, "b": Grammar()}.get) is None
    assert rows.get("here", {"a": grammars["a"]}.get) is None


def test_rows_are_kept_side_by_side() -> None:
    rows, other = RowCache(), V.row([7])
    for at, row in enumerate((ROW, other, ROW)):
        rows.keep(at, row, {})
    for at, row in enumerate((ROW, other, ROW)):
        found = V.row(())
        bits.join(found, rows.get(at, NONE.get))
        assert (found == row).all()


def test_what_is_asked_of_no_grammar_depends_on_none() -> None:
    rows = RowCache()
    rows.keep("here", ROW, {})
    assert rows.get("here", NONE.get) is not None


@pytest.mark.slow
def test_no_grammar_lives_for_what_is_kept_of_it() -> None:
    rows, grammars = RowCache(), {"a": Grammar()}
    rows.keep("here", ROW, grammars)
    grammars.clear()
    gc.collect()
    # There is none, and there is none any more: these are not the same.
    assert rows.get("here", grammars.get) is None


def test_it_has_a_bound_and_what_is_replaced_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mask_cache, "_BYTES", 20_000)
    rows = RowCache()
    for _ in range(100):
        rows.keep("here", ROW, {})
    once = rows.weight
    assert once < 2_000
    dense = np.arange(1, 1_001, dtype=np.int32)
    for at in range(100):
        rows.keep(at, dense, {})
        assert rows.get(at, NONE.get) is not None
        assert rows.weight <= 20_000
    assert sum(rows.get(at, NONE.get) is not None for at in range(100)) < 10


def test_cuts_are_given_by_what_they_depend_on_and_have_a_bound() -> None:
    cuts = CutCache(3)
    first, second = (Cut(ids_of([i]), NO_IDS, NO_IDS, ()) for i in (1, 2))
    cuts.keep(("BETWEEN", first), second)
    assert cuts.get(("BETWEEN", first)) is second
    assert cuts.get(("BETWEEN", second)) is None
    for at in range(9):
        cuts.keep(at, first)
        assert cuts.get(at) is first
    assert sum(cuts.get(at) is not None for at in range(9)) <= 3


class Growing:
    """A value that weighs more and more."""

    weight = 0


def test_values_that_grow_behind_their_last_neighbour_have_a_bound() -> None:
    tools: ToolsCache[Growing] = ToolsCache()
    for key in range(200):
        tools.get(key, Growing)
    for key in range(200):
        tools.get(key, Growing).weight += 1 << 20
        assert tools.weight <= (16 + 64) << 20
