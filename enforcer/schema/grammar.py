"""The IR of a compiled schema: values by JSON type, whose children are numbers.

The algebra combines these immutable shapes; engines, budgets and explanations read them once they
are lowered. A child is a *formula*, a number: in the algebra it names a Boolean combination of
values, in `ArgumentGrammar.definitions` it is the key of a value, so recursion needs no cycle of
objects. Must not know: schemas and their keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, NewType, TypeAlias

from enforcer.numbers.sets import REALS
from enforcer.regex import ANY, fullmatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from enforcer.errors import Problem
    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex

# A Boolean combination of values, known to one algebra.
Formula = NewType("Formula", int)
# A key of `ArgumentGrammar.definitions`: the formula that the value was made of (the first one, if
# several have equal values).
ValueId: TypeAlias = Formula
NEVER = Formula(0)  # nothing fits it
ALWAYS = Formula(1)  # everything fits it; no key of a lowered grammar


def fresh(definitions: Mapping[ValueId, Value]) -> ValueId:
    """Return a key that no definition has."""
    return Formula(max(definitions) + 1)


@dataclass(frozen=True, slots=True)
class Contains:
    """At least `minimum` and at most `maximum` elements from index `start` fit `value`.

    In a lowered grammar `ElementChoice.counted` says which elements count, and `value` is `NEVER`.
    """

    value: Formula
    start: int
    minimum: int
    maximum: int | None
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class ElementChoice:
    """One way to fill an element of an array, and the counters that it increments.

    Attributes:
        value: the element's value.
        counted: indices into `ArrayShape.contains`.
        distinct: the index of the value in its finite domain, where elements are unique.

    """

    value: ValueId
    counted: tuple[int, ...] = ()
    distinct: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """Arrays: element `i` fits `prefix[i]`, all further ones fit `rest`.

    Attributes:
        prefix: values of the first elements.
        rest: value of all further elements.
        minimum: least number of elements.
        maximum: greatest number of elements; None where there is none.
        contains: counts of elements that fit a value.
        unique: whether no two elements are equal.
        repeated: whether some two elements are equal; never in a lowered grammar.
        choices: only in a lowered grammar, where `contains` or `unique` constrain elements: the
            ways to fill each element of the prefix, and the rest; else empty. For unique elements
            without choices see `lowering.distinct`.
        path: `$.`-path of the schema that the shape comes from.

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

    def child(self, index: int) -> Formula:
        """Return the value of the element at an index."""
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def mapped(self, of: Callable[[Formula], Formula]) -> ArrayShape:
        """Return the shape with a function applied to its children."""
        return replace(
            self,
            prefix=tuple(map(of, self.prefix)),
            rest=of(self.rest),
            contains=tuple(replace(each, value=of(each.value)) for each in self.contains),
            choices=tuple(
                tuple(replace(each, value=of(each.value)) for each in choices)
                for choices in self.choices
            ),
        )


@dataclass(frozen=True, slots=True)
class Witness:
    """At least one property has a name in `names` and a value that fits `value`.

    In a lowered grammar it is an undeclared one, and each `Mark` says which properties count.
    """

    names: Regex
    value: Formula
    path: str = field(default="$", compare=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """Undeclared properties that count as a witness.

    Attributes:
        names: the language of their names.
        value: the value that the property must have to count.
        witness: index into `ObjectShape.witnesses`.

    """

    names: Regex
    value: ValueId
    witness: int


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """Objects: the property `n` fits `names[n]`, any other the class that its name is in.

    Attributes:
        names: declared names and their values; `NEVER` forbids a name.
        classes: disjoint string languages that together hold every name, and the value of
            undeclared names in each.
        required: declared names that must be present.
        minimum: least number of properties.
        maximum: greatest number of properties; None where there is none.
        witnesses: properties that must occur.
        marks: only in a lowered grammar: the properties that count as witnesses.
        distinct_names: whether no name may be written twice, since a second one would count
            although it replaces the first; see `lowering.distinct`.
        path: `$.`-path of the schema that the shape comes from.

    """

    names: tuple[tuple[str, Formula], ...] = ()
    classes: tuple[tuple[Regex, Formula], ...] = ((ANY, ALWAYS),)
    required: frozenset[str] = frozenset()
    minimum: int = 0
    maximum: int | None = None
    witnesses: tuple[Witness, ...] = ()
    marks: tuple[Mark, ...] = ()
    distinct_names: bool = False
    path: str = field(default="$", compare=False)

    def child(self, name: str) -> Formula:
        """Return the value of a property of that name."""
        for declared, value in self.names:
            if declared == name:
                return value
        return self.undeclared(name)

    def undeclared(self, name: str) -> Formula:
        """Return the value of a property by its name alone, as if it were not declared."""
        if len(self.classes) == 1:
            return self.classes[0][1]
        return next((value for names, value in self.classes if fullmatch(names, name)), NEVER)

    def mapped(self, of: Callable[[Formula], Formula]) -> ObjectShape:
        """Return the shape with a function applied to its children."""
        return replace(
            self,
            names=tuple((name, of(child)) for name, child in self.names),
            classes=tuple((names, of(child)) for names, child in self.classes),
            witnesses=tuple(replace(each, value=of(each.value)) for each in self.witnesses),
            marks=tuple(replace(each, value=of(each.value)) for each in self.marks),
        )


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
        """The JSON texts of null and the booleans."""
        null = ("null",) if self.null else ()
        return (*null, *("true" if each else "false" for each in sorted(self.booleans)))

    def children(self) -> Iterator[Formula]:
        """Yield every child of the shapes, those of constraints included."""
        for array in self.arrays:
            yield from array.prefix
            yield array.rest
            yield from (each.value for each in array.contains)
            yield from (each.value for choices in array.choices for each in choices)
        for shape in self.objects:
            yield from (child for _, child in shape.names)
            yield from (child for _, child in shape.classes)
            yield from (each.value for each in shape.witnesses)
            yield from (each.value for each in shape.marks)

    @property
    def is_scalar(self) -> bool:
        """Whether the value has no arrays and no objects, and so no children."""
        return not (self.arrays or self.objects)

    def mapped(self, of: Callable[[Formula], Formula]) -> Value:
        """Return the value with a function applied to its children."""
        if self.is_scalar:
            return self
        return self._replace(
            arrays=tuple(array.mapped(of) for array in self.arrays),
            objects=tuple(shape.mapped(of) for shape in self.objects),
        )


NOTHING = Value()  # the value of `NEVER`
OPEN_OBJECT = ObjectShape()  # any object
ANY_OBJECT = Value(objects=(OPEN_OBJECT,))
ANYTHING = Value(
    null=True,
    booleans=frozenset({False, True}),
    numbers=(REALS,),
    strings=ANY,
    arrays=(ArrayShape(),),
    objects=(OPEN_OBJECT,),
)


@dataclass(frozen=True, slots=True, eq=False)
class ArgumentGrammar:
    """A compiled schema, ready for any engine.

    Attributes:
        definitions: values by number; every child occurs as a key.
        root: the number of the whole value.
        relaxed: constraints that are not enforced, in relax mode; empty if enforcement is exact.
        schema: the schema as parsed JSON, for layouts that take a value's type from it.

    """

    definitions: Mapping[ValueId, Value]
    root: ValueId
    relaxed: tuple[Problem, ...]
    schema: object = True
