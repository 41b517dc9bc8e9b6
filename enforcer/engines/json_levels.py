"""The objects and arrays around a place in a JSON text, by the ways that lead to them.

Owns: going on from one to the next, and the way to what begins there. The text is one that an
engine takes. Levels are immutable, so that going back costs nothing. Must not know: strings, what
is kept of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from enforcer.schema.finishing.ways import NOWHERE, ROOT

if TYPE_CHECKING:
    from enforcer.schema.finishing.ways import Leads

_T = TypeVar("_T")

QUOTE, BACKSLASH, COMMA, OPEN_ARRAY = b'"\\,['
OPENING = b"{["
STRUCTURE = frozenset(b'{}[],"')  # what changes the place outside strings, but for colons


class Level(NamedTuple, Generic[_T]):
    """An object or array that has been opened.

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

    def behind_string(self, name: str | None = None) -> Level[_T]:
        """Stand behind a string that began here.

        Args:
            name: it, if it is the name of a declared property.

        """
        if not self.awaits_name:
            return self
        outer, leads, is_array, own, number, _ = self
        value = leads.others if name is None else leads.under(name)
        return Level(outer, leads, is_array, own, number, value)


def begins(level: Level[_T] | None) -> int:
    """Give the way to the value that begins."""
    if level is None:
        return ROOT
    return level.leads.at(level.number) if level.is_array else level.value or NOWHERE


def behind(level: Level[_T] | None, byte: int) -> Level[_T] | None:
    """Stand behind a comma or a closing bracket."""
    if level is None or byte != COMMA:
        return None if level is None else level.outer
    outer, leads, is_array, own, number, _ = level
    return Level(outer, leads, is_array, own, number + 1)
