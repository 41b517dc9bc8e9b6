r"""Which plain decimals are multiples of a number, and which surely are none.

Owns: the languages of both, by the last digits for what divides a power of ten and by the
remainder of all digits for the rest; and keeping away from text that is read as a double on
the other side. Must not know: bounds, signs, exponents, sets of numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.numbers.decimals import (
    DIGIT,
    DIGITS,
    PLACES,
    POINT,
    WHOLE,
    ZERO,
    ZEROS,
    behind_point,
    digits,
    one_of,
    optional,
    whole,
)
from enforcer.numbers.remainders import divisible, ending, factors, of_any_length
from enforcer.regex import either, inverse, literal
from enforcer.regex.charset import ASCII_DIGIT, CharSet
from enforcer.regex.constructors import both, chars, concat, repeat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.regex import Regex

EXACT = 16  # digits that a double holds whatever they are
_SURE = 15  # digits, any two of which doubles tell apart
_MOST_RESIDUES = 1_000  # endings written out for a divisor of a power of ten, with places
_MOST_WHOLE = 200  # without; what has more is as fast with names, and found out about sooner
_MOST_SIMPLE = 31  # divisors of powers of ten that have few endings, however they go
_MOST_COUNTED = 64  # remainders, beside which digits are counted
MOST_UNCOUNTED = 1_300
_STATES = 4_000  # of remainders and digits together, but nine digits in any case
_MOST_REMAINDERS = 5_000  # of an odd divisor, all its factors together
# Of all divisors together. With three times as many, a step takes the lexer 0.15 s, and more
# than that it gives up.
_MOST_TOGETHER = 8_000


class NotSpellableError(Exception):
    """The set's divisors cannot be written as a language of bearable size."""


def _odd(number: int) -> int:
    """Return what is left of a number without the factors of powers of ten."""
    odd = number
    for factor in (2, 5):
        while odd % factor == 0:
            odd //= factor
    return odd


def is_hard(divisor: Fraction) -> bool:
    """Tell whether writing multiples may take languages with names."""
    whole = divisor.numerator
    if _odd(whole) > 1 or whole > _MOST_SIMPLE:
        return True
    return _power(whole) // whole > _MOST_WHOLE


def are_bearable(divisors: Sequence[Fraction]) -> bool:
    """Tell whether a lexer can keep apart the remainders by all divisors of one number."""
    places = max((without_places(each)[1] for each in divisors), default=0)
    joint = math.lcm(*(int(each * 10**places) for each in divisors))
    if _odd(joint) == 1:
        return True  # a matter of the last digits
    while joint % 10 == 0:
        joint //= 10
    return joint <= _MOST_TOGETHER


