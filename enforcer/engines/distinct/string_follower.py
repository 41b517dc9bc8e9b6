"""Follows a text whose unique arrays have strings as elements, or whose objects have unique names.

Owns: where in a JSON text, byte by byte, a place is: the objects and arrays around it, the name or
the element that is being written. The text is one that an engine takes; only what would repeat an
element or a name, or could become nothing but a repetition, is refused here. Places are immutable,
so that going back costs nothing. Must not know: engines, ids.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from enforcer.engines.distinct.persistent_text import PersistentText
from enforcer.engines.distinct.seen_strings import SeenStrings, prepare
from enforcer.partial import Partial
from enforcer.schema.finishing.ways import NOWHERE, ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.finishing.tracks import Track
    from enforcer.schema.grammar import ValueId

_QUOTE, _BACKSLASH = 0x22, 0x5C
_STRUCTURE = frozenset(b'{}[],:"')
_FRESH = Partial()
_EMPTY = PersistentText()


class StringUse(Enum):
    """What a string is for."""

    NAME = "the name of a property"
    ELEMENT = "an element of an array of distinct ones"
    OTHER = "anything else"


class Level:
    """An object or array that has been opened.

    Attributes:
        memory: the elements of an array, or the names of an object, that must differ.
        named: whether the name of a property stands, and its value is to come.
        child: the track of that value.

    """

    __slots__ = ("child", "index", "is_array", "memory", "named", "outer", "track")

    def __init__(
        self,
        outer: Level | None,
        track: int,
        *,
        is_array: bool,
        memory: SeenStrings | None,
        index: int = 0,
        named: bool = False,
        child: int = NOWHERE,
    ) -> None:
        self.outer = outer
        self.track = track
        self.is_array = is_array
        self.memory = memory
        self.index = index
        self.named = named
        self.child = child

    def after_comma(self) -> Level:
        """Stand before the next element or property."""
        return Level(
            self.outer,
            self.track,
            is_array=self.is_array,
            memory=self.memory,
            index=self.index + 1,
        )

    def with_name(self, text: str, child: int) -> Level:
        """Stand behind the name of a property whose value has a track."""
        memory = None if self.memory is None else self.memory.with_element(text)
        return Level(self.outer, self.track, is_array=False, memory=memory, named=True, child=child)

    def with_element(self, text: str) -> Level:
        """Stand behind an element."""
        memory = None if self.memory is None else self.memory.with_element(text)
        return Level(self.outer, self.track, is_array=True, memory=memory, index=self.index)


class Place:
    """A place in a text.

    Attributes:
        level: the innermost object or array around it.
        kind: what the string is for that it is in; None outside strings.
        text: what has been written of a name or an element.
        partial: the character of it that has been begun.

    """

    __slots__ = ("escaped", "kind", "level", "partial", "text")

    def __init__(
        self,
        level: Level | None,
        kind: StringUse | None = None,
        text: PersistentText = _EMPTY,
        partial: Partial = _FRESH,
        *,
        escaped: bool = False,
    ) -> None:
        self.level = level
        self.kind = kind
        self.text = text
        self.partial = partial
        self.escaped = escaped

    @property
    def memory(self) -> SeenStrings | None:
        """What the innermost array or object holds, if its elements or names must differ."""
        return None if self.level is None else self.level.memory

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
        kind, level = place.kind, place.level
        if kind is StringUse.OTHER:
            if place.escaped:
                return Place(level, kind)
            if byte == _QUOTE:
                return Place(level)
            return Place(level, kind, escaped=True) if byte == _BACKSLASH else place
        if kind is not None:
            return self._string(place, kind, byte)
        if byte not in _STRUCTURE:
            return place
        if byte == _QUOTE:
            return Place(level, self._kind(level))
        if byte in b"{[":
            return Place(self._opened(level, is_array=byte == ord("[")))
        if level is None:
            return place
        if byte in b"}]":
            return Place(level.outer)
        if byte == ord(","):
            full = level.memory is not None and level.memory.is_full
            return None if full else Place(level.after_comma())
        return place

    def _kind(self, level: Level | None) -> StringUse:
        if level is None:
            return StringUse.OTHER
        if level.is_array:
            return StringUse.OTHER if level.memory is None else StringUse.ELEMENT
        return StringUse.OTHER if level.named or level.track == NOWHERE else StringUse.NAME

    def _opened(self, level: Level | None, *, is_array: bool) -> Level:
        number = self._track_of(level)
        track = self._tracks[number]
        language = track.unrepeated
        if is_array:
            language = None if track.element is None else self._languages.get(track.element)
        memory = None if language is None else SeenStrings(language)
        return Level(level, number, is_array=is_array, memory=memory)

    def _track_of(self, level: Level | None) -> int:
        """Return the track of the value that begins."""
        if level is None:
            return ROOT
        return self._tracks[level.track].leads.at(level.index) if level.is_array else level.child

    def _string(self, place: Place, kind: StringUse, byte: int) -> Place | None:
        level, written = place.level, place.text
        if level is None:
            return None
        if byte == _QUOTE and not place.partial.pending:
            text = written.whole()
            if level.memory is not None and text in level.memory:
                return None
            if kind is StringUse.NAME:
                child = self._tracks[level.track].leads.under(text)
                return Place(level.with_name(text, child))
            return Place(level.with_element(text))
        found = place.partial.read(byte)
        if found is None:
            return None
        partial, char = found
        if char is None:
            return Place(level, kind, written, partial)
        written = written.add(char)
        if level.memory is not None and level.memory.is_spent(written):
            return None
        return Place(level, kind, written, partial)
