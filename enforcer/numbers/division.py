"""Multiples too large for a language of ours, as bounds that an engine's own arithmetic can follow.

Owns: which sets of numbers can be enforced at all, what is said of the others, and cutting those
that have no spelling of ours into halves that JSON's numbers describe exactly. Must not know:
other types, how values combine, how an engine is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import log10

from enforcer.errors import UnsupportedSchema
from enforcer.numbers.languages import MOST_LISTED, number_texts
from enforcer.numbers.multiples import NotSpellableError, without_places
from enforcer.numbers.remainders import MOST_ENDINGS, MOST_REMAINDERS
from enforcer.numbers.sets import NumberSet, meet

_GREATEST_DIVISOR = 1_000  # the lexer has a state for each remainder
_GREATEST_MULTIPLE = 10**15  # keeps the digits bounded, and doubles exact
_MOST_NAMED = 20  # digits of a divisor that a message has room for


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


def reason(numbers: NumberSet) -> str:
    """Say of a set that cannot be enforced what is too much, and what would not be."""
    negated = sorted(numbers.not_multiples - {1})
    positive = [] if numbers.multiple is None or numbers.multiple == 1 else [numbers.multiple]
    divisors = [*positive, *negated] or [Fraction(1)]
    named = " and ".join(", ".join(map(_named, divisors)).rsplit(", ", 1))
    smooth = f"{MOST_ENDINGS:,} with no odd prime power above {MOST_REMAINDERS}"
    if any(each.denominator != 1 for each in divisors):
        cannot = f"the divisor {named} cannot be enforced here"
        can = "with places one must be simpler, as 0.25 and 0.001 are"
    elif len(divisors) > 1:
        cannot = f"the divisors {named} cannot be enforced together"
        can = f"several may have a least common multiple of up to {smooth}"
    elif negated:
        cannot = f"the divisor {named} cannot be enforced negated"
        can = f"a negated one may be up to {smooth}"
    elif divisors[0] > _GREATEST_DIVISOR:
        cannot = f"the divisor {named} is too large"
        can = f"one may be up to {_GREATEST_DIVISOR:,}, or up to {smooth}"
    else:
        cannot = f"the divisor {named} cannot be enforced within such bounds"
        power = f"10**{log10(_GREATEST_MULTIPLE):.0f}"
        can = f"they may be up to {power} on either side of zero, and numbers that doubles hold"
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
        raise _refused(numbers)
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
    if not parts:
        raise _refused(numbers)
    return tuple(parts)


def _described(numbers: NumberSet, multiple: Fraction, *, negative: bool) -> Multiples:
    divisor, low, high = map(_json_number, (multiple, numbers.low, numbers.high))
    if divisor is None or low is None or high is None:
        raise _refused(numbers)
    return Multiples(
        negative,
        divisor,
        multiple.denominator == 1,
        low,
        numbers.low_open,
        high,
        numbers.high_open,
    )


def _refused(numbers: NumberSet) -> UnsupportedSchema:
    return UnsupportedSchema.of("$", "multipleOf", reason(numbers))


def _json_number(value: Fraction | None) -> float | None:
    """Return a number that JSON spells with this very value; None if there is none."""
    if value is None:
        return None
    if value.denominator == 1 and abs(value) < _GREATEST_MULTIPLE * 10:
        return int(value)
    double = float(value)
    return double if Fraction(repr(double)) == value and "e" not in repr(double) else None
