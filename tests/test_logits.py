"""What a mask forbids, as logits have it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from enforcer.logits import illegal, unpacked  # noqa: E402


@given(st.data())
def test_an_id_is_illegal_exactly_if_its_bit_is_not_set(data: st.DataObject) -> None:
    size, rows = data.draw(st.integers(1, 100)), data.draw(st.integers(1, 3))
    legal = [data.draw(st.sets(st.integers(0, size - 1))) for _ in range(rows)]
    words = -(-size // 32) + data.draw(st.integers(0, 1))
    bitmask = np.zeros((rows, words), dtype=np.int32)
    for row, ids in enumerate(legal):
        for token in ids:
            bitmask[row, token // 32] |= np.left_shift(np.uint32(1), token % 32).astype(np.int32)
    found = illegal(bitmask, torch.zeros(rows + 1, size))
    assert found.shape == (rows, size)
    assert [set((~row).nonzero().flatten().tolist()) for row in found] == legal
    # As on any other device.
    assert torch.equal(unpacked(torch.from_numpy(bitmask.view(np.uint8)), size), found)
