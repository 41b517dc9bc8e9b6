"""Whether an element that has been begun can still become one that is not there yet.

Owns: the completions of a place, from the text at hand outwards through all that is open around it,
and shortcuts where the answer is plain. Must not know: how a text is followed, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.budget.frames import Begin, InArray, InName, InObject, Phase, Text, Thread, with_pair
from enforcer.engines.distinct.completions import MANY, Completions, Many, With, strings
from enforcer.engines.distinct.element_places import Level, Spot, TextKind
from enforcer.engines.distinct.number_completions import (
    digits_after,
    firsts,
    is_roomy,
    numbers,
    only,
)
from enforcer.engines.distinct.number_index import NumberIndex
from enforcer.engines.distinct.values import Object
from enforcer.regex import ANY
from enforcer.schema.finishing.infinite import is_vast, stays_vast
from enforcer.schema.finishing.ways import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.budget.frames import Frame
    from enforcer.budget.steps import Steps
    from enforcer.engines.distinct.fuel import Fuel
    from enforcer.engines.distinct.seen_elements import SeenElements
    from enforcer.engines.distinct.shapes import ElementShapes
    from enforcer.engines.distinct.values import Json
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ValueId

_SURE_DIGITS = 11  # behind which `room` counts doubles that differ
_STRUCTURE = b'{}[],:"'
_OF_NUMBERS = b"+-.0123456789Eaeflnrstu"
_IN_OBJECT = {Phase.OPENED: b'"}', Phase.NAMED: b":", Phase.MEMBER: b",}", Phase.COMMA: b'"'}


class Liveness:
    """Answers for the places of one grammar's texts.

    Args:
        shapes: of the elements.
        steps: takes their readings further.
        fuel: what may be looked at.

    """

    def __init__(self, shapes: ElementShapes, steps: Steps, fuel: Fuel) -> None:
        self._fuel = fuel
        self._shapes = shapes
        self._steps = steps
        self._ends = Completions(shapes, fuel)

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
            next(self.values(thread, spot, first), None) is not None for thread in spot.threads
        )

    @staticmethod
    def _is_roomy(spot: Spot, threads: Iterable[Thread]) -> bool:
        """Tell whether the text at hand alone has more ends than there are rivals."""
        if spot.kind is TextKind.STRING:
            return not spot.partial.pending and any(
                isinstance(x.frame, Text) and is_vast(x.frame.regex) for x in threads
            )
        if spot.kind is not TextKind.BARE or not _has_digits(spot.text()):
            return False
        count, sure = sum(map(len, spot.rivals)), spot.written.length < _SURE_DIGITS
        return any(
            isinstance(x.frame, Text) and is_roomy(x.frame.regex, count, sure=sure) for x in threads
        )

    def follows_any_text(self, spot: Spot) -> bool:
        """Tell whether the string at hand may go on as it likes."""
        return spot.kind is TextKind.STRING and any(
            isinstance(x.frame, Text) and x.frame.regex == ANY for x in spot.threads or ()
        )

    def follows_texts_of(self, spot: Spot, length: int) -> bool:
        """Tell whether so many bytes of the string at hand leave it more ends than are there."""
        if spot.kind is not TextKind.STRING or not spot.threads:
            return False
        frames = (thread.frame for thread in spot.threads)
        return all(isinstance(x, Text) and stays_vast(x.regex, length) for x in frames)

    def bytes_after(self, spot: Spot) -> Iterable[int]:
        """List the bytes, but white space, that the readings have behind a place, among others."""
        if spot.threads is None:
            return _STRUCTURE + _OF_NUMBERS
        if spot.kind is TextKind.BARE:
            frames = (thread.frame for thread in spot.threads)
            moves = (firsts(frame.regex) for frame in frames if isinstance(frame, Text))
            return {*b",]}", *(byte for each in moves for byte in each)}
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

    def _bytes_of_value(self, number: ValueId) -> bytes:
        value = self._shapes.definitions[number]
        found = b'"' if value.strings is not None else b""
        found += b"{" if value.objects else b""
        found += b"[" if value.arrays else b""
        return found + firsts(self._shapes.bare[number])

    @staticmethod
    def is_fixed(spot: Spot) -> bool:
        """Tell whether a number is the same whatever digits follow it."""
        if spot.kind is not TextKind.BARE or spot.threads is None:
            return False
        text = spot.text()
        frames = (thread.frame for thread in spot.threads)
        return all(isinstance(x, Text) and only(x.regex, text) is not None for x in frames)

    def digits_are_free(self, spot: Spot, byte: int, length: int) -> bool:
        """Tell whether so many digits, a byte the first of them, leave room for other numbers."""
        begun = (spot.text() if spot.kind is TextKind.BARE else "") + chr(byte)
        if spot.threads is None or spot.level is None or not _has_digits(begun):
            return False
        if spot.kind is not None and spot.kind is not TextKind.BARE:
            return False
        rivals = spot.level.numbers() if spot.kind is None else spot.rivals
        numbers = [x for x in rivals if isinstance(x, NumberIndex)]
        if "." in begun:
            numbers = [x.among(begun) for x in numbers]
        return any(
            isinstance(x.frame, Text) and self._are_free(x.frame.regex, begun, length - 1, numbers)
            for thread in spot.threads
            for x in self._steps.step(thread, byte)
        )

    def _are_free(self, regex: Regex, text: str, more: int, rivals: list[NumberIndex]) -> bool:
        """Tell whether some more digits plainly leave room for other numbers than the rivals."""
        self._fuel.burn(5)
        sure = len(text) + more < _SURE_DIGITS
        count = sum(map(len, rivals) if "." in text else (x.count(text) for x in rivals))
        if is_roomy(regex, count, more, sure=sure):
            return True
        if not more or "." in text or not is_roomy(regex, count, sure=sure):
            return False
        return all(
            self._are_free(rest, text + each, more - 1, rivals)
            for each, rest in digits_after(regex)
        )

    def values(self, thread: Thread, spot: Spot, until: Level) -> Iterator[Json | Many]:
        """List what an element of an array can become, without the elements that are there."""
        frame, level, outer = thread.frame, spot.level, thread.outer
        values: Iterable[Json | Many] = ()
        if isinstance(frame, Text):
            if spot.kind is TextKind.BARE:
                values = numbers(frame.regex, spot.text(), self._shapes.few, self._fuel)
            else:
                values = strings(frame.regex, spot.text(), frame.partial, self._fuel)
        elif isinstance(frame, Begin):
            values = self._ends.members(frame.value)
        elif frame is not None and level is not None:
            values = self._container(frame, level)
            level = None if level.depth == until.depth else level.outer
        while level is not None:
            used = level.used
            if used is not None:
                values = self._but(values, used)
            if level.depth == until.depth or outer is None or outer.frame is None:
                break
            values = self._around(values, outer.frame, level)
            level, outer = level.outer, outer.outer
        yield from values

    def _but(self, values: Iterable[Json | Many], used: SeenElements) -> Iterator[Json | Many]:
        for value in values:
            self._fuel.burn(1)
            if isinstance(value, Many) or value not in used:
                yield value

    def _container(self, frame: Frame, level: Level) -> Iterator[Json | Many]:
        """List what an object or an array can become, between its members or in a name."""
        if isinstance(frame, InArray):
            taken = () if level.used is None else level.used
            before = level.elements()
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
                before = level.elements()
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


def _has_digits(text: str) -> bool:
    """Tell whether a number that has been begun is no zero, and has no exponent."""
    return bool(text.strip("-0.")) and "e" not in text.lower()


def _arrays(level: Level) -> list[Level]:
    """List the unique arrays around a place, the outermost first."""
    found: list[Level] = []
    around: Level | None = level
    while around is not None:
        if around.used is not None:
            found.append(around)
        around = around.outer
    return found[::-1]
