"""Follows a text whose unique arrays have elements of any kind.

As long as an element has rivals, it is parsed along its shapes, through all alternatives at once. A
text that could be completed in no way but as one of its rivals is a dead end.

Owns: where a text is, byte by byte, and that no element repeats another one. The text is one that
an engine takes. Must not know: engines, ids.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from enforcer.budget.frames import Begin, InArray, InObject, Phase, Text, Thread
from enforcer.budget.steps import Steps
from enforcer.engines.distinct.completions import Many
from enforcer.engines.distinct.element_places import (
    FRESH,
    Level,
    Spot,
    TextKind,
    going_on,
    strings_among,
)
from enforcer.engines.distinct.fuel import STEP
from enforcer.engines.distinct.liveness import Liveness
from enforcer.engines.distinct.number_completions import has_exponent
from enforcer.engines.distinct.number_index import NumberIndex
from enforcer.engines.distinct.seen_elements import SeenElements
from enforcer.engines.distinct.values import Object, bare
from enforcer.schema.finishing.ways import NOWHERE, ROOT
from enforcer.spelling import INDENTATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.engines.distinct.element_places import Rivals
    from enforcer.engines.distinct.fuel import Fuel
    from enforcer.engines.distinct.shapes import ElementShapes
    from enforcer.engines.distinct.values import Json
    from enforcer.schema.finishing.tracks import Track
    from enforcer.schema.grammar import ValueId

START = Spot(None)
_SCANNED = 10  # rivals that are looked at for a unit of fuel
_QUOTE, _BACKSLASH = 0x22, 0x5C
_BLANK = frozenset(b" \t\r\n")
_ONE_GAP = re.compile(rf" |\r|\r?\n[ \t]{{0,{INDENTATION}}}")
_ENDS = frozenset(b" \t\r\n,]}")  # of a number or a word


class ElementFollower:
    """Follows texts of one grammar; `fuel` is burned where an element may be repeated."""

    def __init__(self, tracks: Sequence[Track], shapes: ElementShapes, fuel: Fuel) -> None:
        self._tracks = tracks
        self._steps = Steps(shapes)
        self._fuel = fuel
        self.liveness = Liveness(shapes, self._steps, fuel)

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
        return after if not after.contested or self.liveness.lives(after) else None

    @staticmethod
    def _at_once(spot: Spot, data: bytes) -> Spot | None:
        """Go on within a string that has no rivals, with characters as they are."""
        if spot.kind is not TextKind.STRING or spot.threads is not None or spot.partial.pending:
            return None
        if b'"' in data or b"\\" in data or spot.contested:
            return None
        try:
            return spot.add(data.decode(), FRESH, spot.rivals)
        except UnicodeDecodeError:
            return None

    def element_of(self, level: Level) -> ValueId | None:
        """Give the value of the elements of an array, if these have to differ."""
        return self._tracks[level.track].element if level.is_array else None

    def may_end(self, element: ValueId, data: bytes) -> bool:
        """Tell whether an element that begins so may be complete, or have no more than few ends.

        The text that is about to be written may not be one; then it is neither.
        """
        track = next(i for i, each in enumerate(self._tracks) if each.element == element)
        level = Level(None, track, is_array=True, used=SeenElements())
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
        firsts = (next(self.liveness.values(thread, spot, level), None) for thread in threads)
        return not any(isinstance(first, Many) for first in firsts)

    # The text.

    def step(self, spot: Spot, byte: int) -> Spot | None:
        """Go on with one byte; None if an element is repeated."""
        after = self._text(spot, byte)
        if after is spot and byte in _BLANK and self.is_open(spot):
            if self.must_go_on(spot) and not is_one_gap(spot.text() + chr(byte)):
                return None
            return spot.add(chr(byte), FRESH, spot.rivals)
        if after is None or after is spot:
            return after
        if after.threads is not None or after.contested:
            self._fuel.burn(STEP)
        if after.threads is not None:
            if not self._has_rivals(after):
                after.threads = None
            else:
                after.threads = tuple(
                    dict.fromkeys(x for t in after.threads for x in self._steps.step(t, byte))
                )
                if after.kind is TextKind.BARE and after.threads and after.contested:
                    self._narrow(after, after.threads)
        elif after.contested and after.kind is None and byte == ord(","):
            self._begin(after)
        return after

    def leaves_rivals(self, spot: Spot, digit: int) -> bool:
        """Tell whether a number that goes on, or begins, with a digit has no rivals any more."""
        if spot.level is None or spot.kind not in (None, TextKind.BARE):
            return False
        self._fuel.burn(1)
        text = (spot.text() if spot.kind is TextKind.BARE else "") + chr(digit)
        rivals = spot.level.numbers() if spot.kind is None else spot.rivals
        return all(isinstance(x, NumberIndex) and not x.among(text) for x in rivals)

    @staticmethod
    def is_open(spot: Spot) -> bool:
        """Tell whether a place is behind the bracket of what may be there already."""
        return (
            spot.kind is None
            and spot.contested
            and any(
                isinstance(x.frame, InArray | InObject) and x.frame.phase is Phase.OPENED
                for x in spot.threads or ()
            )
        )

    def must_go_on(self, spot: Spot) -> bool:
        """Tell whether what has just been opened is not new if nothing is in it.

        Behind a second gap an engine lets nothing but its end follow.
        """
        if spot.level is None:
            return False
        closed = self.step(spot, ord("]" if spot.level.is_array else "}"))
        return closed is None or (closed.contested and not self.liveness.lives(closed))

    def _scan(self, rivals: Rivals) -> None:
        """Burn what it costs to look at all of them."""
        self._fuel.burn(sum(map(len, rivals)) // _SCANNED)

    @staticmethod
    def _narrow(spot: Spot, threads: Iterable[Thread]) -> None:
        """Leave those numbers that are not another power of ten, where no exponent may follow."""
        text = spot.text()
        if "." not in text or "e" in text.lower():
            return
        frames = (thread.frame for thread in threads)
        if not any(isinstance(x, Text) and has_exponent(x.regex) for x in frames):
            spot.rivals = tuple(
                x.becoming(text) if isinstance(x, NumberIndex) else x for x in spot.rivals
            )

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
        if kind is TextKind.OTHER:
            if spot.escaped or (byte not in (_QUOTE, _BACKSLASH)):
                return Spot(level, (), kind) if spot.escaped else spot
            return Spot(level, (), None if byte == _QUOTE else kind, escaped=byte == _BACKSLASH)
        if kind is TextKind.BARE:
            if byte in _ENDS:
                value = bare(spot.text())
                done = None if value is None else self._complete(spot, level, value)
                return done if done is None or byte in _BLANK else self._between(done, byte)
            char = chr(byte)
            text = spot.text() + char
            rivals = tuple(x.among(text) if isinstance(x, NumberIndex) else x for x in spot.rivals)
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
            self._fuel.burn(level.index // _SCANNED)
            return self._complete(outer, level.outer, level.value() if level.element else "")
        if byte == ord(","):
            return None if level is None else self._after_comma(spot, level)
        is_name = level is not None and not level.is_array and level.name is None
        if byte == _QUOTE and is_name and level is not None:
            if not level.element and level.track == NOWHERE:
                return Spot(level, (), TextKind.OTHER)
            self._scan(level.rivals)
            names = tuple(
                list(dict.fromkeys(n for x in each if isinstance(x, Object) for n in x.members))
                if each
                else each
                for each in level.rivals
            )
            return self._on(spot, level, names, TextKind.NAME)
        keeps = level is not None and level.keeps
        rivals = () if level is None or not keeps else level.parts()
        if byte == _QUOTE:
            if keeps:
                self._scan(rivals)
                return self._on(spot, level, strings_among(rivals), TextKind.STRING)
            return Spot(level, (), TextKind.OTHER)
        if byte in b"{[":
            return self._opened(spot, level, rivals, is_array=byte == ord("["))
        if level is None or not keeps:
            return spot
        left = tuple(each.among(chr(byte)) for each in level.numbers())
        return self._on(spot, level, (), TextKind.BARE).add(chr(byte), FRESH, left)

    @staticmethod
    def _on(spot: Spot, level: Level | None, rivals: Rivals, kind: TextKind | None = None) -> Spot:
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
        # Each level keeps as many as there are unique arrays around it: the square of the depth.
        self._fuel.burn(STEP * len(rivals))
        self._scan(rivals)
        alike = tuple([x for x in each if isinstance(x, kind)] if each else () for each in rivals)
        used = SeenElements() if is_array and self._tracks[number].element is not None else None
        inner = Level(level, number, is_array=is_array, used=used, rivals=alike)
        return self._on(spot, inner, alike)

    def _track_of(self, level: Level | None) -> int:
        """Return the track of the value that begins."""
        if level is None:
            return ROOT
        return self._tracks[level.track].leads.at(level.index) if level.is_array else level.child

    def _complete(self, spot: Spot, level: Level | None, value: Json) -> Spot | None:
        """Stand behind a value that is complete; None if it repeats an element."""
        if level is None or not level.keeps:
            return self._on(spot, level, ())
        if level.used is not None and value in level.used:
            return None
        self._scan(level.rivals)
        after = level.after(value)
        done = self._on(spot, after, after.rivals)
        if level.depth == spot.base:
            done.threads = None
        return done

    def _character(self, spot: Spot, kind: TextKind, byte: int) -> Spot | None:
        level = spot.level
        if level is None:
            return None
        if byte == _QUOTE and not spot.partial.pending:
            text = spot.text()
            if kind is TextKind.STRING:
                return self._complete(spot, level, text)
            child = self._tracks[level.track].leads.under(text)
            named = level.named(text, child)
            return self._on(spot, named, named.parts() if level.element else ())
        found = spot.partial.read(byte)
        if found is None:
            return None
        partial, char = found
        if char is None:
            return spot.add("", partial, spot.rivals)
        self._scan(spot.rivals)
        rivals = going_on(spot.rivals, spot.written.length, char) if spot.contested else spot.rivals
        return spot.add(char, partial, rivals)


def is_one_gap(blanks: str) -> bool:
    """Tell whether white space is what stands between two tokens, or begins so."""
    return not blanks or _ONE_GAP.fullmatch(blanks) is not None
