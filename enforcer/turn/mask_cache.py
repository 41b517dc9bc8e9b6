"""Masks, headers and cut tokens that are kept from one request to the next.

Owns: how much of each is kept, and that a mask is given only if the grammars that it was computed
with are still those of the request. Must not know: states, what headers and masks are of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from weakref import ref

from enforcer.turn.bits import sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from enforcer.engines import Startable
    from enforcer.engines.mask_rows import Row
    from enforcer.turn.bits import Sparse
    from enforcer.turn.cuts import Cut

_T = TypeVar("_T", bound="Weighed")

_BYTES = 8 << 20  # of all masks together, which is four hundred at least
_TOOLS = 256  # values of tools, which weigh little where these are few
_TOOLS_BYTES = 16 << 20
_TURNS = 64  # look-ups between two weighings, each of which is of a turn in which a value may grow
_ENTRY = 600  # what one costs beside its words: its key, the grammars


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    row: Sparse
    weight: int
    grammars: tuple[tuple[str, ref[Startable]], ...]


class CutCache:
    """Cut tokens that may come behind a border, whatever the request; for any number of threads.

    Args:
        most: how many are kept; each is smaller than the cut, which the table keeps.

    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._cuts: dict[Hashable, Cut] = {}

    def get(self, key: Hashable) -> Cut | None:
        """Give what was found."""
        return self._cuts.get(key)

    def keep(self, key: Hashable, cut: Cut) -> None:
        """Keep what was found.

        Args:
            key: says all that it depends on.
            cut: what was found.

        """
        if len(self._cuts) >= self._most:
            self._cuts = {}
        self._cuts[key] = cut


class Weighed(Protocol):
    """A value that knows how many bytes it holds, about."""

    @property
    def weight(self) -> int:
        """Bytes."""
        ...


class ToolsCache(Generic[_T]):
    """Values by the tools that they are of, least recently used first to go; for any threads.

    How many tools they have is up to clients, so they are weighed whenever one is added, and now
    and then, as they grow.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, _T] = {}
        self._asked = 0

    @property
    def weight(self) -> int:
        """Bytes that they hold, about."""
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


class RowCache:
    """Mask rows by where they were computed; for any number of threads."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, _Entry] = {}
        self._weight = 0

    @property
    def weight(self) -> int:
        """Bytes that the rows hold, about."""
        return self._weight

    def get(self, key: Hashable, grammar: Callable[[str], Startable | None]) -> Sparse | None:
        """Give a row that was kept, if what it depends on is as it was.

        Args:
            key: says where, and all that the row depends on but grammars.
            grammar: gives the grammar of a tool.

        """
        kept = self._rows.get(key)
        if kept is None:
            return None
        for name, found in kept.grammars:
            now = grammar(name)
            if now is None or now is not found():
                return None
        return kept.row

    def keep(self, key: Hashable, row: Row, grammars: Mapping[str, Startable]) -> None:
        """Keep a row.

        Args:
            key: as for `get`.
            row: the row.
            grammars: those that it was computed with, by the name of the tool.

        """
        words = sparse(row)
        weight = words.weight + _ENTRY
        before = self._rows.get(key)
        more = weight - (0 if before is None else before.weight)
        if self._weight + more > _BYTES:
            self._rows, self._weight, more = {}, 0, weight
        found = tuple((name, ref(grammar)) for name, grammar in grammars.items())
        self._rows[key] = _Entry(words, weight, found)
        self._weight += more
