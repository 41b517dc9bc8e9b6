"""Conversion of token ids from lists, arrays and tensors to whole numbers.

Ids are looked up in sets and tables, where an equal object of another type may not be found: a
tensor has a hash of its own, so a prompt of tensors would have no special token.

Owns: reading ids, and other whole numbers, that callers pass. Must not know: the meaning of ids,
any package of arrays or tensors.
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
        ConfigurationError: one is no whole number, or they have no order.

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
