"""Languages of plain decimals within bounds, digit by digit.

`DIGITS` and `PLACES` bound their length. Must not know: divisors, exponents, signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex import NOTHING, Regex, either, literal
from enforcer.regex.charset import ASCII_DIGIT, CharSet
from enforcer.regex.constructors import chars, concat, repeat

if TYPE_CHECKING:
    from fractions import Fraction


DIGITS = 48  # digits before the point, beyond the first
PLACES = 40  # digits behind the point
_TWO_DIGITS = 10
DIGIT = chars(ASCII_DIGIT)
ZERO = literal("0")
POINT = literal(".")


def digits(least: int, most: int) -> Regex:
    """Match from `least` to `most` digits."""
    return repeat(DIGIT, least, most)


def one_of(low: int, high: int) -> Regex:
    """Match one digit from `low` to `high`."""
    return chars(CharSet.span(f"{low}{high}"))


def optional(part: Regex) -> Regex:
    """Match a part or nothing."""
    return repeat(part, 0, 1)


def whole(most: int = DIGITS) -> Regex:
    """Match whole numbers without leading zeros, of at most `most` digits beyond the first."""
    return either(ZERO, concat(one_of(1, 9), digits(0, most)))


def behind_point(most: int = PLACES) -> Regex:
    """Match a point and from 1 to `most` digits."""
    return concat(POINT, digits(1, most))


WHOLE = whole()
PLAIN = concat(WHOLE, optional(behind_point()))
ZEROS = optional(concat(POINT, repeat(ZERO, 1, PLACES)))


def _split(bound: Fraction) -> tuple[int, str]:
    before = bound.numerator // bound.denominator
    rest, places = bound - before, ""
    while rest and len(places) <= 1100:  # noqa: PLR2004 - the longest double has 1,074
        rest *= 10
        digit = rest.numerator // rest.denominator
        places += str(digit)
        rest -= digit
    return before, places


@lru_cache(maxsize=1024)
def at_least(bound: Fraction, *, is_open: bool) -> Regex:
    """Match plain decimals from a bound on, which is not negative; above it if `is_open`."""
    before, places = _split(bound)
    text, more = str(before), digits(0, PLACES)
    longer = concat(one_of(1, 9), digits(len(text), max(DIGITS, len(text))))
    above = [longer, *(concat(each, digits(left, left)) for each, left in _beyond(text))]
    tails = [concat(each, more) for each, _ in _beyond(places)]
    if is_open:
        tails.append(concat(literal(places), repeat(ZERO, 0, PLACES), one_of(1, 9), more))
    elif places:
        tails.append(concat(literal(places), more))
    else:
        above.append(literal(text))
    return either(
        concat(either(*above), optional(behind_point())),
        concat(literal(f"{text}."), either(*tails)),
    )


@lru_cache(maxsize=1024)
def at_most(bound: Fraction, *, is_open: bool) -> Regex:
    """Match plain decimals up to a bound, which is not negative; below it if `is_open`."""
    before, places = _split(bound)
    text, more = str(before), digits(0, PLACES)
    least = int(before >= _TWO_DIGITS)
    below = [concat(each, digits(left, left)) for each, left in _beyond(text, 0, least)]
    if least:
        below.append(whole(len(text) - 2))
    options = [concat(either(*below), optional(behind_point()))]
    if places:
        tails = [concat(each, more) for each, _ in _beyond(places, 0)]
        if not is_open:
            tails.append(concat(literal(places), repeat(ZERO, 0, PLACES)))
        # A proper prefix of the bound is below it.
        tails.extend(literal(places[:n]) for n in range(1, len(places)))
        options.append(concat(literal(text), optional(concat(POINT, either(*tails)))))
    elif not is_open:
        options.append(concat(literal(text), ZEROS))
    return either(*options)


def _beyond(text: str, end: int = 9, first: int = 0) -> Iterator[tuple[Regex, int]]:
    """Yield languages of prefixes that first differ from a text in their last digit.

    Args:
        text: digits.
        end: 9 for prefixes above the text, 0 for those below.
        first: the least first digit.

    Yields:
        A language, and the number of digits that follow.

    """
    for at, digit in enumerate(text):
        low, high = (int(digit) + 1, 9) if end else (0 if at else first, int(digit) - 1)
        if low <= high:
            yield concat(literal(text[:at]), one_of(low, high)), len(text) - at - 1


def whole_range(low: int, high: int) -> Regex:
    """Match whole numbers between two bounds, without leading zeros."""
    if high < _TWO_DIGITS:
        return one_of(low, high)
    parts: list[Regex] = []
    if low < _TWO_DIGITS:
        parts.append(one_of(low, 9))
        low = _TWO_DIGITS
    first, last = low // 10, high // 10
    if first == last:
        return either(*parts, concat(literal(str(first)), one_of(low % 10, high % 10)))
    if low % 10:
        parts.append(concat(literal(str(first)), one_of(low % 10, 9)))
        first += 1
    if (high + 1) % 10:
        parts.append(concat(literal(str(last)), one_of(0, high % 10)))
        last -= 1
    return either(*parts, concat(whole_range(first, last), DIGIT) if first <= last else NOTHING)
