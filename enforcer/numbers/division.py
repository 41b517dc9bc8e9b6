"""Multiples too large for a language of ours, as bounds that an engine's own arithmetic can follow.

Owns: which sets of numbers can be enforced at all, and cutting those that have no spelling of
ours into halves that JSON's numbers describe exactly. Must not know: other types, how values
combine, how an engine is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NoReturn

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.numbers.sets import NumberSet, meet

REASON = (
    "this divisor can be enforced neither negated, nor within such bounds, nor with so many "
    "digits; list the values in an `enum`"
)
_GREATEST_DIVISOR = 1_000  # the lexer has a state for each remainder
_GREATEST_MULTIPLE = 10**15  # keeps the digits bounded, and doubles exact


@dataclass(frozen=True, slots=True)
class Multiples:
    """Multiples of a number on one side of zero, in plain decimals.

    Attributes:
        negative: whether these are the opposites of the numbers that the rest describes.
        multiple: the divisor, above zero.
        whole: whether the divisor is an integer.
        low: the least, zero or more.
        low_open: whether `low` itself is left out.
        high: the greatest.
        high_open: whether `high` itself is left out.

    """

    negative: bool
    multiple: float
    whole: bool
    low: float
    low_open: bool
    high: float
    high_open: bool


def can_be_written(numbers: NumberSet) -> bool:
    """Tell whether a set of numbers has a spelling of ours, or can be divided."""
    try:
        number_texts(numbers)
    except NotSpellableError:
        try:
            divided(numbers)
        except UnsupportedSchema:
            return False
    return True


def divided(numbers: NumberSet) -> tuple[Multiples, ...]:
    """Cut multiples into those from zero up and those from zero down.

    Raises:
        UnsupportedSchema: neither the divisor nor the bounds are such that this is exact.

    """
    multiple = numbers.multiple
    if (
        multiple is None
        or numbers.not_multiples
        or max(multiple.numerator, multiple.denominator) > _GREATEST_DIVISOR
    ):
        _refuse()
    mirrored = replace(
        numbers,
        low=None if numbers.high is None else -numbers.high,
        low_open=numbers.high_open,
        high=None if numbers.low is None else -numbers.low,
        high_open=numbers.low_open,
    )
    parts = []
    for negative, half in ((False, numbers), (True, mirrored)):
        positive = meet(half, NumberSet(low=Fraction(0), high=Fraction(_GREATEST_MULTIPLE)))
        if positive is not None:
            parts.append(_described(positive, multiple, negative=negative))
    return tuple(parts) if parts else _refuse()


def _described(numbers: NumberSet, multiple: Fraction, *, negative: bool) -> Multiples:
    divisor, low, high = map(_json_number, (multiple, numbers.low, numbers.high))
    if divisor is None or low is None or high is None:
        _refuse()
    return Multiples(
        negative,
        divisor,
        multiple.denominator == 1,
        low,
        numbers.low_open,
        high,
        numbers.high_open,
    )


def _refuse() -> NoReturn:
    raise UnsupportedSchema((Problem("$", "multipleOf", REASON),))


def _json_number(value: Fraction | None) -> float | None:
    """Return a number that JSON spells with this very value; None if there is none."""
    if value is None:
        return None
    if value.denominator == 1 and abs(value) < _GREATEST_MULTIPLE * 10:
        return int(value)
    double = float(value)
    return double if Fraction(repr(double)) == value and "e" not in repr(double) else None
