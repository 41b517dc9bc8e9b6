"""Masks of rows of logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from enforcer.vllm import rows

pytestmark = pytest.mark.slow


@given(data=st.data(), size=st.integers(1, 100))
def test_a_mask_leaves_what_its_bits_say(data: st.DataObject, size: int) -> None:
    picked = data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True))
    words = -(-size // 32)
    bits = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(-(2**31), 2**31 - 1), min_size=words, max_size=words),
                min_size=len(picked),
                max_size=len(picked),
            )
        ),
        dtype=np.int32,
    )
    logits = torch.arange(4 * size, dtype=torch.float32).reshape(4, size)
    before = logits.clone()
    rows.mask(logits, picked, bits)
    for row in range(4):
        for i in range(size):
            open_ = row not in picked or bits[picked.index(row)][i // 32] >> (i % 32) & 1
            assert logits[row, i] == (before[row, i] if open_ else -torch.inf)
