"""Where a text that is being written stands: a frame for each value around it.

Owns: the kinds of frames, and the ends of the texts and names that are being written. Must not
know: which end is the shortest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from enforcer.budget.least import least
from enforcer.budget.objects import Objects, Pair
from enforcer.partial import Partial, spell
from enforcer.regex import both, either, inverse, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.budget.arrays import Arrays, Place
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ValueId


class Phase(Enum):
    """Where a text is between the members of an object or an array."""

    OPENED = "behind the bracket"
    NAMED = "behind a name"
    COLON = "behind a colon"
    MEMBER = "behind a member"
    COMMA = "behind a comma"


@dataclass(frozen=True, slots=True)
class Begin:
    """A value is to begin."""

    value: ValueId


@dataclass(frozen=True, slots=True)
class Text:
    """Within a string or a number, or a word."""

    regex: Regex
    partial: Partial
    furthest: int


@dataclass(frozen=True, slots=True)
class InObject:
    """Between the properties of an object."""

    plan: Objects
    phase: Phase = Phase.OPENED
    seen: int = 0
    extras: frozenset[str] = frozenset()
    hits: int = 0
    pair: Pair | None = None
    pair_hits: int = 0


@dataclass(frozen=True, slots=True)
class InName:
    """Within the name of a property.

    Attributes:
        before: where the object stands without it.
        text: its characters so far.
        partial: what has been written of the next one.
        rests: how it may go on in each class of the object.
        marked: likewise by each of its marks.

    """

    before: InObject
    text: str
    partial: Partial
    rests: tuple[Regex, ...]
    marked: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class InArray:
    """Between the elements of an array."""

    plan: Arrays
    at: Place
    phase: Phase = Phase.OPENED


Frame = Begin | Text | InObject | InName | InArray


class Thread:
    """One reading: the innermost frame, and what stands around it."""

    __slots__ = ("_hash", "cost", "frame", "outer")

    def __init__(self, frame: Frame | None, outer: Thread | None) -> None:
        self.frame = frame
        self.outer = outer
        self._hash = hash((frame, outer))
        self.cost: float | None = None  # found out when it is first asked for

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Thread)
            and self._hash == other._hash
            and self.frame == other.frame
            and self.outer == other.outer
        )

    def within(self, frame: Frame) -> Thread:
        """Put another frame in the place of the innermost one."""
        return Thread(frame, self.outer)


def done(thread: Thread) -> Thread:
    """Leave a value that is complete."""
    return thread.outer if thread.outer is not None else Thread(None, None)


def endings(partial: Partial, regex: Regex) -> Iterator[bytes]:
    """Give the bytes that complete a text, its closing quote included; one way or several.

    The shortest of what may follow the character that has been begun comes after it.
    """
    quote = b'"' if partial.quoted else b""
    if not partial.pending:
        text = least(regex)
        if text is not None:
            yield spell(text, quoted=partial.quoted) + quote
        return
    for rest, after in partial.ways(regex):
        text = least(after)
        if text is not None:
            yield rest + spell(text, quoted=partial.quoted) + quote


def with_pair(frame: InObject) -> InObject:
    """Give the place behind the property that has been named."""
    pair, seen, extras = frame.pair, frame.seen, frame.extras
    if pair is not None and pair.index is not None:
        seen |= 1 << pair.index
    elif pair is not None:
        extras |= {pair.name}
    return InObject(frame.plan, Phase.MEMBER, seen, extras, frame.hits | frame.pair_hits)


def properties(frame: InName) -> Iterator[InObject]:
    """Give the readings of a complete name: what value it calls for."""
    before, name = frame.before, frame.text
    plan = before.plan
    index = plan.index.get(name)
    if index is not None:
        yield replace(before, phase=Phase.NAMED, pair=Pair(index, *plan.names[index]))
        return
    if name in plan.declared:
        return
    for rest, (_, value) in zip(frame.rests, plan.classes, strict=True):
        if rest.nullable:
            pair = Pair(None, name, value)
            yield replace(before, phase=Phase.NAMED, pair=pair, pair_hits=plan.hits_of(name))


def rest_of(partial: Partial, tail: str) -> bytes | None:
    """Give what is left of a name, its quote included; None if it goes on otherwise."""
    if not partial.pending:
        return spell(tail, quoted=True) + b'"'
    rest = partial.rest_of(tail[:1]) if tail else None
    return None if rest is None else rest + spell(tail[1:], quoted=True) + b'"'


def fresh_ends(frame: InName, regex: Regex) -> Iterator[bytes]:
    """Give ends of a name that none of the others has."""
    plan, extras, text = frame.before.plan, frame.before.extras, frame.text
    found = list(endings(frame.partial, regex))
    names = {name_of(frame, end) for end in found}
    if not (plan.declared.isdisjoint(names) and extras.isdisjoint(names)):
        others = {*plan.beginning(text), *(name for name in extras if name.startswith(text))}
        tails = [literal(name[len(text) :]) for name in sorted(others)]
        found = list(endings(frame.partial, both(regex, inverse(either(*tails)))))
    yield from found


def name_of(frame: InName, rest: bytes) -> str:
    """Read the whole name back from what completes it."""
    text, partial = frame.text, frame.partial
    for byte in rest[:-1]:
        read = partial.read(byte)
        if read is None:
            break  # no end of a name is like that
        partial = read[0]
        text += read[1] or ""
    return text
