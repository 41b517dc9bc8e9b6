"""One byte more of a text, in one of its readings.

Owns: where a thread goes from there: into values, names and elements, and out of them. Must not
know: what anything costs, which of the readings is wanted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from enforcer.budget.frames import (
    Begin,
    InArray,
    InName,
    InObject,
    Phase,
    Text,
    Thread,
    done,
    properties,
    with_pair,
)
from enforcer.partial import Partial
from enforcer.regex import ANY, NOTHING
from enforcer.regex.caching import cached, canonical
from enforcer.regex.derivative import derivative

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from enforcer.budget.arrays import Arrays
    from enforcer.budget.objects import Objects
    from enforcer.regex import Regex
    from enforcer.schema.grammar import Value, ValueId

STRING = Partial(quoted=True)
BARE = Partial(quoted=False)
_BLANK = frozenset(b" \t\r\n")
_QUOTE = 0x22


class Shapes(Protocol):
    """The values of a finished grammar, as texts are read along them.

    Attributes:
        bare: what is written without quotes of each value, words and numbers.
        objects: its shapes of objects.
        arrays: its shapes of arrays.

    """

    bare: Mapping[ValueId, Regex]
    objects: Mapping[ValueId, tuple[Objects, ...]]
    arrays: Mapping[ValueId, tuple[Arrays, ...]]

    @property
    def definitions(self) -> Mapping[ValueId, Value]:
        """What each number stands for."""
        ...

    def behind(self, bare: Regex, char: str) -> Regex:
        """Give what may follow one more character of what is written without quotes."""
        ...

    def reach(self, regex: Regex, *, quoted: bool = True) -> int:
        """Bound the bytes that the end of a string or a bare text takes."""
        ...


class Steps:
    """Takes the readings of one grammar's texts a byte further."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes

    def step(self, thread: Thread, byte: int) -> Iterable[Thread]:
        """Give what a reading may be behind one more byte."""
        frame = thread.frame
        if isinstance(frame, Text):
            return self._text(thread, frame, byte)
        if isinstance(frame, InName):
            return self._name(thread, frame, byte)
        if byte in _BLANK:
            return (thread,) if frame is not None else ()
        if isinstance(frame, Begin):
            return self._begin(thread, frame.value, byte)
        if isinstance(frame, InObject):
            return self._object(thread, frame, byte)
        if isinstance(frame, InArray):
            return self._array(thread, frame, byte)
        return ()

    def _begin(self, thread: Thread, number: ValueId, byte: int) -> Iterator[Thread]:
        plan = self._shapes
        value = plan.definitions[number]
        if byte == _QUOTE:
            if value.strings is not None:
                yield thread.within(Text(value.strings, STRING, plan.reach(value.strings)))
        elif byte == ord("{"):
            for shape in plan.objects[number]:
                yield thread.within(InObject(shape))
        elif byte == ord("["):
            for array in plan.arrays[number]:
                yield thread.within(InArray(array, array.start))
        else:
            after = plan.behind(plan.bare[number], chr(byte))
            if after != NOTHING:
                yield thread.within(Text(after, BARE, plan.reach(plan.bare[number], quoted=False)))

    def _text(self, thread: Thread, frame: Text, byte: int) -> Iterable[Thread]:
        if not frame.partial.quoted:
            after = self._shapes.behind(frame.regex, chr(byte))
            found = [thread.within(replace(frame, regex=after))] if after != NOTHING else []
            if frame.regex.nullable and thread.outer is not None:
                found.extend(self.step(thread.outer, byte))
            return found
        if byte == _QUOTE and not frame.partial.pending:
            return (done(thread),) if frame.regex.nullable else ()
        read = frame.partial.read(byte)
        if read is None:
            return ()
        partial, char = read
        regex = frame.regex if char is None else _behind(frame.regex, char)
        if regex == NOTHING:
            return ()
        return (thread.within(Text(regex, partial, frame.furthest)),)

    def _name(self, thread: Thread, frame: InName, byte: int) -> Iterable[Thread]:
        if byte == _QUOTE and not frame.partial.pending:
            return [thread.within(named) for named in properties(frame)]
        read = frame.partial.read(byte)
        if read is None:
            return ()
        partial, char = read
        text, rests, marked = frame.text, frame.rests, frame.marked
        if char is not None:
            text += char
            rests = tuple(rest if rest is ANY else derivative(rest, char) for rest in rests)
            marked = tuple(derivative(rest, char) for rest in marked)
        found = InName(frame.before, text, partial, rests, marked)
        if any(rest != NOTHING for rest in rests) or frame.before.plan.begins(text):
            return (thread.within(found),)
        return ()

    def _object(self, thread: Thread, frame: InObject, byte: int) -> Iterator[Thread]:
        phase = frame.phase
        if phase is Phase.NAMED:
            if byte == ord(":"):
                yield thread.within(replace(frame, phase=Phase.COLON))
        elif phase is Phase.COLON:
            if frame.pair is not None:
                outer = thread.within(with_pair(frame))
                yield from self._begin(Thread(None, outer), frame.pair.value, byte)
        elif byte == _QUOTE and phase is not Phase.MEMBER:
            rests = tuple(regex for regex, _ in frame.plan.classes)
            marked = tuple(regex for regex, _ in frame.plan.marks)
            yield thread.within(InName(frame, "", STRING, rests, marked))
        elif byte == ord(",") and phase is Phase.MEMBER:
            yield thread.within(replace(frame, phase=Phase.COMMA))
        elif byte == ord("}") and phase is not Phase.COMMA:
            missing = frame.plan.missing(frame.seen, frame.extras, frame.hits)
            if missing == ():
                yield done(thread)

    def _array(self, thread: Thread, frame: InArray, byte: int) -> Iterator[Thread]:
        if byte == ord("]"):
            if frame.phase is not Phase.COMMA and frame.plan.rest(frame.at, comma=False) == 1:
                yield done(thread)
        elif frame.phase is Phase.MEMBER:
            if byte == ord(","):
                yield thread.within(replace(frame, phase=Phase.COMMA))
        else:
            for value, after in frame.plan.steps(frame.at):
                outer = thread.within(InArray(frame.plan, after, Phase.MEMBER))
                yield from self._begin(Thread(None, outer), value, byte)


@cached
def _behind(regex: Regex, char: str) -> Regex:
    return canonical(derivative(regex, char))
