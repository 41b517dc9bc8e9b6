"""Constraints across the elements of one array, made countable or refused.

Owns: turning `contains` and `uniqueItems` into choices that an engine can count with a few
bits; where they are more than bits can tell apart, they are left to `distinct`. Must not know:
keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.numbers.sets import candidates, single
from enforcer.regex import literal
from enforcer.schema.finishing.counting import tallies_of
from enforcer.schema.grammar import NEVER, ArrayShape, ElementChoice, Value

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula

_MOST_COUNTED = 6  # `contains` counted together in one array
_MOST_MEMBERS = 60  # each is a bit of a word in the machine
_MOST_APART = 8  # elements that are told apart one by one
_MOST_SHAPES_APART = 400
_TWO = 2  # elements that can be equal
_Choices = tuple[tuple[ElementChoice, ...], ...]


class ArrayLowering:
    """Rewrites one array shape after another; for its arguments, see `lowering.Lowering`."""

    def __init__(self, algebra: Algebra, refuse: Callable[[str, str, str], None]) -> None:
        self._algebra = algebra
        self._refuse = refuse

    def lower(self, array: ArrayShape) -> list[ArrayShape]:
        """Return shapes that can be counted, of which any array fits one if it fits this."""
        if not (array.contains or array.unique or array.repeated):
            return [array]
        return [self._array(part) for part in self._apart(array)]

    def _array(self, array: ArrayShape) -> ArrayShape:
        if array.maximum is not None and array.maximum < _TWO:
            array = replace(array, unique=False)
        array, choices = self._unique(array)
        if len(array.contains) > _MOST_COUNTED:
            self._refuse(
                array.path, "contains", f"more than {_MOST_COUNTED} `contains` on one array"
            )
            array = replace(array, contains=array.contains[:_MOST_COUNTED])
        if not array.contains:
            return replace(array, choices=choices)
        if choices:
            self._refuse(
                f"{array.path}.uniqueItems", "uniqueItems", "cannot be combined with `contains`"
            )
            array = replace(array, unique=False)
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
        """Split a way to fill an element by the `contains` that it counts for."""
        algebra, ways = self._algebra, [choice]
        for i, each in enumerate(array.contains):
            if index < each.start:
                continue
            split = []
            for way in ways:
                hit = algebra.conj((way.value, each.value))
                if not algebra.is_empty(hit):
                    split.append(replace(way, value=hit, counted=(*way.counted, i)))
                # Only an upper bound makes it matter that an element does not fit.
                miss = (
                    way.value
                    if each.maximum is None
                    else algebra.conj((way.value, algebra.neg(each.value)))
                )
                if not algebra.is_empty(miss):
                    split.append(replace(way, value=miss))
            ways = split
        return ways

    def _unique(self, array: ArrayShape) -> tuple[ArrayShape, _Choices]:
        """Give an array that is unique only where that is remembered, or choices keep it so."""
        if array.repeated:
            self._refuse(
                array.path, "uniqueItems", "that elements repeat cannot be enforced; drop `not`"
            )
            array = replace(array, repeated=False)
        if not array.unique or self._surely_distinct(array):
            return replace(array, unique=False), ()
        normal = self._algebra.normal
        alike = all(normal(x) == normal(array.rest) for x in array.prefix)
        members = self._members(array.rest) if alike else None
        if members is None or len(members) > _MOST_MEMBERS:
            if alike and not array.contains:
                return self._remembered(array), ()
            self._refuse(
                f"{array.path}.uniqueItems",
                "uniqueItems",
                "only elements that are all described alike can be kept unique, without "
                f"`contains`, unless they are from one set of at most {_MOST_MEMBERS} values (an "
                "`enum`, booleans, a short range of integers); describe all by `items`, or drop "
                "`uniqueItems`",
            )
            return replace(array, unique=False), ()
        choices = tuple(ElementChoice(x, distinct=i) for i, x in enumerate(members))
        maximum = len(members) if array.maximum is None else min(len(members), array.maximum)
        if maximum < array.minimum:
            return replace(array, prefix=(), rest=NEVER, unique=False), ()
        return replace(array, prefix=(), maximum=maximum), (choices,)

    def _remembered(self, array: ArrayShape) -> ArrayShape:
        """Leave the elements to whoever follows the text, if there are enough of them."""
        value = self._algebra.normal(array.rest)
        few = array.minimum - 1
        strings = value.strings if value == Value(strings=value.strings) else None
        if few > 0 and strings is not None and self._algebra.members(strings, few) is not None:
            return replace(array, prefix=(), rest=NEVER, unique=False)
        return replace(array, prefix=())

    def _apart(self, array: ArrayShape) -> list[ArrayShape]:
        """Split an array of few unique elements until no two of them can be equal."""
        if not array.unique or array.repeated or not array.prefix:
            return [array]
        if array.maximum is None or not _TWO <= array.maximum <= _MOST_APART:
            return [array]
        prefix = tuple(array.child(i) for i in range(array.maximum))
        done: list[ArrayShape] = []
        queue = [replace(array, prefix=prefix, rest=NEVER)]
        for each in queue:
            pivot = self._pivot(each.prefix)
            if pivot is None:
                done.append(each)
                continue
            i, members = pivot
            split = [replace(each, maximum=i, prefix=each.prefix[:i])]
            for member in members:
                others = (self._algebra.conj((x, self._algebra.neg(member))) for x in each.prefix)
                slots = tuple(member if j == i else x for j, x in enumerate(others))
                split.append(replace(each, prefix=slots, minimum=max(each.minimum, i + 1)))
            tidied = (self._algebra.arrays.tidy(x) for x in split)
            queue.extend(x for x in tidied if x is not None)
            self._algebra.spend(len(split))
            if len(queue) > _MOST_SHAPES_APART:
                return [array]
        return done

    def _pivot(self, prefix: tuple[Formula, ...]) -> tuple[int, tuple[Formula, ...]] | None:
        """Choose an element with few values that another one may equal."""
        found: tuple[int, tuple[Formula, ...]] | None = None
        for pair in combinations(range(len(prefix)), 2):
            if self._algebra.is_empty(self._algebra.conj(prefix[i] for i in pair)):
                continue
            for i in pair:
                members = self._members(prefix[i])
                if members and (found is None or len(members) < len(found[1])):
                    found = i, members
        return found

    def _surely_distinct(self, array: ArrayShape) -> bool:
        if array.rest != NEVER and (array.maximum is None or array.maximum > len(array.prefix)):
            return False
        return all(
            self._algebra.is_empty(self._algebra.conj(pair))
            for pair in combinations(array.prefix, 2)
        )

    def _members(self, formula: Formula) -> tuple[Formula, ...] | None:
        """List the values of a finite domain, each as a formula of its own."""
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
