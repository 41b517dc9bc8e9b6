"""Follows a text in which some strings have a greatest length.

Owns: where in a JSON text, byte by byte, a place is: the name that is being written, or the string
that is counted. The text is one that an engine takes; only what is too long, or could only become
too long, is refused here. Places are immutable, so that going back costs nothing. Must not know:
engines, ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from enforcer.engines.json_levels import (
    BACKSLASH,
    OPEN_ARRAY,
    OPENING,
    QUOTE,
    STRUCTURE,
    Level,
    begins,
    behind,
)
from enforcer.engines.lengths.counted import Counted
from enforcer.partial import whole
from enforcer.schema.finishing.ways import Leads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.lengths.automaton import Automaton

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


class Place(NamedTuple):
    """A place in a text.

    Attributes:
        level: the innermost object or array around it, which knows how long names may be.
        within: what it is in, unless that is a string that is counted.
        name: the bytes of a name so far.
        counted: that string.
        escaped: whether a backslash was the last byte of a name or another string.

    """

    level: Level[int] | None
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
            if byte == QUOTE and not counted.partial.pending:
                return Place(level) if counted.left >= 0 else None
            return _going_on(place, counted.read(byte))
        if within is not Within.STRUCTURE:
            return _string(place, byte)
        if byte not in STRUCTURE:
            return place
        if byte == QUOTE:
            return self._opened_string(level)
        if byte in OPENING:
            found = self._ways[begins(level)]
            return Place(Level(level, found.leads, byte == OPEN_ARRAY, found.longest))
        return Place(behind(level, byte))

    def _opened_string(self, level: Level[int] | None) -> Place:
        if level is not None and level.awaits_name:
            return Place(level, Within.NAME if level.own else Within.OTHER)
        found = self._ways[begins(level)]
        if found.automaton is None:
            return Place(level, Within.OTHER)
        return Place(level, counted=Counted(found.automaton, found.most))


def _string(place: Place, byte: int) -> Place:
    """Read a byte of a name, or of a string that is not counted."""
    level, within, name, _, escaped = place
    if byte == QUOTE and not escaped:
        is_known = level is not None and within is Within.NAME and len(name) <= level.own
        text = json.loads(b'"' + name + b'"') if is_known else None
        return Place(None if level is None else level.behind_string(text, level.own))
    if within is Within.NAME and level is not None and len(name) <= level.own:
        name += bytes([byte])  # longer than any that is declared, it need not be known
    return Place(level, within, name, escaped=byte == BACKSLASH and not escaped)


def _going_on(place: Place, counted: Counted | None) -> Place | None:
    return None if counted is None else Place(place.level, counted=counted)


def _run(data: bytes, at: int) -> int:
    """Say where what is neither a quote nor an escape ends."""
    ends = [end for mark in b'"\\' if (end := data.find(mark, at)) >= 0]
    return min(ends, default=len(data))
