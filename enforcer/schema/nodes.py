"""The normal form of a schema: for each JSON type, the values that are allowed.

Owns: the immutable nodes that the compiler produces and the engines read. A child
value is named by an integer; what the integer stands for is in
`ArgumentGrammar.definitions`, so recursion needs no cycle of objects. Must not
know: schemas and their keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NewType

from enforcer.numbers.sets import REALS
from enforcer.regex import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.errors import Problem
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex

# A Boolean combination of values, known to one algebra; in a finished grammar, the name of one.
Formula = NewType("Formula", int)
NEVER = Formula(0)  # the value grammar that nothing fits
ALWAYS = Formula(1)  # the value grammar that everything fits


@dataclass(frozen=True, slots=True)
class Contains:
    """At least `minimum` and at most `maximum` elements from index `start` fit `value`."""

    value: Formula
    start: int
    minimum: int
    maximum: int | None
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class ElementChoice:
    """One way to fill an element, and what it counts for.

    Attributes:
        value: value grammar of the element.
        counted: indices into `ArrayShape.contains`.
        distinct: which value of a finite domain this is, where elements are unique.

    """

    value: Formula
    counted: tuple[int, ...] = ()
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Arrays: element `i` fits `prefix[i]`, those behind it fit `rest`.

    Attributes:
        prefix: value grammars of the first elements.
        rest: value grammar of all further elements.
        minimum: least number of elements.
        maximum: greatest number of elements; None where there is none.
        contains: elements that must or must not occur.
        unique: whether no two elements are equal.
        repeated: whether some two elements are equal.
        choices: for each element of the prefix and for the rest, the ways to fill it;
            empty where nothing has to be counted. A finished grammar has choices
            wherever `contains` or `unique` constrain it, and is never `repeated`; where it is
            unique without any, `finishing.distinct` says how its elements are kept so.
        path: where in the schema this comes from.

    """

    prefix: tuple[Formula, ...] = ()
    rest: Formula = ALWAYS
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    repeated: bool = False
    choices: tuple[tuple[ElementChoice, ...], ...] = ()
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """At least one property has a name in `names` and a value that fits `value`."""

    names: Regex
    value: Formula
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """Undeclared properties that count as the witnesses in `hits`.

    Attributes:
        names: the language of their names.
        value: value grammar of the property when it counts.
        hits: indices into `ObjectShape.witnesses`.

    """

    names: Regex
    value: Formula
    hits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Objects: the property `n` fits `names[n]`, any other the class that its name is in.

    Attributes:
        names: declared names and their value grammars; `NEVER` forbids a name.
        classes: disjoint string languages that together hold every name, and the value
            grammar of undeclared names in each.
        required: declared names that must be present.
        some: sets of declared names; at least one of each must be present.
        minimum: least number of properties.
        maximum: greatest number of properties; None where there is none.
        witnesses: properties that must occur.
        marks: the properties that count as witnesses; filled in a finished grammar.
        distinct_names: whether no name may be written twice, since a repeated one would count
            for what it no longer says; true in a finished grammar only, where
            `finishing.distinct` says how that is kept.
        path: where in the schema this comes from.

    """

    names: tuple[tuple[str, Formula], ...] = ()
    classes: tuple[tuple[Regex, Formula], ...] = ((ANY, ALWAYS),)
    required: frozenset[str] = frozenset()
    some: frozenset[frozenset[str]] = frozenset()
    minimum: int = 0
    maximum: int | None = None
    witnesses: tuple[Witness, ...] = ()
    marks: tuple[Mark, ...] = ()
    distinct_names: bool = False
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Value:
    """The union of the values allowed of each JSON type.

    Attributes:
        null: whether `null` is allowed.
        booleans: the booleans allowed.
        numbers: sets of numbers, their union allowed.
        strings: the string language allowed; None for no string.
        arrays: shapes of arrays, their union allowed.
        objects: shapes of objects, their union allowed.
        cells: for a name and a value grammar that shapes have for it, disjoint value grammars
            that make it up, the same for all of one name; filled in a finished grammar where
            many shapes differ by them.

    """

    null: bool = False
    booleans: frozenset[bool] = frozenset()
    numbers: tuple[NumberSet, ...] = ()
    strings: Regex | None = None
    arrays: tuple[ArrayShape, ...] = ()
    objects: tuple[ObjectShape, ...] = ()
    cells: tuple[tuple[tuple[str, Formula], tuple[Formula, ...]], ...] = ()


def mentioned(value: Value) -> Iterator[Formula]:
    """Yield every value grammar that a value's shapes mention, constraints included."""
    for array in value.arrays:
        yield from array.prefix
        yield array.rest
        yield from (each.value for each in array.contains)
    for shape in value.objects:
        yield from (child for _, child in shape.names)
        yield from (child for _, child in shape.classes)
        yield from (each.value for each in shape.witnesses)


NOTHING_AT_ALL = Value()
ANYTHING = Value(
    null=True,
    booleans=frozenset({False, True}),
    numbers=(REALS,),
    strings=ANY,
    arrays=(ArrayShape(),),
    objects=(ObjectShape(),),
)
ANY_OBJECT = Value(objects=(ObjectShape(),))


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentGrammar:
    """A compiled schema, ready for any engine.

    Attributes:
        definitions: what each integer stands for; every child occurs as a key.
        root: the integer of the whole value.
        relaxed: what is not enforced, in relax mode; empty if enforcement is exact.
        key: identity for caches: equal keys mean equal grammars within a process.
        schema: what it was compiled from; for formats in which a value's type is declared there
            and nowhere else.

    """

    definitions: Mapping[Formula, Value]
    root: Formula
    relaxed: tuple[Problem, ...]
    key: str
    schema: object = True


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two maxima, None being no maximum."""
    return b if a is None else a if b is None else min(a, b)
