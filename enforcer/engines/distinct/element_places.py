"""Places in a text with unique arrays, whatever their elements are.

A place knows its *rivals*: for each unique array around it, the elements that the one being written
may still turn out to repeat, each reduced to its part at this place. Mostly there are none, and
nothing has to be asked. The rivals of a place may be too many, never too few.

Owns: the objects and arrays around a place, what has been read of them, and their rivals. All are
immutable, but for what is worked out when it is asked for. Must not know: shapes, ids.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from enforcer.engines.distinct.number_index import NumberIndex
from enforcer.engines.distinct.persistent_text import EMPTY
from enforcer.engines.distinct.values import Object
from enforcer.partial import Partial
from enforcer.schema.finishing.ways import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.budget.frames import Thread
    from enforcer.engines.distinct.seen_elements import SeenElements
    from enforcer.engines.distinct.values import Json

    # For each unique array around, the outermost first.
    Rivals = tuple[Sequence[Json] | NumberIndex | SeenElements, ...]
    Items = tuple["Items", str | int, Json] | None  # the last one first

FRESH = Partial()


class TextKind(Enum):
    """What kind of text a place is in, where it is in one."""

    NAME = "the name of a property"
    STRING = "a string that is part of an element"
    BARE = "a number or a word that is part of an element"
    OTHER = "a string that is part of none"


class Level:
    """An object or array that has been opened.

    Attributes:
        outer: what it stands in.
        track: by which it has been reached.
        is_array: whether it is one.
        used: its elements, if they have to differ.
        element: whether it is part of an element, or one, so that its value is wanted.
        rivals: what it may turn out to be, by the arrays around it.
        items: its properties or elements so far, where its value is wanted.
        index: the number of its elements.
        name: the name of the property whose value is to come.
        child: the track of that value.
        depth: the number of levels around it.

    """

    __slots__ = (
        *("child", "depth", "element", "index", "is_array", "items", "name", "outer"),
        *("_numbers", "_parts", "rivals", "track", "used"),
    )

    def __init__(
        self,
        outer: Level | None,
        track: int,
        *,
        is_array: bool,
        used: SeenElements | None = None,
        rivals: Rivals = (),
    ) -> None:
        self.outer = outer
        self.track = track
        self.is_array = is_array
        self.used = used
        self.element = outer is not None and outer.keeps
        self.rivals = rivals
        self.items: Items = None
        self.index = 0
        self.name: str | None = None
        self.child = NOWHERE
        self.depth: int = 0 if outer is None else outer.depth + 1
        self._parts: Rivals | None = None
        self._numbers: tuple[NumberIndex, ...] | None = None

    @property
    def keeps(self) -> bool:
        """Whether the values in it are wanted."""
        return self.element or self.used is not None

    def _again(self) -> Level:
        after = Level.__new__(Level)
        for slot in self.__slots__:
            setattr(after, slot, getattr(self, slot))
        after._parts = after._numbers = None  # noqa: SLF001
        return after

    def named(self, name: str, child: int) -> Level:
        """Stand behind the name of a property."""
        after = self._again()
        after.name, after.child = name, child
        return after

    def after(self, value: Json) -> Level:
        """Stand behind a property's value or an element."""
        after = self._again()
        after.name = None
        key: str | int = self.index if self.name is None else self.name
        if self.used is not None:
            after.used = self.used.with_element(value)
        if not self.element:
            return after
        after.items = (self.items, key, value)
        if any(self.rivals):
            after.rivals = tuple(
                [x for x in each if _part(x, key) == value] for each in self.rivals
            )
        return after

    def after_comma(self) -> Level:
        """Stand before another element or property."""
        after = self._again()
        after.name = None
        after.index += 1
        return after

    def value(self) -> Json:
        """Give the value that it is when it is closed here."""
        return self.elements() if self.is_array else Object(self.members())

    def parts(self) -> Rivals:
        """Give the rivals of what comes next in it: an element, or the value of a property."""
        if self._parts is None:
            key: str | int = self.index if self.name is None else self.name
            found = tuple(
                [part for x in each if (part := _part(x, key)) is not None] if each else each
                for each in self.rivals
            )
            self._parts = found if self.used is None else (*found, self.used)
        return self._parts

    def numbers(self) -> tuple[NumberIndex, ...]:
        """Give those of them that are written without quotes."""
        if self._numbers is None:
            known = self.parts() if self.used is None else self.parts()[:-1]
            self._numbers = tuple(map(NumberIndex.of, known))
        return self._numbers if self.used is None else (*self._numbers, self.used.numbers())

    def members(self) -> dict[str, Json]:
        """Give the properties so far."""
        return {str(key): value for key, value in self._so_far()}

    def elements(self) -> tuple[Json, ...]:
        """Give the elements so far."""
        return tuple(value for _, value in self._so_far())

    def _so_far(self) -> list[tuple[str | int, Json]]:
        found: list[tuple[str | int, Json]] = []
        items = self.items
        while items is not None:
            items, key, value = items
            found.append((key, value))
        return found[::-1]


def _part(value: Json, key: str | int) -> Json | None:
    if isinstance(value, Object):
        return value.members.get(key) if isinstance(key, str) else None
    if isinstance(value, tuple) and isinstance(key, int) and key < len(value):
        return value[key]
    return None


class Spot:
    """A place in a text.

    Attributes:
        level: the innermost object or array around it.
        kind: the text that it is in; None where it is in none.
        rivals: what that text, or else what comes next, may turn out to be.
        written: what has been written of the text; behind a bracket, white space.
        partial: the character of it that has been begun.
        escaped: whether a backslash stands before it, in a text that is not wanted.
        threads: the readings of the element; None where it has no rivals.
        base: depth of the array whose element these read.

    """

    __slots__ = (*("base", "escaped", "kind", "level", "partial", "rivals", "threads", "written"),)

    def __init__(
        self,
        level: Level | None,
        rivals: Rivals = (),
        kind: TextKind | None = None,
        *,
        escaped: bool = False,
    ) -> None:
        self.level = level
        self.kind = kind
        self.rivals = rivals
        self.written = EMPTY
        self.partial = FRESH
        self.escaped = escaped
        self.threads: tuple[Thread, ...] | None = None
        self.base = 0

    @property
    def contested(self) -> bool:
        """Whether what is being written may turn out to be what is there already."""
        return any(self.rivals)

    def add(self, chunk: str, partial: Partial, rivals: Rivals) -> Spot:
        """Go on within the text."""
        after = Spot(self.level, rivals, self.kind)
        after.written = self.written.add(chunk) if chunk else self.written
        after.partial = partial
        after.threads, after.base = self.threads, self.base
        return after

    def text(self) -> str:
        """Give the characters so far; takes as long as they are."""
        return self.written.whole()


def strings_among(rivals: Rivals) -> Rivals:
    """Leave those that are strings."""
    return tuple([x for x in each if isinstance(x, str)] for each in rivals)


def going_on(rivals: Rivals, at: int, chunk: Iterable[str]) -> Rivals:
    """Leave the strings that have these characters at a place."""
    text = "".join(chunk)
    return tuple([x for x in each if x.startswith(text, at)] if each else each for each in rivals)  # type: ignore[union-attr]
