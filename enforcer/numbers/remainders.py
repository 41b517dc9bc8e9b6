"""Decimals divisible by a number that divides no power of ten, as languages with names.

Owns: the automaton over remainders, an equation for each remainder and number of digits still
to come. A regular expression for it would be far too long; languages that refer to one another
by name are shared, and are found only where a text leads. Must not know: sets of numbers,
bounds, schemas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from enforcer.numbers.decimals import DIGIT
from enforcer.regex import NOTHING, Regex, either
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, concat, repeat
from enforcer.regex.syntax import Named

MOST_REMAINDERS = 200  # of one factor; there is a language for each remainder and digit
MOST_ENDINGS = 1 << 12  # remainders of a divisor of a power of ten
_POINT = CharSet.span(".")

_Moves = tuple[tuple[CharSet, Regex], ...]


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
    return _before_point(divisor, places, digits)[0]


def ending(divisor: int, length: int) -> Regex | None:
    """Match whole numbers that are a multiple of a divisor of `10**length`.

    Leading zeros are permitted, and any number of digits. Returns None if there would be too
    many remainders.
    """
    if divisor > MOST_ENDINGS:
        return None
    exactly = (_exactly(divisor, digits)[0] for digits in range(1, length))
    return either(concat(repeat(DIGIT, 0, None), _exactly(divisor, length)[0]), *exactly)


def of_any_length(divisor: int) -> Regex:
    """Match digits that are a multiple in one run, however many they are, or none at all."""
    return Named(_AnyLength(divisor, 0))


@dataclass(frozen=True, slots=True)
class _AnyLength:
    """Any number of digits to come."""

    divisor: int
    remainder: int

    @property
    def name(self) -> str:
        return f"W{self.divisor}_{self.remainder}"

    @property
    def nullable(self) -> bool:
        return not self.remainder

    @property
    def longest(self) -> None:
        return None

    def moves(self) -> _Moves:
        return tuple(
            (some, Named(_AnyLength(self.divisor, after)))
            for after, some in _moves(self.divisor, self.remainder)
        )


@dataclass(frozen=True, slots=True)
class _AtMost:
    """Up to `left` digits to come before the point and exactly `places` behind it."""

    divisor: int
    places: int
    left: int
    remainder: int

    @property
    def name(self) -> str:
        return f"R{self.divisor}_{self.places}_{self.left}_{self.remainder}"

    @property
    def nullable(self) -> bool:
        return not self.places and not self.remainder

    @property
    def longest(self) -> int:
        return self.left + self.places + bool(self.places)

    def moves(self) -> _Moves:
        found: list[tuple[CharSet, Regex]] = []
        if self.left:
            after = _before_point(self.divisor, self.places, self.left - 1)
            found += [(some, after[r]) for r, some in _moves(self.divisor, self.remainder)]
        if self.places:
            behind = _exactly(self.divisor, self.places)
            found.append((_POINT, behind[self.remainder % len(behind)]))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Exactly:
    """Exactly `left` digits to come, of which there is at least one."""

    divisor: int
    left: int
    remainder: int

    @property
    def name(self) -> str:
        return f"F{self.divisor}_{self.left}_{self.remainder}"

    @property
    def nullable(self) -> bool:
        return False

    @property
    def longest(self) -> int:
        return self.left

    def moves(self) -> _Moves:
        after = _exactly(self.divisor, self.left - 1)
        found: dict[Regex, CharSet] = {}
        for remainder, some in _moves(self.divisor, self.remainder):
            to = after[remainder % len(after)]
            found[to] = found[to] | some if to in found else some
        return tuple((some, to) for to, some in found.items() if to != NOTHING)


@lru_cache(maxsize=512)
def _before_point(divisor: int, places: int, left: int) -> tuple[Regex, ...]:
    """Give a language for each remainder."""
    return tuple(Named(_AtMost(divisor, places, left, r)) for r in range(divisor))


@lru_cache(maxsize=512)
def _exactly(divisor: int, left: int) -> tuple[Regex, ...]:
    """Give a language for each remainder that still differs when so many digits are to come."""
    if not left:
        return EPSILON, *([NOTHING] * (divisor - 1))
    return tuple(
        Named(_Exactly(divisor, left, r)) for r in range(divisor // gcd(divisor, 10**left))
    )


@lru_cache(maxsize=4096)
def _moves(divisor: int, remainder: int) -> tuple[tuple[int, CharSet], ...]:
    """List the remainders that one digit leads to, and the digits."""
    found: dict[int, list[str]] = {}
    for digit in range(10):
        found.setdefault((10 * remainder + digit) % divisor, []).append(str(digit))
    return tuple((after, CharSet.span(*some)) for after, some in found.items())
