"""Rows as sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.mask_rows import put
from enforcer.turn import bits

IDS = st.lists(st.integers(0, 32 * 5 - 1), max_size=40)


@given(IDS, IDS)
def test_what_is_written_is_the_row_and_nothing_of_what_was_there(
    before: list[int], ids: list[int]
) -> None:
    row, other = np.zeros(5, dtype=np.int32), np.zeros(5, dtype=np.int32)
    put(row, bits.ids_of(before))
    put(other, bits.ids_of(ids))
    for each in (bits.sparse(other), bits.of_ids(bits.ids_of(ids))):
        found = row.copy()
        bits.join(found, each)
        assert (found == row | other).all()
        bits.write(found, each)
        assert (found == other).all()
