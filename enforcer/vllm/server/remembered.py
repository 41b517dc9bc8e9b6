"""What is remembered beside objects of vLLM's, which have neither a place for it nor a hash.

Owns: that it is forgotten when its object goes, and never taken for another object's. Must not
know: what is remembered, or why.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class Remembered(Generic[_T]):
    """Values, each beside one object for as long as that lives; safe to use from several threads.

    The objects need not be hashable, and are told apart by which they are, not by what they say.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], _T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def put(self, owner: object, value: _T) -> None:
        """Remember a value; the last one counts."""
        self._known[id(owner)] = (weakref.ref(owner, partial(self._forget, id(owner))), value)

    def get(self, owner: object) -> _T | None:
        """Give an object's value; None where there is none."""
        reference, value = self._known.get(id(owner), (None, None))
        return value if reference is not None and reference() is owner else None

    def _forget(self, place: int, reference: weakref.ref[Any]) -> None:
        known = self._known.get(place)
        # Another object may stand in the same place by now.
        if known is not None and known[0] is reference:
            self._known.pop(place, None)
