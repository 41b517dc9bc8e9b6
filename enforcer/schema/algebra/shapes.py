"""What a formula says of values when it is one: for each JSON type, the values that are allowed.

Owns: the immutable shapes whose children are formulas, and going through these. What is left when
all is worked out has shapes of its own (`grammar`). Must not know: how formulas are kept and
combined, schemas and their keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, NewType

from enforcer.numbers.sets import REALS
from enforcer.regex import ANY, fullmatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.numbers.sets import NumberSet
    from enforcer.regex import Regex

# A Boolean combination of values, known to one algebra.
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
        path: where in the schema this comes from.

    """

    prefix: tuple[Formula, ...] = ()
    rest: Formula = ALWAYS
    minimum: int = 0
    maximum: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    repeated: bool = False
    path: str = field(default="$", compare=False)

    def child(self, index: int) -> Formula:
        """Give what the element at an index fits."""
        return self.prefix[index] if index < len(self.prefix) else self.rest

    def mapped(self, of: Callable[[Formula], Formula]) -> ArrayShape:
        """Give the shape with other children."""
        return replace(
            self,
            prefix=tuple(map(of, self.prefix)),
            rest=of(self.rest),
            contains=tuple(replace(each, value=of(each.value)) for each in self.contains),
        )


@dataclass(frozen=True, slots=True)
class Witness:
    """At least one property has a name in `names` and a value that fits `value`."""

    names: Regex
    value: Formula
    path: str = field(default="$", compare=False)


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
        path: where in the schema this comes from.

    """

    names: tuple[tuple[str, Formula], ...] = ()
    classes: tuple[tuple[Regex, Formula], ...] = ((ANY, ALWAYS),)
    required: frozenset[str] = frozenset()
    some: frozenset[frozenset[str]] = frozenset()
    minimum: int = 0
    maximum: int | None = None
    witnesses: tuple[Witness, ...] = ()
    path: str = field(default="$", compare=False)

    def child(self, name: str) -> Formula:
        """Give what a property of that name fits."""
        for declared, value in self.names:
            if declared == name:
                return value
        return self.undeclared(name)

    def undeclared(self, name: str) -> Formula:
        """Give what a property of that name fits if it is not declared."""
        if len(self.classes) == 1:
            return self.classes[0][1]
        return next((value for names, value in self.classes if fullmatch(names, name)), NEVER)

    def mapped(self, of: Callable[[Formula], Formula]) -> ObjectShape:
        """Give the shape with other children."""
        return replace(
            self,
            names=tuple((name, of(child)) for name, child in self.names),
            classes=tuple((names, of(child)) for names, child in self.classes),
            witnesses=tuple(replace(each, value=of(each.value)) for each in self.witnesses),
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

    def children(self) -> Iterator[Formula]:
        """Yield every formula that the shapes mention, constraints included."""
        for array in self.arrays:
            yield from array.prefix
            yield array.rest
            yield from (each.value for each in array.contains)
        for shape in self.objects:
            yield from (child for _, child in shape.names)
            yield from (child for _, child in shape.classes)
            yield from (each.value for each in shape.witnesses)

    def mapped(self, of: Callable[[Formula], Formula]) -> Value:
        """Give the value with other children."""
        return self._replace(
            arrays=tuple(array.mapped(of) for array in self.arrays),
            objects=tuple(shape.mapped(of) for shape in self.objects),
        )


NOTHING_AT_ALL = Value()
OPEN_OBJECT = ObjectShape()  # any object
ANYTHING = Value(
    null=True,
    booleans=frozenset({False, True}),
    numbers=(REALS,),
    strings=ANY,
    arrays=(ArrayShape(),),
    objects=(OPEN_OBJECT,),
)
ANY_OBJECT = Value(objects=(OPEN_OBJECT,))


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two maxima, None being no maximum."""
    return b if a is None else a if b is None else min(a, b)
