"""Mask rows as sets of ids.

Owns: asking for, and adding, many ids at once. A row is int32, shape `(words,)`; bit `i % 32` of
word `i // 32` is id `i`. Must not know: what the ids are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Row = npt.NDArray[np.int32]
    Ids = npt.NDArray[np.int64]
    Truths = npt.NDArray[np.bool_]


def ids_of(some: Iterable[int]) -> Ids:
    """Give ids as an array."""
    return np.fromiter(some, dtype=np.int64)


NO_IDS = ids_of(())


def has(row: Row, ids: Ids) -> Truths:
    """Tell of each id whether its bit is set."""
    found: Truths = (row.view(np.uint32)[ids >> 5] >> (ids & 31).astype(np.uint32) & 1) != 0
    return found


def has_one(row: Row, token_id: int) -> bool:
    """Tell whether one bit is set."""
    return bool(int(row[token_id >> 5]) >> (token_id & 31) & 1)


def add(row: Row, ids: Ids) -> None:
    """Set the bits of some ids."""
    if len(ids):
        bits = np.left_shift(np.uint32(1), (ids & 31).astype(np.uint32), dtype=np.uint32)
        np.bitwise_or.at(row.view(np.uint32), ids >> 5, bits)
