"""Lowering of one value: constraints that no engine can count or spell are rewritten or refused.

Numbers are lowered here: a divisor whose multiples are no bearable language of texts is refused.
`arrays` and `objects` lower the rest. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from enforcer.numbers.languages import MOST_LISTED, number_texts
from enforcer.numbers.multiples import (
    MOST_REMAINDERS,
    MOST_TOGETHER,
    NotSpellableError,
    without_places,
)
from enforcer.regex import NOTHING
from enforcer.schema.grammar import NEVER, Value
from enforcer.schema.lowering.arrays import ArrayLowering
from enforcer.schema.lowering.objects import ObjectLowering

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.numbers.sets import NumberSet
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Limits

_MOST_NAMED = 20  # digits of a divisor that a message has room for
_UNWRITTEN = (
    "no number within the bounds can be written with 49 digits before the point, 40 behind it, or "
    "an exponent from -300 to 300 (integers: to 99); choose bounds that doubles are well within"
)


class Lowering:
    """Lowers values of one algebra.

    Args:
        algebra: the arena of the formulas.
        limits: bounds.
        refuse: called with the formula, a path, a keyword and a reason where a constraint cannot
            be kept; the constraint is then left out.

    """

    def __init__(
        self, algebra: Algebra, limits: Limits, refuse: Callable[[Formula, str, str, str], None]
    ) -> None:
        self._arrays = ArrayLowering(algebra, self._refuse)
        self._objects = ObjectLowering(algebra, limits, self._refuse)
        self._algebra = algebra
        self._note = refuse
        self._current: Formula = NEVER

    def _refuse(self, path: str, keyword: str, reason: str) -> None:
        self._note(self._current, path, keyword, reason)

    def lower(self, formula: Formula) -> Value:
        """Return the value of a formula, with every shape countable and every number writable."""
        self._current = formula
        value = self._algebra.normal(formula)
        numbers, strings = value.numbers, value.strings
        if numbers:
            numbers = self._with_texts(tuple(dict.fromkeys(map(self._divisible, numbers))))
        if not (value.arrays or value.objects):
            return Value(value.null, value.booleans, numbers, strings)
        arrays = map(self._arrays.lower, value.arrays)
        objects = (found for shape in value.objects for found in self._objects.lower(shape))
        return Value(
            value.null,
            value.booleans,
            numbers,
            strings,
            tuple(dict.fromkeys(arrays)),
            tuple(dict.fromkeys(objects)),
        )

    def _with_texts(self, sets: tuple[NumberSet, ...]) -> tuple[NumberSet, ...]:
        """Leave out sets without a text; if none has one, refuse them and leave out the bounds."""
        written = tuple(each for each in sets if number_texts(each) != NOTHING)
        if written:
            return written
        self._refuse("$", _bound(sets[0]), _UNWRITTEN)
        free = (replace(x, low=None, low_open=False, high=None, high_open=False) for x in sets)
        return tuple(dict.fromkeys(free))

    def _divisible(self, numbers: NumberSet) -> NumberSet:
        try:
            if not {numbers.multiple, *numbers.not_multiples} <= {None, 1}:
                number_texts(numbers)
        except NotSpellableError:
            self._refuse("$.multipleOf", "multipleOf", why_unwritable(numbers))
        else:
            return numbers
        whole = numbers.multiple is not None and numbers.multiple.denominator == 1
        return replace(
            numbers,
            multiple=Fraction(1) if whole else None,
            not_multiples=numbers.not_multiples & {Fraction(1)},
        )


def _bound(numbers: NumberSet) -> str:
    """Return the keyword of the bound that is out of reach."""
    if numbers.low is not None and (numbers.low > 0 or numbers.high is None):
        return "exclusiveMinimum" if numbers.low_open else "minimum"
    return "exclusiveMaximum" if numbers.high_open else "maximum"


def why_unwritable(numbers: NumberSet) -> str:
    """Return why a set of numbers cannot be spelled, and which divisors could be."""
    negated = sorted(numbers.not_multiples - {1})
    positive = [] if numbers.multiple is None or numbers.multiple == 1 else [numbers.multiple]
    divisors = [*positive, *negated] or [Fraction(1)]
    named = " and ".join(", ".join(map(_named, divisors)).rsplit(", ", 1))
    if any(each.denominator != 1 for each in divisors):
        cannot = f"the divisor {named} cannot be enforced here"
        can = "with places one must be simpler, as 0.25 and 0.001 are"
    elif len(divisors) > 1:
        cannot = f"the divisors {named} cannot be enforced together"
        can = f"several may have a least common multiple of up to {MOST_TOGETHER}"
    elif negated:
        cannot = f"the divisor {named} cannot be enforced negated"
        can = f"a negated one may be up to {MOST_TOGETHER}"
    else:
        cannot = f"the divisor {named} is too large"
        can = f"one may be up to {MOST_REMAINDERS:,}, and have zeros behind that"
    listed = "list the values in an `enum`"
    if numbers.multiple is not None:
        listed = f"let the bounds leave at most {MOST_LISTED} values, or {listed}"
    return f"{cannot}: {can}; else {listed}"


def _named(divisor: Fraction) -> str:
    number, places = without_places(divisor)
    text = str(number).rjust(places + 1, "0")
    if len(text) > _MOST_NAMED:
        return f"of {len(text)} digits"
    return f"{text[:-places]}.{text[-places:]}" if places else text