def large_multiples(divisor: Fraction, *, plain: bool) -> Regex | None:
    """Match unsigned multiples of a large number but 0.

    An automaton has a state for each remainder and number of digits, so that a larger divisor has
    fewer digits. Returns None for what `multiples` counts by itself, and for what has too many
    remainders.
    """
    if divisor.denominator != 1:
        return None
    left, zeros = divisor.numerator, 0
    while left % 10 == 0:
        left, zeros = left // 10, zeros + 1
    if not _MOST_COUNTED < left <= MOST_UNCOUNTED:
        return None
    found = concat(of_any_length(left), literal("0" * zeros))
    most = zeros + min(DIGITS, max(_STATES // left, 9))
    found = both(found, concat(one_of(1, 9), digits(0, most - 1)))
    if plain:
        return found
    if most <= _SURE or _is_power_of_two(divisor.numerator):
        return concat(found, ZEROS)
    short = both(found, digits(1, _SURE))
    return either(found, concat(short, POINT, repeat(ZERO, 1, PLACES)))


def multiples(divisor: Fraction, *, plain: bool, sure: bool) -> Regex:
    """Match unsigned plain decimals that are multiples.

    With `sure`, only what is one as a double too, where digits are counted by remainder.
    """
    if divisor == 1:
        return WHOLE if plain else concat(WHOLE, ZEROS)
    scaled, places = without_places(divisor)
    options = []
    for shown in range(places + 1):
        # With `shown` places and zeros behind them, the digits as one whole number must be
        # a multiple of what is left of the divisor.
        left = scaled // math.gcd(scaled, 10 ** (places - shown))
        odd = _odd(left)
        even = left // odd
        conditions = [] if odd > 1 and even == 1 else [_ending(even, shown, plain=plain)]
        if odd > 1:
            conditions.append(_by_remainder(odd, shown, plain=plain, sure=sure))
        options.append(both(*conditions))
    found = either(*options)
    if not sure or plain or _rounds_to_multiples(divisor, places):
        return found
    with_point = concat(repeat(DIGIT, 1, None), POINT, repeat(DIGIT, 0, None))
    few_digits = both(_few(_SURE + 1), with_point)
    return both(found, either(WHOLE, concat(few_digits, repeat(ZERO, 0, PLACES))))


def _few(most: int) -> Regex:
    """Match so many digits and points."""
    return repeat(chars(ASCII_DIGIT | CharSet.span(".")), 1, most)


def _rounds_to_multiples(divisor: Fraction, places: int) -> bool:
    """Tell whether a multiple of many digits, read as a double, is still one."""
    if _is_power_of_two(divisor.numerator) and _is_power_of_two(divisor.denominator):
        return True
    shorter = (Fraction(1, 10**shown) for shown in range(places + 1))
    return all((each / divisor).denominator == 1 for each in shorter)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _by_remainder(odd: int, places: int, *, plain: bool, sure: bool) -> Regex:
    """Match decimals of so many places whose digits are a multiple of an odd number."""
    parts = factors(odd) if odd <= _MOST_REMAINDERS else None
    exact = _SURE - places if sure else DIGITS + 1
    if parts is None or exact < 1:
        raise NotSpellableError

    def runs(most: int) -> Regex:
        return both(*(divisible(each, most, places) for each in parts))

    options = []
    if plain:
        options.append(runs(DIGITS + 1))
    else:
        options.append(concat(runs(exact), repeat(ZERO, 0, PLACES) if places else ZEROS))
        if not places and sure:
            options.append(runs(DIGITS + 1))
    no_leading_zero = concat(WHOLE, optional(behind_point(2 * PLACES)))
    return both(either(*options), no_leading_zero)


def not_multiples(divisor: Fraction) -> Regex:
    """Match unsigned plain decimals that are no multiples, and are not read as one."""
    others = inverse(multiples(divisor, plain=False, sure=False))
    at_once = both(WHOLE, others)
    if divisor.denominator == 1:
        short = concat(both(whole(_SURE - 1), others), ZEROS)
        return either(at_once, short, between(0))
    short = both(concat(WHOLE, behind_point(_SURE)), _few(_SURE + 1), others)
    return either(at_once, short, between(without_places(divisor)[1]))


def without_places(value: Fraction) -> tuple[int, int]:
    """Return a finite decimal's digits as a whole number, and how many are behind the point."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    return value.numerator, places


def _power(divisor: int) -> int:
    """Give the least power of ten that is a multiple of a divisor of some."""
    power = 1
    while power % divisor:
        power *= 10
    return power


def _ending(divisor: int, places: int, *, plain: bool) -> Regex:
    """Match decimals of so many places whose digits are a multiple of the divisor."""
    power = _power(divisor)
    length = len(str(power)) - 1
    if power // divisor > (_MOST_RESIDUES if places else _MOST_WHOLE):
        shared = None if places else ending(divisor, length)
        if shared is None:
            raise NotSpellableError
        found = both(shared, WHOLE)
        return found if plain else concat(found, ZEROS)
    zeros = repeat(ZERO, 0, PLACES) if places else ZEROS
    if divisor == 1:
        shown = concat(POINT, digits(places, places)) if places else literal("")
        return concat(WHOLE, shown) if plain else concat(WHOLE, shown, zeros)
    width = max(length, places + 1)
    # Digits in one run first, then the point is put in: every ending is cut at one place.
    more = width - length
    forms = [
        _with_point([*[DIGIT] * more, *map(literal, str(x).rjust(length, "0"))], places)
        for x in range(0, 10**length, divisor)
    ]
    # Fewer digits than the ending has, which are not filled up with zeros to the point.
    short = [
        _with_point([*map(literal, str(x).rjust(places + 1, "0"))], places)
        for x in range(0, 10 ** (length - 1) if more == 0 else 0, divisor)
    ]
    found = either(concat(digits(0, DIGITS), either(*forms)), *short)
    no_leading_zero = concat(whole(DIGITS + width), optional(behind_point(3 * PLACES)))
    return both(found if plain else concat(found, zeros), no_leading_zero)


def _with_point(pieces: list[Regex], places: int) -> Regex:
    """Put a point before the last of some digits."""
    if not places:
        return concat(*pieces)
    return concat(*pieces[:-places], POINT, *pieces[-places:])


@lru_cache(maxsize=32)
def between(places: int) -> Regex:
    """Match unsigned plain decimals that are not read as one with so many places, or fewer."""
    options = []
    # Integers are doubles; what has places is itself up to half a double's distance off.
    used = places + bool(places)
    for before in range(1, EXACT - used):
        integer = DIGIT if before == 1 else concat(one_of(1, 9), digits(before - 1, before - 1))
        options.append(concat(integer, POINT, digits(places, places), behind(before + used)))
    return either(*options)


def behind(before: int, most: int | None = PLACES) -> Regex:
    """Match the digits behind so many whole ones that keep a number from an integer.

    The first of them, up to the 16th in all, are neither all 0 nor all 9: next to a number of
    n whole digits, doubles are less than 2 * 10**(n - 16) apart.

    Args:
        before: whole digits.
        most: digits behind the one that decides; None for any number of them.

    """
    rest = repeat(DIGIT, 0, most)
    options = [concat(one_of(1, 8), rest)]
    more = EXACT - before - 1
    if more > 0:
        nines = repeat(literal("9"), 1, more)
        options += [
            concat(repeat(ZERO, 1, more), one_of(1, 9), rest),
            concat(nines, optional(concat(one_of(0, 8), rest))),
        ]
    return either(*options)
