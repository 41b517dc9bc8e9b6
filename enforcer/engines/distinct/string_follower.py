"""Follows a text whose unique arrays have strings as elements, or whose objects have unique names.

Owns: where in a JSON text, byte by byte, a place is: what its objects and arrays hold, the name or
the element that is being written. The text is one that an engine takes; only what would repeat an
element or a name, or could become nothing but a repetition, is refused here. Places are immutable,
so that going back costs nothing. Must not know: engines, ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from enforcer.engines.distinct.persistent_text import EMPTY, PersistentText
from enforcer.engines.distinct.seen_strings import SeenStrings, prepare
from enforcer.engines.json_levels import (
    BACKSLASH,
    COMMA,
    OPEN_ARRAY,
    OPENING,
    QUOTE,
    STRUCTURE,
    Level,
    begins,
    behind,
)
from enforcer.partial import Partial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.finishing.tracks import Track
    from enforcer.schema.grammar import ValueId

_FRESH = Partial()

Holding = Level["SeenStrings | None"]  # with what it holds, if its elements or names must differ


class StringUse(Enum):
    """What a string is for."""

    NAME = "the name of a property"
    ELEMENT = "an element of an array of distinct ones"
    OTHER = "anything else"


@dataclass(slots=True, eq=False)  # made for each byte: to freeze it takes as long again
class Place:
    """A place in a text; it is not changed.

    Attributes:
        level: the innermost object or array around it.
        kind: what the string is for that it is in; None outside strings.
        text: what has been written of a name or an element.
        partial: the character of it that has been begun.
        escaped: whether a backslash was the last byte of another string.

    """

    level: Holding | None
    kind: StringUse | None = None
    text: PersistentText = EMPTY
    partial: Partial = _FRESH
    escaped: bool = False

    @property
    def memory(self) -> SeenStrings | None:
        """What the innermost array or object holds, if its elements or names must differ."""
        return None if self.level is None else self.level.own

    @property
    def remembers(self) -> bool:
        """Whether the string that it is in is one of those."""
        return self.kind in _REMEMBERED and self.memory is not None


_REMEMBERED = (StringUse.ELEMENT, StringUse.NAME)
START = Place(None)


class StringFollower:
    """Follows texts of one grammar.

    Args:
        tracks: its tracks.
        languages: those of the elements that are strings and are to be kept distinct.

    """

    def __init__(self, tracks: Sequence[Track], languages: Mapping[ValueId, Regex]) -> None:
        self._tracks = tracks
        self._languages = languages
        for language in (*languages.values(), *(track.unrepeated for track in tracks)):
            if language is not None:
                prepare(language)

    def read(self, place: Place, data: bytes) -> Place | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        after: Place | None = place
        for byte in data:
            if after is None:
                return None
            after = self._step(after, byte)
        if after is not None and after.partial.pending and after.remembers:
            memory = after.memory
            if memory is not None and not memory.leads_on(after.text, after.partial):
                return None
        return after

    def _step(self, place: Place, byte: int) -> Place | None:
        level, kind = place.level, place.kind
        if kind is StringUse.OTHER:
            if place.escaped:
                return Place(level, kind)
            if byte == QUOTE:
                return Place(None if level is None else level.behind_string(None, level.own))
            return Place(level, kind, escaped=True) if byte == BACKSLASH else place
        if kind is not None:
            return _string(place, kind, byte)
        if byte not in STRUCTURE:
            return place
        if byte == QUOTE:
            return Place(level, _use(level))
        if byte == COMMA and place.memory is not None and place.memory.is_full:
            return None
        if byte in OPENING:
            return Place(self._opened(level, is_array=byte == OPEN_ARRAY))
        return Place(behind(level, byte))

    def _opened(self, level: Holding | None, *, is_array: bool) -> Holding:
        track = self._tracks[begins(level)]
        language = track.unrepeated
        if is_array:
            language = None if track.element is None else self._languages.get(track.element)
        return Level(
            level, track.leads, is_array, None if language is None else SeenStrings(language)
        )


def _use(level: Holding | None) -> StringUse:
    """Tell what a string is for that begins."""
    if level is None:
        return StringUse.OTHER
    if level.is_array:
        return StringUse.OTHER if level.own is None else StringUse.ELEMENT
    counts = level.own is not None or bool(level.leads.names)
    return StringUse.NAME if counts and level.awaits_name else StringUse.OTHER


def _string(place: Place, kind: StringUse, byte: int) -> Place | None:
    """Read a byte of a name or an element."""
    level, written, partial = place.level, place.text, place.partial
    if level is None:
        return None
    memory = level.own
    if byte == QUOTE and not partial.pending:
        text = written.whole()
        if memory is not None:
            if text in memory:
                return None
            memory = memory.with_element(text)
        return Place(level.behind_string(text, memory))
    found = partial.read(byte)
    if found is None:
        return None
    partial, char = found
    if char is not None:
        written = written.add(char)
        if memory is not None and memory.is_spent(written):
            return None
    return Place(level, kind, written, partial)
