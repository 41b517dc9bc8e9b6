"""Masks on the device of the logits.

Owns: unpacking bits there. Must not know: where a mask comes from, hosts. Imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    import numpy.typing as npt


def illegal(bitmask: npt.NDArray[np.int32], like: torch.Tensor) -> torch.Tensor:
    """Give what a mask forbids.

    Args:
        bitmask: int32, shape `(rows, words)`; bit `i % 32` of word `i // 32` is id `i`.
        like: logits, shape `(any, ids of the model)`; `32 * words` is at least as many.

    Returns:
        bool, shape `(rows, ids of the model)`, on the logits' device.

    """
    packed = bitmask.view(np.uint8)
    if like.device.type == "cpu":
        legal = np.unpackbits(packed, axis=1, count=like.shape[1], bitorder="little")
        return torch.from_numpy(legal).eq(0)
    return unpacked(torch.from_numpy(packed).to(like.device, non_blocking=True), like.shape[1])


def unpacked(packed: torch.Tensor, size: int) -> torch.Tensor:
    """Give what a mask forbids, on the device that it is on already.

    A mask is 8 times as large there as its bits were on the way.

    Args:
        packed: uint8, shape `(rows, 4 * words)`.
        size: ids of the model.

    """
    bits = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(-1) >> bits) & 1).eq(0).flatten(1)[:, :size]
