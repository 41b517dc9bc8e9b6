"""The objects and arrays around a place in a JSON text, by the ways that lead to them.

Owns: going on from one to the next, and the way to what begins there. The text is one that an
engine takes. Levels are not changed, so that going back costs nothing. Must not know: strings, what
is kept of a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from enforcer.schema.finishing.ways import NOWHERE, ROOT

if TYPE_CHECKING:
    from enforcer.schema.finishing.ways import Leads

_T = TypeVar("_T")

QUOTE, BACKSLASH, COMMA, OPEN_ARRAY = b'"\\,['
OPENING = b"{["
STRUCTURE = frozenset(b'{}[],"')  # what changes the place outside strings, but for colons


@dataclass(slots=True, eq=False)  # made all the time: to freeze it takes as long again
class Level(Generic[_T]):
    """An object or array that has been opened; it is not changed.

    Attributes:
        outer: what it is in.
        leads: the ways to its parts.
        is_array: whether it is one.
        own: what else its follower knows of it.
        number: of the element, or of the property.
        value: the way to the value of the property whose name stands; None before that.

    """

    outer: Level[_T] | None
    leads: Leads
    is_array: bool
    own: _T
    number: int = 0
    value: int | None = None

    @property
    def awaits_name(self) -> bool:
        """Whether a string that begins here is the name of a property."""
        return not self.is_array and self.value is None

    def behind_string(self, name: str | None, own: _T) -> Level[_T]:
        """Stand behind a string that began here.

        Args:
            name: it, if it is the name of a declared property.
            own: what its follower knows now.

        """
        value = self.value
        if self.awaits_name:
            value = self.leads.others if name is None else self.leads.under(name)
        return Level(self.outer, self.leads, self.is_array, own, self.number, value)


def begins(level: Level[_T] | None) -> int:
    """Give the way to the value that begins."""
    if level is None:
        return ROOT
    return level.leads.at(level.number) if level.is_array else level.value or NOWHERE


def behind(level: Level[_T] | None, byte: int) -> Level[_T] | None:
    """Stand behind a comma or a closing bracket."""
    if level is None or byte != COMMA:
        return None if level is None else level.outer
    return Level(level.outer, level.leads, level.is_array, level.own, level.number + 1)
