"""Rows as sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enforcer.turn import bits

IDS = st.lists(st.integers(0, 32 * 5 - 1), max_size=40)


@given(IDS, IDS)
def test_what_was_added_is_there_and_nothing_else(first: list[int], second: list[int]) -> None:
    row = np.zeros(5, dtype=np.int32)
    bits.add(row, bits.ids_of(first))
    bits.add(row, bits.ids_of(second))
    every = bits.ids_of(range(32 * 5))
    assert set(every[bits.has(row, every)].tolist()) == {*first, *second}


def test_no_ids() -> None:
    row = np.full(2, 7, dtype=np.int32)
    bits.add(row, bits.ids_of(()))
    assert row.tolist() == [7, 7]
    assert bits.has(row, bits.ids_of(())).tolist() == []


@given(IDS, IDS)
def test_what_is_written_is_the_row_and_nothing_of_what_was_there(
    before: list[int], ids: list[int]
) -> None:
    row, other = np.zeros(5, dtype=np.int32), np.zeros(5, dtype=np.int32)
    bits.add(row, bits.ids_of(before))
    bits.add(other, bits.ids_of(ids))
    for each in (bits.sparse(other), bits.of_ids(bits.ids_of(ids))):
        found = row.copy()
        bits.join(found, each)
        assert (found == row | other).all()
        bits.write(found, each)
        assert (found == other).all()
