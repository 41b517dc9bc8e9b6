"""Ids as whole numbers, whatever they came in.

Owns: reading ids, and other whole numbers, that callers have passed. Must not know: what ids stand
for, any package whose arrays or tensors these are.

An id is looked up in sets and tables, and what equals a number may not be found there: a tensor
has a hash of its own, so that a prompt of tensors would have no control token.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex, cast

from enforcer.errors import ConfigurationError, brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def whole(ids: Iterable[SupportsIndex], name: str) -> tuple[int, ...]:
    """Return ids as whole numbers.

    Args:
        ids: a list, an array, a tensor of one dimension, or anything else that gives them in order.
        name: what they are called in a message.

    Raises:
        ConfigurationError: one is no whole number, or they are not in order.

    """
    try:
        if isinstance(ids, list | tuple):
            return tuple(map(index, ids))
        # One step for a tensor that an accelerator holds, in place of one for each id.
        numbers = getattr(ids, "tolist", None)
        return tuple(map(index, ids if numbers is None else numbers()))
    except TypeError as error:
        raise ConfigurationError(
            f"{name} must be ids, whole numbers in one row, not {brief(ids)}"
        ) from error


def number(value: object, name: str) -> int:
    """Return what a caller has passed as a whole number.

    Raises:
        ConfigurationError: it is none.

    """
    try:
        return int(index(cast("SupportsIndex", value)))  # True has an index that is no int
    except TypeError:
        raise ConfigurationError(f"{name} must be a whole number, not {brief(value)}") from None


def whole_at_ends(ids: Sequence[SupportsIndex], name: str) -> Sequence[int]:
    """Return ids as `whole` does, but a list whose ends are whole numbers as it is.

    A prompt may have many, of which the last few are looked at.

    Raises:
        ConfigurationError: as `whole`.

    """
    if isinstance(ids, list | tuple) and (not ids or type(ids[0]) is type(ids[-1]) is int):
        return ids
    return whole(ids, name)
