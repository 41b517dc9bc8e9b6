"""Where names and indices lead in a finished grammar, whichever alternatives a text has taken.

Owns: the ways, found by a powerset construction (Rabin, Scott 1959): a way stands for all values
that one path of names and indices may lead to. Must not know: what is wanted of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from enforcer.schema.grammar import ArrayShape, ObjectShape, Value, ValueId

NOWHERE = 0  # the way to values of which nothing is wanted
ROOT = 1  # the way to the whole text


class TooManyWays(Exception):  # noqa: N818 - told to who asked, never leaves the compiler
    """There are more ways than the limit."""


@dataclass(frozen=True, slots=True)
class Leads:
    """Where the parts of a value lead, as numbers of ways.

    Attributes:
        prefix: the first elements of an array.
        rest: all further elements.
        names: the declared properties.
        others: all other properties.

    """

    prefix: tuple[int, ...] = ()
    rest: int = NOWHERE
    names: Mapping[str, int] = field(default_factory=dict)
    others: int = NOWHERE

    def at(self, index: int) -> int:
        """Give where the element at an index of an array leads."""
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def under(self, name: str) -> int:
        """Give where the property of a name leads."""
        return self.names.get(name, self.others)

    @property
    def every(self) -> tuple[int, ...]:
        """All of them."""
        return (*self.prefix, self.rest, self.others, *self.names.values())

    def among(self, ways: Container[int]) -> Leads:
        """Lead nowhere instead of to any other way than these."""

        def kept(way: int) -> int:
            return way if way in ways else NOWHERE

        names = {name: kept(way) for name, way in self.names.items()}
        return Leads(tuple(map(kept, self.prefix)), kept(self.rest), names, kept(self.others))

    def to_json(self) -> list[Any]:
        """Give it as JSON's values."""
        return [self.prefix, self.rest, self.names, self.others]

    @classmethod
    def from_json(cls, found: Sequence[Any]) -> Leads:
        """Read what `to_json` has given."""
        prefix, rest, names, others = found
        return cls(tuple(prefix), rest, names, others)


@dataclass(frozen=True, slots=True)
class Way:
    """Values that one path leads to, and where it goes on.

    Attributes:
        ids: the numbers of the values.
        values: the values, in the order of their numbers.
        leads: where it goes on.

    """

    ids: frozenset[ValueId] = frozenset()
    values: tuple[Value, ...] = ()
    leads: Leads = field(default_factory=Leads)

    @property
    def objects(self) -> list[ObjectShape]:
        """The objects that may stand there."""
        return [shape for value in self.values for shape in value.objects]


def ways(definitions: Mapping[ValueId, Value], root: ValueId, most: int) -> list[Way]:
    """Follow all ways from the root.

    Args:
        definitions: of a finished grammar.
        root: the number of the whole value.
        most: how many ways there may be.

    Returns:
        The ways; `NOWHERE` and `ROOT` are indices of them.

    Raises:
        TooManyWays: there are more.

    """
    numbers: dict[frozenset[ValueId], int] = {}
    order: list[frozenset[ValueId]] = []

    def number(values: Iterable[ValueId]) -> int:
        key = frozenset(x for x in values if x != NEVER and x in definitions)
        if not key:
            return NOWHERE
        if key not in numbers:
            if len(order) > most:
                raise TooManyWays(most)
            order.append(key)
            numbers[key] = len(order)
        return numbers[key]

    number((root,))
    found = [Way()]
    # More are numbered while those that are known are looked at.
    found.extend(_way(key, tuple(definitions[x] for x in sorted(key)), number) for key in order)
    return found


def leading(found: list[Way], wanted: Iterable[int]) -> set[int]:
    """List the ways that lead to some of them, these included."""
    before: dict[int, set[int]] = {}
    for number, way in enumerate(found):
        for to in way.leads.every:
            before.setdefault(to, set()).add(number)
    reached = dict.fromkeys(wanted)
    queue = list(reached)
    for number in queue:
        fresh = [each for each in before.get(number, ()) if each not in reached]
        reached.update(dict.fromkeys(fresh))
        queue.extend(fresh)
    return set(reached)


def _way(
    ids: frozenset[ValueId],
    values: tuple[Value, ...],
    of: Callable[[Iterable[ValueId]], int],
) -> Way:
    arrays = [shape for value in values for shape in value.arrays]
    long = [x for x in arrays if x.maximum is None or x.maximum > 1]
    length = max((len(x.choices) - 1 if x.choices else len(x.prefix) for x in long), default=0)
    at = [of(x for shape in arrays for x in _elements(shape, i)) for i in range(length + 1)]
    here = Way(ids, values)
    objects = here.objects
    names = sorted({name for shape in objects for name, _ in shape.names})
    declared = {name: of(shape.child(name) for shape in objects) for name in names}
    return Way(ids, values, Leads(tuple(at[:-1]), at[-1], declared, of(others_of(objects))))


def _elements(shape: ArrayShape, index: int) -> Iterable[ValueId]:
    if shape.choices:
        return (choice.value for choice in shape.choices[min(index, len(shape.choices) - 1)])
    return (shape.prefix[index] if index < len(shape.prefix) else shape.rest,)


def others_of(objects: Iterable[ObjectShape]) -> Iterator[ValueId]:
    """List what the values of properties may be that none of several objects declares."""
    for shape in objects:
        yield from (value for _, value in shape.classes)
        yield from (mark.value for mark in shape.marks)
