"""Ids of a mask row: which there are, and putting some in or leaving some out.

Owns: that. A row is int32, shape `(words,)`, and bit `i % 32` of word `i // 32` is id `i`; lists of
ids are int64, shape `(ids,)`. Must not know: what the ids stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Row = npt.NDArray[np.int32]
    Ids = npt.NDArray[np.int64]
    Truths = npt.NDArray[np.bool_]


def members(row: Row) -> Ids:
    """List the ids of a mask row."""
    words = np.flatnonzero(row)
    bits = np.unpackbits(row[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    at, bit = np.nonzero(bits)
    found: Ids = words[at] * 32 + bit
    return found


def has(row: Row, ids: Ids) -> Truths:
    """Return for each id whether it is in a mask row."""
    found: Truths = (row[ids >> 5] >> (ids & 31) & 1).astype(np.bool_)
    return found


def put(row: Row, ids: npt.ArrayLike) -> None:
    """Put ids into a mask row."""
    found = np.asarray(ids, np.uint32)
    if found.size:
        np.bitwise_or.at(row.view(np.uint32), found >> 5, np.uint32(1) << (found & 31))


def clear(row: Row, ids: npt.ArrayLike) -> None:
    """Leave ids out of a mask row."""
    found = np.asarray(ids, np.uint32)
    if found.size:
        np.bitwise_and.at(row.view(np.uint32), found >> 5, ~(np.uint32(1) << (found & 31)))


def is_member(row: Row, token_id: int) -> bool:
    """Return whether an id is in a mask row."""
    return bool(int(row[token_id >> 5]) >> (token_id & 31) & 1)
