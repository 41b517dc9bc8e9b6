"""What an engine cannot count or spell, rewritten so that it can, or refused by its path.

Owns: lowering one value: which divisors can be written as text and which strings be followed,
and the hand-over of its arrays and objects. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from enforcer.numbers.division import can_be_written, reason
from enforcer.numbers.languages import has_text
from enforcer.schema.finishing.lowering_arrays import ArrayLowering
from enforcer.schema.finishing.lowering_objects import ObjectLowering
from enforcer.schema.grammar import NEVER, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.numbers.sets import NumberSet
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Limits

_UNWRITTEN = (
    "no number within the bounds can be written with 49 digits before the point, 40 behind it, or "
    "an exponent from -300 to 300 (integers: to 99); choose bounds that doubles are well within"
)


class Lowering:
    """Rewrites the shapes of one value after another.

    Args:
        algebra: the arena of the formulas.
        limits: bounds.
        refuse: notes the formula whose value cannot be kept, a path, a keyword and a reason;
            in relax mode the constraint is then left out.

    """

    def __init__(
        self,
        algebra: Algebra,
        limits: Limits,
        refuse: Callable[[Formula, str, str, str], None],
    ) -> None:
        self._arrays = ArrayLowering(algebra, self._refuse)
        self._objects = ObjectLowering(algebra, limits, self._refuse)
        self._algebra = algebra
        self._note = refuse
        self._current: Formula = NEVER

    def _refuse(self, path: str, keyword: str, reason: str) -> None:
        self._note(self._current, path, keyword, reason)

    def lower(self, formula: Formula) -> Value:
        """Return the value of a formula with every shape countable and every number writable."""
        self._current = formula
        value = self._algebra.normal(formula)
        numbers, strings = value.numbers, value.strings
        if numbers:
            numbers = self._with_texts(tuple(dict.fromkeys(map(self._divisible, numbers))))
        if not (value.arrays or value.objects):
            return Value(value.null, value.booleans, numbers, strings)
        arrays = [self._arrays.lower(shape) for shape in value.arrays]
        objects = [found for shape in value.objects for found in self._objects.lower(shape)]
        return Value(
            value.null,
            value.booleans,
            numbers,
            strings,
            tuple(dict.fromkeys(arrays)),
            tuple(dict.fromkeys(objects)),
        )

    def _with_texts(self, sets: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
        """Leave out sets beyond all numbers that are written; refuse where none is left."""
        written = tuple(each for each in sets if has_text(each))
        if written:
            return written
        self._refuse("$", _bound(sets[0]), _UNWRITTEN)
        return tuple(dict.fromkeys(map(_without_bounds, sets)))

    def _divisible(self, numbers: NumberSet) -> NumberSet:
        if {numbers.multiple, *numbers.not_multiples} <= {None, 1} or can_be_written(numbers):
            return numbers
        self._refuse("$.multipleOf", "multipleOf", reason(numbers))
        whole = numbers.multiple is not None and numbers.multiple.denominator == 1
        return replace(
            numbers,
            multiple=Fraction(1) if whole else None,
            not_multiples=numbers.not_multiples & {Fraction(1)},
        )


def _without_bounds(numbers: NumberSet) -> NumberSet:
    return replace(numbers, low=None, low_open=False, high=None, high_open=False)


def _bound(numbers: NumberSet) -> str:
    """Name the keyword of the bound that is out of reach."""
    if numbers.low is not None and (numbers.low > 0 or numbers.high is None):
        return "exclusiveMinimum" if numbers.low_open else "minimum"
    return "exclusiveMaximum" if numbers.high_open else "maximum"
