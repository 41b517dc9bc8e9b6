"""Mask rows as a whole: sparse rows of few token ids, and rows of a mask that a host passes.

Single bits of a row belong to `engines.mask_rows`. Must not know: the meaning of token ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from enforcer.errors import ConfigurationError, brief

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.engines.mask_rows import Ids, Row

_BYTES_OF_WORD = 12  # in a row without zeros: number and value
# The tensor that was passed last, the address of its memory, and its rows: a host has one mask for
# all turns, and making the view of it anew was a tenth of a turn's start.
_last: tuple[Any, int, npt.NDArray[np.int32]] = (object(), 0, np.zeros((0, 0), dtype=np.int32))


def rows_of(bitmask: Any, words: int) -> npt.NDArray[np.int32]:
    """Return a mask that a host has passed as rows of numpy's, over the same memory.

    Raises:
        ConfigurationError: the mask has no writable rows of so many words.

    """
    global _last  # noqa: PLW0603 - one mask, whichever turn fills it
    tensor, address, rows = _last
    if bitmask is not tensor or bitmask.data_ptr() != address or bitmask.shape != rows.shape:
        rows = _view(bitmask)
        if hasattr(bitmask, "data_ptr"):
            _last = bitmask, bitmask.data_ptr(), rows
    if rows.shape[-1] < words:
        raise ConfigurationError(
            f"a row of the bitmask has {rows.shape[-1]} words, and the vocabulary needs "
            f"{words}: the model has fewer token ids than the tokenizer"
        )
    return rows


def _view(bitmask: Any) -> npt.NDArray[np.int32]:
    try:
        rows = bitmask if isinstance(bitmask, np.ndarray) else bitmask.numpy()
    except (AttributeError, RuntimeError, TypeError) as error:
        raise ConfigurationError(
            "the bitmask must be a NumPy array, or a torch tensor on the CPU without "
            f"gradients, not {brief(bitmask)}"
        ) from error
    if rows.ndim != 2 or not rows.flags.writeable:  # noqa: PLR2004 - rows of words
        raise ConfigurationError(
            "the bitmask must be a writable array of two dimensions, a row for each "
            f"turn, not of shape {rows.shape}" + ("" if rows.flags.writeable else ", read-only")
        )
    if rows.dtype != np.int32:
        raise ConfigurationError(f"the bitmask must have elements of type int32, not {rows.dtype}")
    if not rows[:1].flags.carray:
        raise ConfigurationError(
            "each row of the bitmask must be contiguous and aligned, as `numpy.ascontiguousarray` "
            f"makes it; the strides are {rows.strides}"
        )
    return cast("npt.NDArray[np.int32]", rows)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A row without its words that are zero, if these are many.

    Attributes:
        words: the numbers of the others, int64; all of them otherwise.
        values: what they are, int32.

    """

    words: Ids | slice
    values: Row

    @property
    def weight(self) -> int:
        """Size in bytes."""
        return 3 * self.values.nbytes


def sparse(row: Row) -> Sparse:
    """Return a row without its words that are zero."""
    words = np.flatnonzero(row)
    if 2 * _BYTES_OF_WORD * len(words) > row.nbytes:  # copying all is faster, too
        return Sparse(slice(None), row.copy())
    return Sparse(words, row[words])


def write(row: Row, what: Sparse) -> None:
    """Overwrite a row."""
    if not isinstance(what.words, slice):
        row.fill(0)
    row[what.words] = what.values
