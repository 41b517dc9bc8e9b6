"""The elements, of any kind, that an array has so far.

Owns: recognizing them again, in memory that grows with their number: all places of one text share a
list, and each knows how many entries are its own. The last element of a place enters the list
only when another follows, as most places are only tried. Must not know: texts, what may follow.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from enforcer.engines.distinct.number_index import NumberIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.engines.distinct.values import Json


class _Elements:
    """The elements of one array, of one text that goes on and back: there is one tip at a time."""

    __slots__ = ("at", "numbers", "order", "recent", "sorted")

    def __init__(self) -> None:
        self.order: list[Json] = []
        self.at: dict[Json, int] = {}
        self.numbers = NumberIndex()
        self.sorted = 0  # how many of the first elements these are of
        self.recent: tuple[SeenElements, NumberIndex] | None = None

    def first_numbers(self, count: int) -> NumberIndex:
        """Give the numbers among the first elements."""
        for value in self.order[count : self.sorted]:  # the text has gone back
            self.numbers = self.numbers.minus(value)
        for value in self.order[self.sorted : count]:
            self.numbers = self.numbers.plus(value)
        self.sorted = count
        return self.numbers

    def put(self, value: Json, at: int) -> None:
        """Have an element at a place, and none behind it that stood there before."""
        if len(self.order) > at:
            if self.order[at] == value:
                return
            self.first_numbers(min(at, self.sorted))
            for gone in self.order[at:]:
                del self.at[gone]
            del self.order[at:]
        self.order.append(value)
        self.at[value] = at


class SeenElements:
    """What one array holds; iterates over its elements.

    Those of a text that has gone back may be asked no more.
    """

    __slots__ = ("_count", "_elements", "_last")

    def __init__(self) -> None:
        self._elements = _Elements()
        self._count = 0  # of the shared elements
        self._last: tuple[Json, ...] = ()  # the one behind them

    def __len__(self) -> int:
        return self._count + len(self._last)

    def __iter__(self) -> Iterator[Json]:
        yield from islice(self._elements.order, self._count)
        yield from self._last

    def __contains__(self, value: object) -> bool:
        if value in self._last:
            return True
        return self._elements.at.get(value, self._count) < self._count  # type: ignore[call-overload,no-any-return]

    def numbers(self) -> NumberIndex:
        """Give those that are written without quotes."""
        recent = self._elements.recent
        if recent is None or recent[0] is not self:
            found = self._elements.first_numbers(self._count)
            for last in self._last:
                found = found.plus(last)
            self._elements.recent = recent = self, found
        return recent[1]

    def with_element(self, value: Json) -> SeenElements:
        """Return the elements with one more."""
        after = SeenElements()
        after._elements, after._count = self._elements, len(self)
        for last in self._last:
            self._elements.put(last, self._count)
        after._last = (value,)
        return after
