"""A finished grammar: what the compiler gives, and engines, budgets and explanations read.

Owns: the immutable values that are left of a schema, each for every JSON type what is allowed of
it, so that an engine can count and complete it. A child is a number; what it stands for is in
`ArgumentGrammar.definitions`, so recursion needs no cycle of objects. Must not know: schemas and
their keywords, how values were worked out (`algebra` has shapes of its own), engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, NewType, TypeVar, cast

from enforcer.regex import fullmatch
from enforcer.schema.algebra.shapes import NEVER as NO_FORMULA
from enforcer.schema.algebra.shapes import Formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from enforcer.errors import Problem
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex

    _Keyed = TypeVar("_Keyed", str, Regex)

# The number of a value: the formula that it was made of, of equal values the first one. So who
# asks where a value comes from has a formula; but no formula is a number before it is lowered.
ValueId = NewType("ValueId", Formula)
NEVER = ValueId(NO_FORMULA)  # the value that nothing fits


def as_value_ids(
    children: tuple[tuple[_Keyed, Formula], ...],
) -> tuple[tuple[_Keyed, ValueId], ...]:
    """Take formulas for the numbers of the values that they will be; `unfolding` keeps to it."""
    return cast("tuple[tuple[_Keyed, ValueId], ...]", children)


def fresh(definitions: Mapping[ValueId, Value]) -> ValueId:
    """Give a number that stands for nothing yet."""
    return ValueId(Formula(max(definitions) + 1))


@dataclass(frozen=True, slots=True)
class Count:
    """How many elements have to be of a kind; which are, `ElementChoice.counted` says."""

    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class ElementChoice:
    """One way to fill an element, and what it counts for.

    Attributes:
        value: what the element is.
        counted: indices into `ArrayShape.contains`.
        distinct: which value of a finite domain this is, where elements are unique.

    """

    value: ValueId
    counted: tuple[int, ...] = ()
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Arrays: element `i` fits `prefix[i]`, those behind it fit `rest`.

    Attributes:
        prefix: values of the first elements.
        rest: value of all further elements.
        minimum: least number of elements.
        maximum: greatest number of elements; None where there is none.
        contains: what is counted.
        unique: whether no two elements are equal.
        choices: for each element of the prefix and for the rest, the ways to fill it, where
            `contains` or `unique` constrain it; else empty. Where elements are unique without
            choices, `finishing.distinct` says how they are kept so.
        path: where in the schema this comes from.

    """

    prefix: tuple[ValueId, ...]
    rest: ValueId
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Count, ...] = ()
    unique: bool = False
    choices: tuple[tuple[ElementChoice, ...], ...] = ()
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """Some undeclared property must be there, one of those that `Mark.hits` says.

    Attributes:
        path: where in the schema this comes from.

    """

    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """Undeclared properties that count as the witnesses in `hits`.

    Attributes:
        names: the language of their names.
        value: what the property is when it counts.
        hits: indices into `ObjectShape.witnesses`.

    """

    names: Regex
    value: ValueId
    hits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Objects: the property `n` fits `names[n]`, any other the class that its name is in.

    Attributes:
        names: declared names and their values; `NEVER` forbids a name.
        classes: disjoint string languages that together hold every name, and the value of
            undeclared names in each.
        required: declared names that must be present.
        some: sets of declared names; at least one of each must be present.
        minimum: least number of properties.
        maximum: greatest number of properties; None where there is none.
        witnesses: undeclared properties that must occur.
        marks: the properties that count as witnesses.
        distinct_names: whether no name may be written twice, since a repeated one would count
            for what it no longer says; `finishing.distinct` says how that is kept.
        path: where in the schema this comes from.

    """

    names: tuple[tuple[str, ValueId], ...]
    classes: tuple[tuple[Regex, ValueId], ...]
    required: frozenset[str] = frozenset()
    some: frozenset[frozenset[str]] = frozenset()
    minimum: int = 0
    maximum: int | None = None
    witnesses: tuple[Witness, ...] = ()
    marks: tuple[Mark, ...] = ()
    distinct_names: bool = False
    path: str = field(default="$", compare=False)

    def child(self, name: str) -> ValueId:
        """Give the value of a property of that name."""
        for declared, value in self.names:
            if declared == name:
                return value
        if len(self.classes) == 1:
            return self.classes[0][1]
        return next((value for names, value in self.classes if fullmatch(names, name)), NEVER)


class Value(NamedTuple):  # made, compared and hashed all the time: a tuple does that in C
    """The union of the values allowed of each JSON type.

    Attributes:
        null: whether `null` is allowed.
        booleans: the booleans allowed.
        numbers: sets of numbers, their union allowed.
        strings: the string language allowed; None for no string.
        arrays: shapes of arrays, their union allowed.
        objects: shapes of objects, their union allowed.

    """

    null: bool = False
    booleans: frozenset[bool] = frozenset()
    numbers: tuple[NumberSet, ...] = ()
    strings: Regex | None = None
    arrays: tuple[ArrayShape, ...] = ()
    objects: tuple[ObjectShape, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Null and the booleans as JSON has them."""
        null = ("null",) if self.null else ()
        return (*null, *("true" if each else "false" for each in sorted(self.booleans)))

    def children(self) -> Iterator[ValueId]:
        """Yield every value that has to be defined for this one."""
        for array in self.arrays:
            yield from array.prefix
            yield array.rest
            for choices in array.choices:
                for choice in choices:
                    yield choice.value
        for shape in self.objects:
            for _, child in shape.names:
                yield child
            for _, child in shape.classes:
                yield child
            for mark in shape.marks:
                yield mark.value

    @property
    def is_scalar(self) -> bool:
        """Whether it is no array and no object, and so has no children."""
        return not (self.arrays or self.objects)

    def renamed(self, of: Callable[[ValueId], ValueId]) -> Value:
        """Give the value with other children."""
        if not (self.arrays or self.objects):
            return self
        return self._replace(
            arrays=tuple(
                replace(
                    array,
                    prefix=tuple(map(of, array.prefix)),
                    rest=of(array.rest),
                    choices=tuple(
                        tuple(replace(x, value=of(x.value)) for x in choices)
                        for choices in array.choices
                    ),
                )
                for array in self.arrays
            ),
            objects=tuple(
                replace(
                    shape,
                    names=tuple((name, of(child)) for name, child in shape.names),
                    classes=tuple((names, of(child)) for names, child in shape.classes),
                    marks=tuple(replace(mark, value=of(mark.value)) for mark in shape.marks),
                )
                for shape in self.objects
            ),
        )


NOTHING = Value()  # what `NEVER` is the number of


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentGrammar:
    """A compiled schema, ready for any engine.

    Attributes:
        definitions: what each number stands for; every child occurs as a key.
        root: the number of the whole value.
        relaxed: what is not enforced, in relax mode; empty if enforcement is exact.
        schema: what it was compiled from; for formats in which a value's type is declared there
            and nowhere else.

    """

    definitions: Mapping[ValueId, Value]
    root: ValueId
    relaxed: tuple[Problem, ...]
    schema: object = True
