"""Rows of bits are sets of ids."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.mask_rows import clear, is_member, members, put
from tests.vocabularies import bits

_WORDS = 4
IDS = st.sets(st.integers(0, 32 * _WORDS - 1))


def array(ids: set[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(ids), np.int64)


@given(IDS, IDS, st.integers(0, 32 * _WORDS - 1))
def test_a_row_is_a_set(some: set[int], others: set[int], one: int) -> None:
    row = np.zeros(_WORDS, np.int32)
    put(row, array(some))
    assert bits(row) == some == set(members(row).tolist())
    assert is_member(row, one) == (one in some)
    put(row, array(others))
    assert bits(row) == some | others
    clear(row, array(some))
    assert bits(row) == others - some


def test_no_ids() -> None:
    row = np.full(2, 7, np.int32)
    put(row, [])
    clear(row, [])
    assert row.tolist() == [7, 7]
