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
    # Unpacked on the device: a mask is 32 times as large as its bits.
    packed = torch.from_numpy(bitmask.view(np.uint8)).to(like.device, non_blocking=True)
    bits = torch.arange(8, dtype=torch.uint8, device=like.device)
    return ((packed.unsqueeze(-1) >> bits) & 1).eq(0).flatten(1)[:, : like.shape[1]]
