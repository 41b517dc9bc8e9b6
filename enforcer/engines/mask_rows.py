"""Operations on mask rows as sets of token ids.

A row is int32, shape `(words,)`; bit `i % 32` of word `i // 32` is token id `i`. Lists of token ids
are int64, shape `(ids,)`. Nothing is cached here: rows of arguments are in `kernel.rows`, those of
other positions of a turn in `turn.position`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Row = npt.NDArray[np.int32]
    Ids = npt.NDArray[np.int64]


def members(row: Row) -> Ids:
    """Return the token ids of a mask row: int64, ascending."""
    words = np.flatnonzero(row)
    bits = np.unpackbits(row[words].view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    at, bit = np.nonzero(bits)
    found: Ids = words[at] * 32 + bit
    return found


def put(row: Row, ids: npt.ArrayLike) -> None:
    """Set the bits of token ids in a mask row, in place."""
    found = np.asarray(ids, np.uint32)
    if found.size:
        np.bitwise_or.at(row.view(np.uint32), found >> 5, np.uint32(1) << (found & 31))


def clear(row: Row, ids: npt.ArrayLike) -> None:
    """Clear the bits of token ids in a mask row, in place."""
    found = np.asarray(ids, np.uint32)
    if found.size:
        np.bitwise_and.at(row.view(np.uint32), found >> 5, ~(np.uint32(1) << (found & 31)))


def is_member(row: Row, token_id: int) -> bool:
    """Return whether a token id is in a mask row."""
    return bool(int(row[token_id >> 5]) >> (token_id & 31) & 1)
