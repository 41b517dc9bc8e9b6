"""Where a reader stands in the text of arguments, lexically.

Owns: telling where such a text ends. Must not know: schemas, what keys and values mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from enforcer.layouts.pattern import ID

if TYPE_CHECKING:
    from enforcer.layouts.machine import Machine, Places

_BACKSLASH = ord("\\")
_OPENING = frozenset(b"[{(")
_CLOSING = frozenset(b"]})")
_BLANK = frozenset(b" \t\r\n")


class Scan(Protocol):
    """A place in a text; immutable and hashable."""

    def __hash__(self) -> int: ...

    @property
    def complete(self) -> bool:
        """Whether the text has ended by itself, so that no further symbol belongs to it."""
        ...

    @property
    def least(self) -> int:
        """A number of symbols without which the text cannot end, if one is known."""
        ...

    def step(self, symbol: int) -> Scan | None:
        """Go on by a symbol; None if it cannot stand there."""
        ...

    def within(self, data: bytes) -> Scan | None:
        """Go on by bytes that stay in the text; None if they end it or cannot stand there.

        The same object if nothing is different behind them.
        """
        ...


@dataclass(frozen=True, slots=True)
class NestedScan:
    """A place in brackets and strings: JSON, or Python's keyword arguments.

    Attributes:
        depth: brackets that are open.
        quotes: the bytes that begin a string.
        quote: the byte that ends the string which the place is inside of.
        escaped: whether the next byte stands behind a backslash.
        complete: whether the first bracket has been closed.

    """

    depth: int
    quotes: frozenset[int]
    quote: int | None = None
    escaped: bool = False
    complete: bool = False

    @property
    def least(self) -> int:
        """A closing bracket for each that is open."""
        return self.depth

    def step(self, symbol: int) -> NestedScan | None:
        """Go on by a symbol; see `Scan`."""
        if self.complete or symbol >= ID:
            return None
        if self.quote is not None:
            return self._in_string(symbol)
        if symbol in self.quotes:
            return self._at(self.depth, quote=symbol) if self.depth else None
        if symbol in _OPENING:
            return self._at(self.depth + 1)
        if symbol in _CLOSING:
            if not self.depth:
                return None
            return self._at(self.depth - 1, complete=self.depth == 1)
        return self if self.depth or symbol in _BLANK else None

    def within(self, data: bytes) -> NestedScan | None:
        """Go on by bytes; see `Scan`."""
        if self.quote is None or self.escaped or self.quote in data or _BACKSLASH in data:
            return _within(self, data)
        return self

    def _in_string(self, symbol: int) -> NestedScan:
        if self.escaped:
            return self._at(self.depth, quote=self.quote)
        if symbol == self.quote:
            return self._at(self.depth)
        if symbol == _BACKSLASH:
            return NestedScan(self.depth, self.quotes, self.quote, escaped=True)
        return self

    def _at(self, depth: int, *, quote: int | None = None, complete: bool = False) -> NestedScan:
        return NestedScan(depth, self.quotes, quote, complete=complete)


JSON_TEXT = NestedScan(0, frozenset(b'"'))
# The bracket that opens a call's arguments stands before them.
PYTHON_TEXT = NestedScan(1, frozenset(b"\"'"))


@dataclass(frozen=True, slots=True)
class TaggedScan:
    """A place in a text of pairs with raw values."""

    machine: Machine
    places: Places

    @property
    def complete(self) -> bool:
        """Whether the text has ended by itself."""
        return self.machine.ends_itself and self.machine.final in self.places

    @property
    def least(self) -> int:
        """Nothing that is known."""
        return 0

    def step(self, symbol: int) -> TaggedScan | None:
        """Go on by a symbol; see `Scan`."""
        if self.complete:
            return None
        places = self.machine.step(self.places, symbol)
        if places is None:
            return None
        return self if places == self.places else TaggedScan(self.machine, places)

    def within(self, data: bytes) -> TaggedScan | None:
        """Go on by bytes; see `Scan`."""
        return _within(self, data)


_S = TypeVar("_S", NestedScan, TaggedScan)


def _within(scan: _S, data: bytes) -> _S | None:
    at: _S = scan
    for byte in data:
        after = at.step(byte)
        if after is None or after.complete:
            return None
        at = after
    return at
