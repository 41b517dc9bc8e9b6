"""Ranges of sorted byte strings, such as a vocabulary's tokens, that begin alike."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LAST = 0xFF


def alike(keys: Sequence[bytes], prefix: bytes, low: int, high: int) -> tuple[int, int]:
    """Narrow a range of sorted keys to those that begin with a prefix."""
    low = bisect_left(keys, prefix, low, high)
    while prefix and prefix[-1] == _LAST:
        prefix = prefix[:-1]
    if not prefix:
        return low, high
    return low, bisect_left(keys, prefix[:-1] + bytes([prefix[-1] + 1]), low, high)
