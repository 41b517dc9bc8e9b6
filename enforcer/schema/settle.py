"""What an engine cannot count or spell, rewritten so that it can, or refused by its path.

Owns: settling one value: which divisors can be written as text, and the hand-over of its
arrays and objects. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from enforcer.schema.division_text import REASON, can_be_written
from enforcer.schema.settle_arrays import ArraySettler
from enforcer.schema.settle_objects import ObjectSettler

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from enforcer.schema.algebra import Algebra
    from enforcer.schema.limits import Limits
    from enforcer.schema.nodes import ArrayShape, ObjectShape, Value
    from enforcer.schema.numbers import NumberSet

_Shape = TypeVar("_Shape", "ArrayShape", "ObjectShape")


class Settler:
    """Rewrites the shapes of one value after another.

    Args:
        algebra: the arena of the formulas.
        limits: bounds.
        refuse: notes a path, a keyword and a reason; in relax mode the constraint is then
            left out.
        divisors: where each value of `multipleOf` stands in the schema.

    """

    def __init__(
        self,
        algebra: Algebra,
        limits: Limits,
        refuse: Callable[[str, str, str], None],
        divisors: Mapping[Fraction, str],
    ) -> None:
        self._arrays = ArraySettler(algebra, refuse)
        self._objects = ObjectSettler(algebra, limits, refuse)
        self._divisors = divisors
        self._refuse = refuse

    def settle(self, value: Value) -> Value:
        """Return the value with every shape countable and every number writable."""
        if self._divisors and value.numbers:
            numbers = tuple(dict.fromkeys(map(self._divisible, value.numbers)))
            value = replace(value, numbers=numbers)
        arrays = [found for shape in value.arrays for found in self._arrays.settle(shape)]
        objects = [found for shape in value.objects for found in self._objects.settle(shape)]
        return replace(value, arrays=_unlike(arrays), objects=_unlike(objects))

    def _divisible(self, numbers: NumberSet) -> NumberSet:
        if can_be_written(numbers):
            return numbers
        involved = [
            *numbers.not_multiples,
            *(() if numbers.multiple is None else [numbers.multiple]),
        ]
        paths = [
            path
            for divisor, path in self._divisors.items()
            if any((each / divisor).denominator == 1 for each in involved)
        ]
        self._refuse(paths[0] if paths else "$", "multipleOf", REASON)
        whole = numbers.multiple is not None and numbers.multiple.denominator == 1
        return replace(
            numbers,
            multiple=Fraction(1) if whole else None,
            not_multiples=numbers.not_multiples & {Fraction(1)},
        )


def _unlike(shapes: Sequence[_Shape]) -> tuple[_Shape, ...]:
    return tuple(dict.fromkeys(shapes)) if len(shapes) > 1 else tuple(shapes)
