"""What a mask forbids, as logits have it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from enforcer.errors import ConfigurationError  # noqa: E402
from enforcer.logits import illegal, mask_logits, unpacked  # noqa: E402


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


@given(st.data())
def test_logits_keep_what_is_legal(data: st.DataObject) -> None:
    size, words = data.draw(st.integers(1, 100)), data.draw(st.integers(1, 4))
    legal = data.draw(st.sets(st.integers(0, min(size, 32 * words) - 1), min_size=1))
    bits = np.zeros(32 * words, dtype=np.uint8)
    bits[list(legal)] = 1
    row = np.packbits(bits, bitorder="little").view(np.int32)
    logits = np.arange(size, dtype=np.float32)
    expected = [float(i) if i in legal else -np.inf for i in range(size)]
    of_numpy = mask_logits(logits, row)
    assert (str(of_numpy.dtype), of_numpy.tolist()) == ("float32", expected)
    assert logits.tolist() == list(range(size))  # a copy
    for mask in (row, torch.from_numpy(row)):
        of_torch = mask_logits(torch.from_numpy(logits).to(torch.float64), mask)
        assert (of_torch.dtype, of_torch.tolist()) == (torch.float64, expected)
    assert mask_logits(logits[None], row[None]).tolist() == [expected]


@pytest.mark.parametrize(
    ("shape", "mask", "reason"),
    [
        ((40,), np.full((1, 2), -1, np.int32), "does not fit"),
        ((2, 40), np.full((1, 2), -1, np.int32), "does not fit"),
        ((), np.full(2, -1, np.int32), "does not fit"),
        ((40,), np.zeros(2, np.int32), "no legal id"),
        ((30,), np.array([1 << 30 | 1], np.int32), "beyond the 30 of the logits"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(
    shape: tuple[int, ...], mask: np.ndarray[tuple[int, ...], np.dtype[np.int32]], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        mask_logits(np.zeros(shape), mask)
    with pytest.raises(ConfigurationError, match=reason):
        mask_logits(torch.zeros(shape), mask)
