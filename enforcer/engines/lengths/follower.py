"""Follows a text in which some strings have a greatest length.

Owns: where in a JSON text, byte by byte, a place is: the objects and arrays around it, the name
that is being written, how many characters the string may still have. The text is one that an engine
takes; only what is too long, or could only become too long, is refused here. Places are immutable,
so that going back costs nothing. Must not know: engines, ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.engines.lengths.counted import Counted
from enforcer.partial import whole
from enforcer.schema.finishing.ways import NOWHERE, ROOT, Leads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.lengths.automaton import Automaton

_QUOTE, _BACKSLASH, _COMMA = b'"\\,'
_STRUCTURE = frozenset(b'{}[],"')
_SPELLED = 12  # bytes that a character of a name takes at most: two escapes


class Within(Enum):
    """What a place is in."""

    STRUCTURE = "between strings"
    NAME = "the name of a property"
    OTHER = "any other string"


@dataclass(frozen=True, slots=True)
class Way:
    """What is counted behind a path of names and indices, and where it goes on.

    Attributes:
        leads: the ways to its parts.
        automaton: the pattern of the strings that may stand there; None if none is counted.
        most: the characters that these may have.
        longest: bytes that a declared name may be spelled with.

    """

    leads: Leads = field(default_factory=Leads)
    automaton: Automaton | None = None
    most: int = 0
    longest: int = 0


def way(listed: Sequence[Any], automata: Sequence[Automaton]) -> Way:
    """Read what `long_strings.divide` has written of a way."""
    if not listed:
        return Way()
    leads, counted = Leads.from_json(listed[0]), listed[1]
    longest = _SPELLED * max(map(len, leads.names), default=0)
    if not counted:
        return Way(leads, longest=longest)
    return Way(leads, automata[counted[0]], counted[1], longest)


class Level(NamedTuple):
    """An object or array that has been opened.

    Attributes:
        outer: what it is in.
        way: that to it.
        is_array: whether it is one.
        number: of the element, or the property.
        value: the way to the value of the property whose name stands; None before that.

    """

    outer: Level | None
    way: Way
    is_array: bool
    number: int = 0
    value: int | None = None

    @property
    def awaits_name(self) -> bool:
        """Whether a string that begins here is the name of a property."""
        return not self.is_array and self.value is None


class Place(NamedTuple):
    """A place in a text.

    Attributes:
        level: the innermost object or array around it.
        within: what it is in, unless that is a string that is counted.
        name: the bytes of a name so far.
        counted: that string.
        escaped: whether a backslash was the last byte of a name or another string.

    """

    level: Level | None
    within: Within = Within.STRUCTURE
    name: bytes = b""
    counted: Counted | None = None
    escaped: bool = False


class LengthFollower:
    """Follows texts of one grammar.

    Args:
        ways: through the grammar.

    """

    start = Place(None)

    def __init__(self, ways: Sequence[Way]) -> None:
        self._ways = ways

    def read(self, place: Place, data: bytes) -> Place | None:
        """Go on with the bytes of an id; None if a string is, or can only become, too long."""
        if place.within is Within.OTHER and not place.escaped and _run(data, 0) == len(data):
            return place
        after: Place | None = place
        at = 0
        while after is not None and at < len(data):
            counted = after.counted
            if counted is not None and not counted.partial.pending:
                text = whole(data[at : _run(data, at)])
                if text:
                    after = _going_on(after, counted.add(text))
                    at += len(text.encode())
                    continue
            after = self._step(after, data[at])
            at += 1
        if after is None or after.counted is None or after.counted.may_end:
            return after
        return None

    def _step(self, place: Place, byte: int) -> Place | None:
        level, within, _, counted, _ = place
        if counted is not None:
            if byte == _QUOTE and not counted.partial.pending:
                return Place(level) if counted.left >= 0 else None
            return _going_on(place, counted.read(byte))
        if within is not Within.STRUCTURE:
            return _string(place, byte)
        if byte not in _STRUCTURE:
            return place
        if byte == _QUOTE:
            return self._opened_string(level)
        if byte in b"{[":
            return Place(Level(level, self._ways[self._way_of(level)], byte == ord("[")))
        if level is None:
            return place
        if byte == _COMMA:
            return Place(level._replace(number=level.number + 1, value=None))
        return Place(level.outer)

    def _opened_string(self, level: Level | None) -> Place:
        if level is not None and level.awaits_name:
            return Place(level, Within.NAME if level.way.longest else Within.OTHER)
        found = self._ways[self._way_of(level)]
        if found.automaton is None:
            return Place(level, Within.OTHER)
        return Place(level, counted=Counted(found.automaton, found.most))

    def _way_of(self, level: Level | None) -> int:
        """Return the way to the value that begins."""
        if level is None:
            return ROOT
        if not level.is_array:
            return level.value or NOWHERE
        return level.way.leads.at(level.number)


def _string(place: Place, byte: int) -> Place:
    """Read a byte of a name, or of a string that is not counted."""
    level, within, name, _, escaped = place
    if byte == _QUOTE and not escaped:
        if level is None or not level.awaits_name:
            return Place(level)
        value = level.way.leads.others
        if within is Within.NAME and len(name) <= level.way.longest:
            value = level.way.leads.under(json.loads(b'"' + name + b'"'))
        return Place(level._replace(value=value))
    if within is Within.NAME and level is not None and len(name) <= level.way.longest:
        name += bytes([byte])  # longer than any that is declared, it need not be known
    return Place(level, within, name, escaped=byte == _BACKSLASH and not escaped)


def _going_on(place: Place, counted: Counted | None) -> Place | None:
    return None if counted is None else Place(place.level, counted=counted)


def _run(data: bytes, at: int) -> int:
    """Say where what is neither a quote nor an escape ends."""
    ends = [end for mark in b'"\\' if (end := data.find(mark, at)) >= 0]
    return min(ends, default=len(data))
