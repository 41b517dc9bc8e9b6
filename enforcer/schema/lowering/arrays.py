"""Lowering of array shapes: `contains` and `uniqueItems` become choices that a few bits can track.

Unique elements of larger domains are left to `distinct`. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.numbers.sets import candidates, single
from enforcer.regex import literal
from enforcer.schema.grammar import NEVER, ArrayShape, ElementChoice, Value
from enforcer.schema.lowering.counting import tallies_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula

_MOST_COUNTED = 6  # `contains` counted together in one array
_MOST_MEMBERS = 60  # each is a bit of a word in the machine
_TWO = 2  # elements that can be equal


class ArrayLowering:
    """Lowers array shapes; for the arguments see `values.Lowering`."""

    def __init__(self, algebra: Algebra, refuse: Callable[[str, str, str], None]) -> None:
        self._algebra = algebra
        self._refuse = refuse

    def lower(self, array: ArrayShape) -> ArrayShape:
        """Return the lowered shape; constraints that cannot be kept are refused and left out."""
        if array.repeated:
            reason = "repeated elements cannot be demanded (`not` around `uniqueItems`); drop `not`"
            self._refuse(array.path, "uniqueItems", reason)
            array = replace(array, repeated=False)
        if array.unique and array.maximum is not None and array.maximum < _TWO:
            array = replace(array, unique=False)
        if array.unique and array.contains:
            reason = (
                "`uniqueItems` cannot be combined with counted elements (`contains`, or a `oneOf` "
                "whose branches differ by counts); drop one of the two"
            )
            self._refuse(f"{array.path}.uniqueItems", "uniqueItems", reason)
            array = replace(array, unique=False)
        if array.unique:
            return self._unique(array)
        return self._containing(array) if array.contains else array

    def _containing(self, array: ArrayShape) -> ArrayShape:
        if len(array.contains) > _MOST_COUNTED:
            reason = f"more than {_MOST_COUNTED} `contains` on one array"
            self._refuse(array.path, "contains", reason)
            array = replace(array, contains=array.contains[:_MOST_COUNTED])
        length = max(len(array.prefix), *(each.start for each in array.contains))
        prefix = tuple(array.child(i) for i in range(length))
        slots = (ElementChoice(slot) for slot in (*prefix, array.rest))
        counted = replace(
            array,
            prefix=prefix,
            contains=tuple(replace(each, value=NEVER, start=0) for each in array.contains),
            choices=tuple(tuple(self._counted(array, slot, i)) for i, slot in enumerate(slots)),
        )
        try:
            tallies_of(counted)
        except UnsupportedSchema as error:
            for problem in error.problems:
                self._refuse(problem.path, problem.keyword, problem.reason)
            return replace(array, contains=())
        return counted

    def _counted(self, array: ArrayShape, choice: ElementChoice, index: int) -> list[ElementChoice]:
        """Return the ways to fill an element, split by the `contains` that it counts for."""
        algebra, ways = self._algebra, [choice]
        for i, each in enumerate(array.contains):
            if index < each.start:
                continue
            split = []
            for way in ways:
                hit = algebra.conj((way.value, each.value))
                if not algebra.is_empty(hit):
                    split.append(replace(way, value=hit, counted=(*way.counted, i)))
                # Without an upper bound, an element that fits need not be counted.
                miss = way.value
                if each.maximum is not None:
                    miss = algebra.conj((miss, algebra.neg(each.value)))
                if not algebra.is_empty(miss):
                    split.append(replace(way, value=miss))
            ways = split
        return ways

    def _unique(self, array: ArrayShape) -> ArrayShape:
        """Return the shape with the members of a small domain as choices, kept unique by bits."""
        normal = self._algebra.normal
        if all(normal(each) == normal(array.rest) for each in array.prefix):
            array = replace(array, prefix=())
        members = None if array.prefix else self._members(array.rest)
        if members is None or len(members) > _MOST_MEMBERS:
            return array
        choices = tuple(ElementChoice(x, distinct=i) for i, x in enumerate(members))
        maximum = len(members) if array.maximum is None else min(len(members), array.maximum)
        return replace(array, maximum=maximum, choices=(choices,))

    def _members(self, formula: Formula) -> tuple[Formula, ...] | None:
        """Return the members of a domain of scalars, each as a formula; None if one kind has many.

        All kinds together may be more than `_MOST_MEMBERS`.
        """
        algebra, limit = self._algebra, _MOST_MEMBERS
        value = algebra.normal(formula)
        if value.arrays or value.objects:
            return None
        out = [Value(null=True)] if value.null else []
        out.extend(Value(booleans=frozenset({each})) for each in sorted(value.booleans))
        plain: dict[Fraction, bool] = {}  # a number is one member, in however many sets it is
        for numbers in value.numbers:
            listed = candidates(numbers, limit + 1)
            if listed is None:
                return None
            for each in listed:
                plain[each] = plain.get(each, True) and numbers.plain
        out.extend(
            Value(numbers=(replace(single(each), plain=only_digits),))
            for each, only_digits in plain.items()
        )
        if value.strings is not None:
            texts = algebra.members(value.strings, limit)
            if texts is None:
                return None
            out.extend(Value(strings=literal(each)) for each in texts)
        return tuple(dict.fromkeys(algebra.value(each) for each in out))
