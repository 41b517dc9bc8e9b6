"""LRU cache of values that depend on a request's tools.

Owns: the number of values. Must not know: what they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_T = TypeVar("_T", bound="Weighed")

_TOOLS = 256  # values of tools, which weigh little where these are few
_TOOLS_BYTES = 16 << 20
_TURNS = 64  # look-ups between two weighings, each of which is of a turn in which a value may grow


class Weighed(Protocol):
    """A value that knows how many bytes it holds, about."""

    @property
    def weight(self) -> int:
        """Bytes."""
        ...


class ToolsCache(Generic[_T]):
    """LRU cache of values by tools; safe to use from several threads at once.

    How many tools they have is up to clients, so they are weighed whenever one is added, and now
    and then, as they grow.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, _T] = {}
        self._asked = 0

    @property
    def weight(self) -> int:
        """Approximate size of the values in bytes."""
        return sum(each.weight for each in tuple(self._values.values()))

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the value of a key, which says all that it depends on."""
        found = self._values.pop(key, None)
        self._asked += 1
        is_due = found is None or not self._asked % _TURNS
        if found is None:
            found = make()
        self._values[key] = found
        while is_due and (len(self._values) > _TOOLS or self.weight > _TOOLS_BYTES):
            self._values.pop(next(iter(tuple(self._values)), None), None)
        return found
