"""Rows as sets."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.mask_rows import put
from enforcer.turn import bits

IDS = st.lists(st.integers(0, 32 * 5 - 1), max_size=40)


@given(IDS, IDS)
def test_writing_a_row_leaves_nothing_from_before(before: list[int], ids: list[int]) -> None:
    row, other = np.zeros(5, dtype=np.int32), np.zeros(5, dtype=np.int32)
    put(row, before)
    put(other, ids)
    bits.write(row, bits.sparse(other))
    assert (row == other).all()


def test_a_tensors_view_is_made_once_and_anew_where_its_memory_or_shape_is_another() -> None:
    class Tensor:
        """What is used of a tensor."""

        def __init__(self) -> None:
            self.memory = np.zeros((2, 5), dtype=np.int32)
            self.views = 0

        @property
        def shape(self) -> tuple[int, ...]:
            return self.memory.shape

        def data_ptr(self) -> int:
            return self.memory.ctypes.data

        def numpy(self) -> npt.NDArray[np.int32]:
            self.views += 1
            return self.memory

    one, other = Tensor(), Tensor()
    for tensor in (one, one, other, other, one):
        assert bits.rows_of(tensor, 5) is tensor.memory
    assert (one.views, other.views) == (2, 1)
    one.memory, before = one.memory.copy(), one.memory
    assert bits.rows_of(one, 5) is one.memory is not before
    one.memory = one.memory[:1]  # in the same place
    assert bits.rows_of(one, 5).shape == (1, 5)
