"""Languages of unsigned numbers in scientific notation, with one nonzero digit before the point.

Must not know: divisors, sets of numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from enforcer.numbers.decimals import (
    DIGIT,
    POINT,
    ZERO,
    at_least,
    at_most,
    behind_point,
    digits,
    one_of,
    optional,
    whole_range,
)
from enforcer.numbers.multiples import EXACT, behind
from enforcer.regex import NOTHING, Regex, either, literal
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import both, chars, concat, repeat

E = chars(CharSet.span("e", "E"))
_EXPONENT = 300  # doubles end at 308; beyond, text would be read as infinity or zero
_PLACES_SHORT = 9  # decimal places up to which exponents are matched exactly
_MANTISSA = concat(one_of(1, 9), optional(behind_point()))


@lru_cache(maxsize=1024)
def scientific(low: Fraction, low_open: bool, high: Fraction | None, high_open: bool) -> Regex:  # noqa: FBT001
    """Match positive numbers within bounds; nothing if `_EXPONENT` excludes all of them."""
    options = []
    first = -_EXPONENT if low == 0 else _magnitude(low)
    last = _EXPONENT if high is None else _magnitude(high)
    if first > last:
        return NOTHING
    for exponent in sorted({first, last}):
        if not -_EXPONENT <= exponent <= _EXPONENT:
            continue
        mantissa = _MANTISSA
        scale = Fraction(10) ** exponent
        if exponent == first and low:
            mantissa = both(mantissa, at_least(low / scale, is_open=low_open))
        if exponent == last and high is not None:
            mantissa = both(mantissa, at_most(high / scale, is_open=high_open))
        options.append(concat(mantissa, exponents(exponent, exponent)))
    start, end = max(first + 1, -_EXPONENT), min(last - 1, _EXPONENT)
    if start <= end:
        options.append(concat(_MANTISSA, exponents(start, end)))
    return either(*options)


def _magnitude(value: Fraction) -> int:
    """Return the exponent of a positive number in scientific notation."""
    exponent = len(str(value.numerator)) - len(str(value.denominator))
    return exponent - 1 if Fraction(10) ** exponent > value else exponent


@lru_cache(maxsize=1024)
def exponents(low: int, high: int) -> Regex:
    """Match `e` and an exponent between two bounds, with optional sign and leading zeros."""
    options = []
    if high >= 0:
        unsigned = concat(repeat(ZERO, 0, 2), whole_range(max(low, 0), high))
        options.append(concat(optional(literal("+")), unsigned))
    if low < 0:
        unsigned = concat(repeat(ZERO, 0, 2), whole_range(max(1, -high), -low))
        options.append(concat(literal("-"), unsigned))
    if low <= 0 <= high:
        options.append(concat(literal("-"), repeat(ZERO, 1, 2)))
    return concat(E, either(*options))


@lru_cache(maxsize=1)
def scientific_integers() -> Regex:
    """Match numbers whose exponent is at least the number of their places."""
    # Few forms: each counted digit costs a state, and a form for each of the sixteen digits of
    # doubles would make a grammar with integers compile 3 ms longer.
    places = either(
        *(concat(digits(1, e), exponents(e, e)) for e in range(1, _PLACES_SHORT)),
        concat(digits(1, _PLACES_SHORT), exponents(_PLACES_SHORT, 99)),
        concat(digits(1, EXACT), exponents(EXACT, _EXPONENT)),
    )
    plain = concat(optional(literal(".0")), exponents(0, 99))
    return concat(one_of(1, 9), either(plain, concat(POINT, places)))


@lru_cache(maxsize=1)
def scientific_fractions() -> Regex:
    """Match numbers whose double is no integer.

    This is no complement of `scientific_integers`: integers have other spellings too, and a
    fraction nearer to an integer than the next double is read as that integer.
    """
    one_less = concat(one_of(0, 8), repeat(DIGIT, 0, None))
    after_nine = either(one_less, concat(repeat(literal("9"), 1, EXACT - 2), optional(one_less)))
    tenth = concat(E, literal("-"), repeat(ZERO, 0, 2))
    tenths = either(
        concat(one_of(1, 8), optional(concat(POINT, repeat(DIGIT, 1, None)))),
        concat(literal("9"), optional(concat(POINT, after_nine))),
    )
    every = either(
        concat(tenths, tenth, literal("1")),
        concat(_MANTISSA, tenth, whole_range(2, _EXPONENT)),
        *(
            concat(one_of(1, 9), POINT, digits(e, e), behind(e + 1, None), exponents(e, e))
            for e in range(EXACT - 1)
        ),
    )
    # The places are counted once: counting them for each exponent would take an automaton more than
    # 60,000 states.
    return both(concat(_MANTISSA, E, repeat(chars(ALL), 1, None)), every)
