"""Decimals divisible by a number, as languages with names.

Owns: the automaton over remainders, an equation for each remainder. A regular expression for it
would be far too long; languages that refer to one another by name are shared, and are found only
where a text leads. Must not know: sets of numbers, bounds, schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from enforcer.numbers.decimals import DIGIT, POINT
from enforcer.regex import NOTHING, Regex, either
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, both, concat, repeat
from enforcer.regex.syntax import Named

MOST_REMAINDERS = 200  # of one factor; there is a language for each remainder and digit
MOST_ENDINGS = 1 << 12  # remainders of a divisor of a power of ten
_SETS = (*map(CharSet.span, "0123456789."),)


def factors(divisor: int) -> tuple[int, ...] | None:
    """Split an odd divisor into powers of primes; None if one is too large."""
    found = []
    prime = 3
    while divisor > 1:
        if prime > MOST_REMAINDERS:
            return None
        power = 1
        while divisor % prime == 0:
            divisor //= prime
            power *= prime
        if power > MOST_REMAINDERS:
            return None
        if power > 1:
            found.append(power)
        prime += 2
    return tuple(found)


def divisible(divisor: int, digits: int, places: int) -> Regex:
    """Match decimals whose digits, read in one run, are a multiple; leading zeros are permitted.

    Args:
        divisor: a number of at least 3.
        digits: greatest number of digits before the point.
        places: number of digits behind it; there is no point where it is zero.

    """
    behind = (POINT, repeat(DIGIT, places, places)) if places else ()
    return both(_named(divisor, 0, None), concat(repeat(DIGIT, 0, digits), *behind))


def ending(divisor: int, length: int) -> Regex | None:
    """Match whole numbers that are a multiple of a divisor of `10**length`.

    Leading zeros are permitted, and any number of digits. Returns None if there would be too
    many remainders.
    """
    if divisor > MOST_ENDINGS:
        return None
    exactly = (_named(divisor, 0, digits) for digits in range(1, length))
    return either(concat(repeat(DIGIT, 0, None), _named(divisor, 0, length)), *exactly)


def of_any_length(divisor: int) -> Regex:
    """Match digits that are a multiple in one run, however many they are, or none at all."""
    return both(_named(divisor, 0, None), repeat(DIGIT, 0, None))


def _named(divisor: int, remainder: int, left: int | None) -> Regex:
    """Match `left` digits that make a multiple of those before; None for any, and points."""
    if left == 0:
        return NOTHING if remainder % divisor else EPSILON
    # Of a divisor of a power of ten, fewer remainders differ when few digits are to come.
    modulus = divisor if left is None else divisor // gcd(divisor, 10**left)
    return Named(_Remainder(divisor, remainder % modulus, left))


@dataclass(frozen=True, slots=True)
class _Remainder:
    divisor: int
    remainder: int
    left: int | None

    @property
    def nullable(self) -> bool:
        return self.left is None and not self.remainder

    @property
    def sets(self) -> tuple[CharSet, ...]:
        return _SETS

    def moves(self) -> tuple[tuple[CharSet, Regex], ...]:
        return _moves(self)


@lru_cache(maxsize=4096)
def _moves(of: _Remainder) -> tuple[tuple[CharSet, Regex], ...]:
    found: dict[Regex, list[str]] = {} if of.left else {Named(of): ["."]}
    left = of.left and of.left - 1
    for digit in range(10):
        after = _named(of.divisor, 10 * of.remainder + digit, left)
        found.setdefault(after, []).append(str(digit))
    return tuple((CharSet.span(*some), to) for to, some in found.items() if to != NOTHING)
