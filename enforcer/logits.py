"""Application of bitmasks to logits of numpy, and of torch on any device.

Imports torch only for torch's tensors. Must not know: hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from enforcer.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


_WORD = 32


class _Array(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...


Logits = TypeVar("Logits", bound=_Array)


def mask_logits(logits: Logits, bitmask: npt.ArrayLike) -> Logits:
    """Return a copy of logits with -inf for the token ids that a bitmask forbids.

    Args:
        logits: float, shape `(ids of the model,)` or `(rows, ids of the model)`; a numpy array, or
            a torch tensor on any device. Ids past the bitmask are forbidden.
        bitmask: int32, shape `(words,)` or `(rows, words)`, as `Matcher.fill` writes it.

    Returns:
        Logits of the same type, shape, dtype and device.

    Raises:
        ConfigurationError: the shapes do not match, or a row has no legal token id, or one that
            the logits lack.

    """
    packed = np.ascontiguousarray(bitmask, dtype=np.int32).view(np.uint8)
    given: Any = logits
    shape = tuple(getattr(given, "shape", ()))
    if packed.ndim != len(shape) or packed.shape[:-1] != shape[:-1] or not shape:
        raise ConfigurationError(
            f"a mask of shape {np.shape(bitmask)} does not fit logits of shape {shape}: a row of a "
            "mask for each row of logits, which are an array or a tensor with a number for each id"
        )
    size = shape[-1]
    most = max(size, 8 * packed.shape[-1])
    bits = np.unpackbits(packed, axis=-1, count=most, bitorder="little").view(np.bool_)
    legal = bits[..., :size]
    if bits[..., size:].any():
        raise ConfigurationError(
            f"the mask allows ids beyond the {size} of the logits: has the model an id for each "
            "token of the vocabulary?"
        )
    if not legal.any(axis=-1).all():
        raise ConfigurationError(
            "a row of the mask has no legal id: was it written by `Matcher.fill`?"
        )
    if isinstance(given, np.ndarray):
        return cast("Logits", np.where(legal, given, given.dtype.type(-np.inf)))
    import torch

    return cast("Logits", given.masked_fill(torch.from_numpy(~legal).to(given.device), -np.inf))


def rows_for(count: int, logits: torch.Tensor) -> npt.NDArray[np.int32]:
    """Return rows of a bitmask that forbid every token id: int32, shape `(count, words)`."""
    return np.zeros((count, -(-logits.shape[1] // _WORD)), dtype=np.int32)


def illegal(bitmask: npt.NDArray[np.int32], like: torch.Tensor) -> torch.Tensor:
    """Return which token ids a bitmask forbids.

    Args:
        bitmask: int32, shape `(rows, words)`; bit `i % 32` of word `i // 32` is id `i`.
        like: logits, shape `(any, ids of the model)`; `32 * words` is at least as many.

    Returns:
        bool, shape `(rows, ids of the model)`, on the logits' device.

    """
    import torch

    packed = bitmask.view(np.uint8)
    if like.device.type == "cpu":
        legal = np.unpackbits(packed, axis=1, count=like.shape[1], bitorder="little")
        return torch.from_numpy(legal).eq(0)
    return unpacked(torch.from_numpy(packed).to(like.device, non_blocking=True), like.shape[1])


def unpacked(packed: torch.Tensor, size: int) -> torch.Tensor:
    """Return which token ids a bitmask forbids: bool, shape `(rows, size)`, on its device.

    Unpacking on the device saves seven eighths of the transfer.

    Args:
        packed: uint8, shape `(rows, 4 * words)`.
        size: number of token ids of the model.

    """
    import torch

    bits = torch.arange(8, dtype=torch.uint8, device=packed.device)
    return ((packed.unsqueeze(-1) >> bits) & 1).eq(0).flatten(1)[:, :size]
