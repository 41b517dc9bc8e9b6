"""Following a text whose unique arrays have elements of any kind.

Beside the text itself, the readings of an element are followed along its shapes as long as it has
rivals; then a beginning is asked for its ends, and is a dead end if all of them are there already.

Owns: where a text is byte by byte, and whether an element there can still become another one. The
text is one that an engine takes. Must not know: engines, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.budget.frames import Begin, InArray, InName, InObject, Phase, Text, Thread, with_pair
from enforcer.budget.steps import Steps
from enforcer.engines.distinct.ends import (
    MANY,
    Ends,
    Many,
    With,
    numbers,
    room,
    stays_roomy,
    strings,
)
from enforcer.engines.distinct.places import FRESH, Kind, Level, Spot, going_on, strings_among
from enforcer.engines.distinct.used import Used
from enforcer.engines.distinct.values import Object, among, bare
from enforcer.regex import ANY, NOTHING
from enforcer.schema.finishing.distinct import NOWHERE, is_endless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from enforcer.budget.frames import Frame
    from enforcer.engines.distinct.places import Rivals
    from enforcer.engines.distinct.shapes import ElementShapes
    from enforcer.engines.distinct.values import Json
    from enforcer.schema.finishing.distinct import Track
    from enforcer.schema.nodes import Formula

START = Spot(None)
_TRACKED = 48  # names of one object, at least, that no engine lets come again
_SURE_DIGITS = 11  # behind which `room` counts doubles that differ
_QUOTE, _BACKSLASH = 0x22, 0x5C
_STRUCTURE = b'{}[],:"'
_FIRST_OF_NUMBERS = b"-0123456789fnt"
_OF_NUMBERS = b"+-.0123456789Eaeflnrstu"
_IN_OBJECT = {Phase.OPENED: b'"}', Phase.NAMED: b":", Phase.MEMBER: b",}", Phase.COMMA: b'"'}
_BLANK = frozenset(b" \t\r\n")
_ENDS = frozenset(b" \t\r\n,]}")  # of a number or a word


class Elements:
    """Follows texts of one grammar."""

    def __init__(self, tracks: Sequence[Track], shapes: ElementShapes) -> None:
        self._tracks = tracks
        self._names = [dict(track.names) for track in tracks]
        self._shapes = shapes
        self._steps = Steps(shapes)
        self._ends = Ends(shapes)

    def read(self, spot: Spot, data: bytes) -> Spot | None:
        """Go on with the bytes of an id; None if an element is, or can only be, repeated."""
        after: Spot | None = self._at_once(spot, data)
        if after is not None:
            return after
        after = spot
        for byte in data:
            after = self.step(after, byte)
            if after is None:
                return None
        return after if not after.contested or self.lives(after) else None

    @staticmethod
    def _at_once(spot: Spot, data: bytes) -> Spot | None:
        """Go on within a string that has no rivals, with characters as they are."""
        if spot.kind is not Kind.STRING or spot.threads is not None or spot.partial.pending:
            return None
        if b'"' in data or b"\\" in data or spot.contested:
            return None
        try:
            return spot.add(data.decode(), FRESH, spot.rivals)
        except UnicodeDecodeError:
            return None

    def element_of(self, level: Level) -> Formula | None:
        """Give the value of the elements of an array, if these have to differ."""
        return self._tracks[level.track].element if level.is_array else None

    def may_end(self, element: Formula, data: bytes) -> bool:
        """Tell whether an element that begins so may be complete, or have no more than few ends.

        The text that is about to be written may not be one; then it is neither.
        """
        track = next(i for i, each in enumerate(self._tracks) if each.element == element)
        level = Level(None, track, is_array=True, used=Used())
        spot: Spot | None = Spot(level)
        threads: tuple[Thread, ...] = (Thread(Begin(element), None),)
        for byte in data:
            spot = None if spot is None else self._text(spot, byte)
            if spot is None or spot.level is None:
                return False
            if spot.level.depth == 0 and spot.level.used:
                return True
            threads = tuple(x for thread in threads for x in self._steps.step(thread, byte))
        if spot is None or not threads:
            return False
        firsts = (next(self._values(thread, spot, level), None) for thread in threads)
        return not any(isinstance(first, Many) for first in firsts)

    # The text.

    def step(self, spot: Spot, byte: int) -> Spot | None:
        """Go on with one byte; None if an element is repeated."""
        after = self._text(spot, byte)
        if after is None or after is spot:
            return after
        if after.threads is not None:
            if not self._has_rivals(after):
                after.threads = None
            else:
                after.threads = tuple(
                    dict.fromkeys(x for t in after.threads for x in self._steps.step(t, byte))
                )
                if byte == _QUOTE and spot.kind is Kind.NAME and after.level is not None:
                    after.level.may_recur = any(map(_may_recur, after.threads))
        elif after.contested and after.kind is None and byte == ord(","):
            self._begin(after)
        return after

    @staticmethod
    def _has_rivals(spot: Spot) -> bool:
        """Tell whether there are any, here or where values around this place are not complete."""
        if spot.contested:
            return True
        level = spot.level
        while level is not None and level.depth > spot.base:
            if any(level.rivals):
                return True
            level = level.outer
        return False

    def _begin(self, spot: Spot) -> None:
        """Have the readings of an element begin, before which there are others."""
        level = spot.level
        element = None if level is None else self._tracks[level.track].element
        if level is not None and level.is_array and element is not None:
            spot.threads, spot.base = (Thread(Begin(element), None),), level.depth

    def _text(self, spot: Spot, byte: int) -> Spot | None:
        kind, level = spot.kind, spot.level
        if kind is Kind.OTHER:
            if spot.escaped or (byte not in (_QUOTE, _BACKSLASH)):
                return Spot(level, (), kind) if spot.escaped else spot
            return Spot(level, (), None if byte == _QUOTE else kind, escaped=byte == _BACKSLASH)
        if kind is Kind.BARE:
            if byte in _ENDS:
                value = bare(spot.text())
                done = None if value is None else self._complete(spot, level, value)
                return done if done is None or byte in _BLANK else self._between(done, byte)
            char = chr(byte)
            text = spot.text() + char
            rivals = spot.rivals
            if spot.contested:
                rivals = tuple(among(text, each) if each else each for each in rivals)
            return spot.add(char, FRESH, rivals)
        if kind is not None:
            return self._character(spot, kind, byte)
        return self._between(spot, byte)

    def _between(self, spot: Spot, byte: int) -> Spot | None:
        level = spot.level
        if byte in _BLANK or byte == ord(":"):
            return self._on(spot, level, spot.rivals) if byte == ord(":") else spot
        if byte in b"}]":
            if level is None:
                return spot
            outer = self._on(spot, level.outer, ())
            return self._complete(outer, level.outer, level.value() if level.element else "")
        if byte == ord(","):
            return None if level is None else self._after_comma(spot, level)
        is_name = level is not None and not level.is_array and level.name is None
        if byte == _QUOTE and is_name and level is not None:
            if not level.element and level.track == NOWHERE:
                return Spot(level, (), Kind.OTHER)
            names = tuple(
                list(dict.fromkeys(n for x in each if isinstance(x, Object) for n in x.members))
                if each
                else each
                for each in level.rivals
            )
            return self._on(spot, level, names, Kind.NAME)
        keeps = level is not None and level.keeps
        rivals = () if level is None or not keeps else level.parts()
        if byte == _QUOTE:
            if keeps:
                return self._on(spot, level, strings_among(rivals), Kind.STRING)
            return Spot(level, (), Kind.OTHER)
        if byte in b"{[":
            return self._opened(spot, level, rivals, is_array=byte == ord("["))
        if not keeps:
            return spot
        left = tuple(among(chr(byte), each) if each else each for each in rivals)
        return self._on(spot, level, (), Kind.BARE).add(chr(byte), FRESH, left)

    @staticmethod
    def _on(spot: Spot, level: Level | None, rivals: Rivals, kind: Kind | None = None) -> Spot:
        after = Spot(level, rivals, kind)
        after.threads, after.base = spot.threads, spot.base
        return after

    def _after_comma(self, spot: Spot, level: Level) -> Spot:
        after = level.after_comma()
        rivals = after.parts() if level.is_array and level.keeps else after.rivals
        return self._on(spot, after, rivals)

    def _opened(self, spot: Spot, level: Level | None, rivals: Rivals, *, is_array: bool) -> Spot:
        number = self._track_of(level)
        kind = tuple if is_array else Object
        alike = tuple([x for x in each if isinstance(x, kind)] for each in rivals)
        used = Used() if is_array and self._tracks[number].element is not None else None
        inner = Level(level, number, is_array=is_array, used=used, rivals=alike)
        return self._on(spot, inner, alike)

    def _track_of(self, level: Level | None) -> int:
        """Return the track of the value that begins."""
        if level is None:
            return 1
        if not level.is_array:
            return level.child
        track = self._tracks[level.track]
        return track.prefix[level.index] if level.index < len(track.prefix) else track.rest

    def _complete(self, spot: Spot, level: Level | None, value: Json) -> Spot | None:
        """Stand behind a value that is complete; None if it repeats an element."""
        if level is None or not level.keeps:
            return self._on(spot, level, ())
        if level.used is not None and value in level.used:
            return None
        after = level.after(value)
        done = self._on(spot, after, after.rivals)
        if level.depth == spot.base:
            done.threads = None
        return done

    def _character(self, spot: Spot, kind: Kind, byte: int) -> Spot | None:
        level = spot.level
        if level is None:
            return None
        if byte == _QUOTE and not spot.partial.pending:
            text = spot.text()
            if kind is Kind.STRING:
                return self._complete(spot, level, text)
            child = self._names[level.track].get(text, self._tracks[level.track].others)
            named = level.named(text, child)
            return self._on(spot, named, named.parts() if level.element else ())
        found = spot.partial.read(byte)
        if found is None:
            return None
        partial, char = found
        if char is None:
            return spot.add("", partial, spot.rivals)
        rivals = going_on(spot.rivals, spot.length, char) if spot.contested else spot.rivals
        return spot.add(char, partial, rivals)

    # Its ends.

    def lives(self, spot: Spot) -> bool:
        """Tell whether what is being written can become something that is not there already."""
        if spot.threads is None or spot.level is None:
            return True
        arrays = _arrays(spot.level)
        first = next(
            (
                level
                for level, rivals in zip(arrays, spot.rivals, strict=False)
                if rivals and level.depth >= spot.base
            ),
            None,
        )
        if first is None or self._is_roomy(spot, spot.threads):
            return True
        return any(
            next(self._values(thread, spot, first), None) is not None for thread in spot.threads
        )

    @staticmethod
    def _is_roomy(spot: Spot, threads: Iterable[Thread]) -> bool:
        """Tell whether the text at hand alone has more ends than there are rivals."""
        if spot.kind is Kind.STRING:
            return not spot.partial.pending and any(
                isinstance(x.frame, Text) and is_endless(x.frame.regex) for x in threads
            )
        if spot.kind is not Kind.BARE or not 0 < spot.length < _SURE_DIGITS:
            return False
        text = spot.text().lower()
        if "e" in text or not text.strip("-0."):
            return False
        count = sum(map(len, spot.rivals))
        return any(isinstance(x.frame, Text) and room(x.frame.regex) > count for x in threads)

    def follows_any_text(self, spot: Spot) -> bool:
        """Tell whether the string at hand may go on as it likes."""
        return spot.kind is Kind.STRING and any(
            isinstance(x.frame, Text) and x.frame.regex == ANY for x in spot.threads or ()
        )

    def bytes_after(self, spot: Spot) -> Iterable[int]:
        """List the bytes, but white space, that the readings have behind a place, among others."""
        if spot.kind is Kind.BARE:
            return _OF_NUMBERS + b",]}"
        if spot.threads is None:
            return _STRUCTURE + _OF_NUMBERS
        found: set[int] = set()
        for thread in spot.threads:
            found.update(self._bytes_of(thread.frame))
        return found

    def _bytes_of(self, frame: Frame | None) -> Iterable[int]:
        if isinstance(frame, Begin):
            return self._bytes_of_value(frame.value)
        if isinstance(frame, InObject):
            if frame.phase is Phase.COLON and frame.pair is not None:
                return self._bytes_of_value(frame.pair.value)
            return _IN_OBJECT.get(frame.phase, b"")
        if isinstance(frame, InArray):
            values = (value for value, _ in frame.plan.steps(frame.at))
            if frame.phase is Phase.MEMBER:
                return b",]"
            found = {byte for value in values for byte in self._bytes_of_value(value)}
            return found if frame.phase is Phase.COMMA else found | {ord("]")}
        return _STRUCTURE + _OF_NUMBERS

    def _bytes_of_value(self, number: Formula) -> bytes:
        value = self._shapes.definitions[number]
        found = b'"' if value.strings is not None else b""
        found += b"{" if value.objects else b""
        found += b"[" if value.arrays else b""
        return found + (b"" if self._shapes.bare[number] == NOTHING else _FIRST_OF_NUMBERS)

    def digits_are_free(self, spot: Spot, byte: int, length: int) -> bool:
        """Tell whether so many digits, a byte the first of them, leave room for other numbers."""
        if spot.threads is None or spot.length + length >= _SURE_DIGITS or byte == ord("0"):
            return False
        if spot.kind is not None and not (
            spot.kind is Kind.BARE and spot.text().strip("-0.") and "e" not in spot.text().lower()
        ):
            return False
        after = [x for thread in spot.threads for x in self._steps.step(thread, byte)]
        rivals = spot.rivals
        if spot.kind is None and spot.level is not None:
            rivals = spot.level.parts()

        def is_free(count: int) -> bool:
            return any(
                isinstance(x.frame, Text) and stays_roomy(x.frame.regex, count, length - 1)
                for x in after
            )

        if is_free(sum(map(len, rivals))):
            return True
        begun = spot.text() + chr(byte)
        return is_free(sum(len(among(begun, each)) for each in rivals))

    def _values(self, thread: Thread, spot: Spot, until: Level) -> Iterator[Json | Many]:
        """List what an element of an array can become, without the elements that are there."""
        frame, level, outer = thread.frame, spot.level, thread.outer
        values: Iterable[Json | Many] = ()
        if isinstance(frame, Text):
            if spot.kind is Kind.BARE:
                values = numbers(frame.regex, spot.text())
            else:
                values = strings(frame.regex, spot.text(), frame.partial)
        elif isinstance(frame, Begin):
            values = self._ends.members(frame.value)
        elif frame is not None and level is not None:
            values = self._container(frame, level)
            level = None if level.depth == until.depth else level.outer
        while level is not None:
            used = level.used
            if used is not None:
                values = _but(values, used)
            if level.depth == until.depth or outer is None or outer.frame is None:
                break
            values = self._around(values, outer.frame, level)
            level, outer = level.outer, outer.outer
        yield from values

    def _container(self, frame: Frame, level: Level) -> Iterator[Json | Many]:
        """List what an object or an array can become, between its members or in a name."""
        if isinstance(frame, InArray):
            taken = () if level.used is None else level.used
            before = tuple(x for _, x in sorted(_indexed(level), key=lambda each: each[0]))
            more = frame.phase is Phase.COMMA
            for rest in self._ends.elements(frame.plan, frame.at, taken, more=more):
                yield rest if isinstance(rest, Many) else (*before, *rest)
        elif isinstance(frame, InName):
            for named in self._ends.named(frame):
                if isinstance(named, Many):
                    yield MANY
                    return
                yield from self._valued(named[1], named[0], level)
        elif isinstance(frame, InObject) and frame.pair is not None:
            yield from self._valued(frame, frame.pair.name, level)
        elif isinstance(frame, InObject):
            members = level.members()
            for others in self._ends.properties(frame, more=frame.phase is Phase.COMMA):
                yield others if isinstance(others, Many) else Object({**members, **others})

    def _valued(self, frame: InObject, name: str, level: Level) -> Iterator[Json | Many]:
        """List what an object can become behind the name of a property."""
        if frame.pair is not None:
            outer = with_pair(frame)
            named = level.named(name, NOWHERE)
            yield from self._around(self._ends.members(frame.pair.value), outer, named)

    def _around(
        self, values: Iterable[Json | Many], frame: Frame, level: Level
    ) -> Iterator[Json | Many]:
        """List what an object or an array can become with each of some values in it."""
        for value in values:
            if isinstance(frame, InArray):
                taken = () if level.used is None else level.used
                used = taken if isinstance(value, Many) else With(taken, value)
                before = tuple(x for _, x in sorted(_indexed(level), key=lambda each: each[0]))
                for rest in self._ends.elements(frame.plan, frame.at, used):
                    if isinstance(value, Many) or isinstance(rest, Many):
                        yield MANY
                        return
                    yield (*before, value, *rest)
            elif isinstance(frame, InObject):
                members = level.members()
                for others in self._ends.properties(frame):
                    if isinstance(value, Many) or isinstance(others, Many):
                        yield MANY
                        return
                    yield Object({**members, str(level.name): value, **others})


def _may_recur(thread: Thread) -> bool:
    """Tell whether an engine may let the name come again that has just been written."""
    frame = thread.frame
    if not isinstance(frame, InObject) or frame.pair is None:
        return True
    return frame.pair.index is None or len(frame.plan.names) > _TRACKED


def _but(values: Iterable[Json | Many], used: Used) -> Iterator[Json | Many]:
    return (value for value in values if isinstance(value, Many) or value not in used)


def _indexed(level: Level) -> Iterator[tuple[int, Json]]:
    items = level.items
    while items is not None:
        items, key, value = items
        yield int(key), value


def _arrays(level: Level) -> list[Level]:
    """List the unique arrays around a place, the outermost first."""
    found: list[Level] = []
    around: Level | None = level
    while around is not None:
        if around.used is not None:
            found.append(around)
        around = around.outer
    return found[::-1]
