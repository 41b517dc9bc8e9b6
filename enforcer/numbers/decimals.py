"""How plain decimals within bounds are spelled: digit by digit.

Owns: the languages of what is at least, at most or between given numbers, and how
many digits a plain decimal may have. Must not know: divisors, exponents, signs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import either, literal
from enforcer.regex.charset import ASCII_DIGIT, CharSet
from enforcer.regex.constructors import chars, concat, repeat

if TYPE_CHECKING:
    from fractions import Fraction

    from enforcer.regex import Regex

DIGITS = 48  # digits before the point, beyond the first
PLACES = 40  # digits behind the point
DIGIT = chars(ASCII_DIGIT)
ZERO = literal("0")
POINT = literal(".")


def digits(least: int, most: int) -> Regex:
    """Match so many digits."""
    return repeat(DIGIT, least, most)


def one_of(low: int, high: int) -> Regex:
    """Match one digit within two, neither left out."""
    return chars(CharSet.span(f"{low}{high}"))


def optional(part: Regex) -> Regex:
    """Match a part or nothing."""
    return repeat(part, 0, 1)


def whole(most: int = DIGITS) -> Regex:
    """Match whole numbers without leading zeros, of so many digits beyond the first."""
    return either(ZERO, concat(one_of(1, 9), digits(0, most)))


def behind_point(most: int = PLACES) -> Regex:
    """Match a point and so many digits."""
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


def at_least(bound: Fraction, *, is_open: bool) -> Regex:
    """Match plain decimals from a bound on, which is not below zero."""
    before, places = _split(bound)
    anything = optional(behind_point())
    if not places and not is_open:
        return concat(_whole_from(before), anything)
    tails = []
    for at, digit in enumerate(places):
        if digit != "9":
            higher = one_of(int(digit) + 1, 9)
            tails.append(concat(literal(places[:at]), higher, digits(0, PLACES)))
    if is_open:
        above = concat(repeat(ZERO, 0, PLACES), one_of(1, 9), digits(0, PLACES))
        tails.append(concat(literal(places), above))
    else:
        tails.append(concat(literal(places), digits(0, PLACES)))
    return either(
        concat(literal(f"{before}."), either(*tails)),
        concat(_whole_from(before + 1), anything),
    )


def at_most(bound: Fraction, *, is_open: bool) -> Regex:
    """Match plain decimals up to a bound, which is not below zero."""
    before, places = _split(bound)
    options = []
    if before > 0:
        options.append(concat(whole_range(0, before - 1), optional(behind_point())))
    if places:
        tails = []
        for at, digit in enumerate(places):
            if digit != "0":
                lower = one_of(0, int(digit) - 1)
                tails.append(concat(literal(places[:at]), lower, digits(0, PLACES)))
        if not is_open:
            tails.append(concat(literal(places), repeat(ZERO, 0, PLACES)))
        # Fewer places than the bound has, all equal to its own, are below it.
        tails.extend(literal(places[:n]) for n in range(1, len(places)))
        options.append(concat(literal(str(before)), optional(concat(POINT, either(*tails)))))
    elif not is_open:
        options.append(concat(literal(str(before)), ZEROS))
    return either(*options)


def _whole_from(least: int) -> Regex:
    """Match whole numbers from `least` on, up to the greatest length."""
    if least == 0:
        return WHOLE
    length = len(str(least))
    longer = concat(one_of(1, 9), digits(length, max(DIGITS, length)))
    return either(whole_range(least, 10**length - 1), longer)


def whole_range(low: int, high: int) -> Regex:
    """Match whole numbers between two bounds, without leading zeros."""
    parts: list[Regex] = []
    while low <= high:
        end = min(high, 10 ** len(str(low)) - 1)
        parts.append(_same_length(str(low), str(end)))
        low = end + 1
    return either(*parts)


def _same_length(low: str, high: str) -> Regex:
    if low == high:
        return literal(low)
    if len(low) == 1:
        return one_of(int(low), int(high))
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    if first == last:
        return concat(literal(low[0]), _same_length(low[1:], high[1:]))
    parts: list[Regex] = []
    if low[1:] != "0" * rest:
        parts.append(concat(literal(low[0]), _same_length(low[1:], "9" * rest)))
        first += 1
    tail: list[Regex] = []
    if high[1:] != "9" * rest:
        tail.append(concat(literal(high[0]), _same_length("0" * rest, high[1:])))
        last -= 1
    if first <= last:
        parts.append(concat(one_of(first, last), digits(rest, rest)))
    return either(*parts, *tail)
