"""Languages of the plain decimals that are multiples of a number, and of those that surely are not.

The last digits decide for divisors of a power of ten, the automaton over remainders for others.
Texts whose double would be on the other side are left out. Must not know: bounds, signs,
exponents, sets of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

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
from enforcer.regex import ANY, Regex, either, inverse, literal
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.charset import ASCII_DIGIT, CharSet
from enforcer.regex.constructors import both, chars, concat, repeat
from enforcer.regex.syntax import Explored, State

EXACT = 16  # digits that a double holds whatever they are
_SURE = 15  # digits, any two of which doubles tell apart
_SYMBOLS = "0123456789."
_ATOMS = (*map(CharSet.span, _SYMBOLS), ~CharSet.span(*_SYMBOLS))
_LARGEST = 5_000  # divisor of which all remainders are listed
_MOST_ENDINGS = 1_000  # of a larger divisor, if it divides a power of ten
_SIMPLE = frozenset({1, 2, 4, 5, 8, 10, 20, 25})
_MOST_COUNTED = 64  # remainders, beside which digits are counted
MOST_REMAINDERS = 1_300  # states for one divisor
MOST_TOGETHER = 225  # for several divisors, or for non-multiples; about a second
_STATES = 4_000  # for remainders and digits together; nine digits are always allowed


class NotSpellableError(Exception):
    """The automaton of a set's divisors would be too large."""


def is_hard(divisor: Fraction) -> bool:
    """Return whether the last two digits do not decide divisibility by a number."""
    return divisor.numerator not in _SIMPLE


def are_bearable(divisors: Sequence[Fraction]) -> bool:
    """Return whether the automaton over the joint remainders of some divisors is small enough."""
    places = max((without_places(each)[1] for each in divisors), default=0)
    joint = math.lcm(*(int(each * 10**places) for each in divisors))
    try:
        found, zeros = _in_one_run(joint)
    except NotSpellableError:
        return False
    is_ending = 10**PLACES % (joint // 10**zeros) == 0  # the last digits decide
    return len(found.automaton.accepts) <= (MOST_REMAINDERS if is_ending else MOST_TOGETHER)


def _in_one_run(divisor: int) -> tuple[State, int]:
    """Return the language of multiples of a divisor without its trailing zeros, and their number.

    Raises:
        NotSpellableError: too many remainders.

    """
    zeros = len(str(divisor)) - len(str(divisor).rstrip("0"))
    found = divisible(divisor // 10**zeros)
    if found is None:
        raise NotSpellableError
    return found, zeros


@lru_cache(maxsize=64)
def divisible(divisor: int) -> State | None:
    """Match digits and points whose digits, read as one number, are a multiple; also no digits.

    Returns None if there are too many remainders.
    """
    if divisor > _LARGEST:
        return _by_endings(divisor)
    remainders = np.arange(divisor)
    digits = ((10 * remainders + digit) % divisor for digit in range(10))
    rows = np.column_stack((*digits, remainders, np.full(divisor, -1)))
    found = Explored(_ATOMS, [1] + [0] * (divisor - 1), rows.astype(np.int32), 0)
    return State(minimal(found)[0], 0)


def _by_endings(divisor: int) -> State | None:
    length = next((count for count in range(PLACES) if not 10**count % divisor), None)
    if length is None or 10**length // divisor > _MOST_ENDINGS:
        return None
    endings = (literal(str(each).rjust(length, "0")) for each in range(0, 10**length, divisor))
    found = explore((concat(repeat(DIGIT, 0, None), either(*endings)),))
    point = CharSet.span(".")
    atoms = (*(each - point for each in found.atoms), point)
    rows = np.column_stack((found.rows, np.arange(len(found.rows), dtype=np.int32)))
    # Fewer digits than an ending has are read with zeros before them.
    start = 0
    for _ in range(length):
        start = int(rows[start, next(at for at, each in enumerate(atoms) if "0" in each)])
    return State(Explored(atoms, found.accepts, rows, 0), start)


def large_multiples(divisor: Fraction, *, plain: bool) -> Regex | None:
    """Match unsigned multiples of a large number, but 0.

    The automaton has a state for each remainder and number of digits, so the multiples of a larger
    divisor may have fewer digits. Returns None for divisors that `multiples` handles, and for those
    with too many remainders.

    Raises:
        NotSpellableError: the remainders cannot even be listed.

    """
    if divisor.denominator != 1:
        return None
    run, zeros = _in_one_run(divisor.numerator)
    states = len(run.automaton.accepts)
    if not _MOST_COUNTED < states <= MOST_REMAINDERS:
        return None
    most = zeros + min(DIGITS, max(_STATES // states, 9))
    found = concat(both(run, repeat(DIGIT, 0, None)), literal("0" * zeros))
    found = both(found, concat(one_of(1, 9), digits(0, most - 1)))
    if plain:
        return found
    if most <= _SURE or _is_power_of_two(divisor.numerator):
        return concat(found, ZEROS)
    short = both(found, digits(1, _SURE))
    return either(found, concat(short, POINT, repeat(ZERO, 1, PLACES)))


def multiples(divisor: Fraction, *, plain: bool, sure: bool) -> Regex:
    """Match unsigned plain decimals that are multiples.

    Args:
        divisor: the number.
        plain: whether to match digits alone.
        sure: whether to leave out texts whose double is no multiple.

    Raises:
        NotSpellableError: the automaton would be too large.

    """
    if divisor == 1:
        return WHOLE if plain else concat(WHOLE, ZEROS)
    scaled, places = without_places(divisor)
    # With `shown` places and zeros behind them, the digits as one whole number must be a multiple
    # of what is left of the divisor.
    found = either(
        *(
            _of_places(scaled // math.gcd(scaled, 10 ** (places - shown)), shown, plain=plain)
            for shown in range(places + 1)
        )
    )
    if not sure or plain or _rounds_to_multiples(divisor, places):
        return found
    if places >= _SURE:
        raise NotSpellableError
    with_point = concat(repeat(DIGIT, 1, None), POINT, repeat(DIGIT, 0, None))
    few_digits = both(_few(_SURE + 1), with_point)
    return both(found, either(WHOLE, concat(few_digits, repeat(ZERO, 0, PLACES))))


def _few(most: int) -> Regex:
    """Match from 1 to `most` digits and points."""
    return repeat(chars(ASCII_DIGIT | CharSet.span(".")), 1, most)


def _rounds_to_multiples(divisor: Fraction, places: int) -> bool:
    """Return whether the double of every multiple is a multiple."""
    if _is_power_of_two(divisor.numerator) and _is_power_of_two(divisor.denominator):
        return True
    shorter = (Fraction(1, 10**shown) for shown in range(places + 1))
    return all((each / divisor).denominator == 1 for each in shorter)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def _of_places(divisor: int, places: int, *, plain: bool) -> Regex:
    """Match decimals whose digits, with so many places, are a multiple; then zeros."""
    run, zeros = _in_one_run(divisor) if divisor > 1 else (ANY, 0)
    if zeros:
        found = either(ZERO, concat(both(run, whole()), literal("0" * zeros)))
    elif not places:
        found = both(run, WHOLE)
    elif 10**places % divisor:
        found = both(run, concat(WHOLE, POINT, digits(places, places)))
    else:  # the places decide
        found = concat(WHOLE, POINT, both(run, digits(places, places)))
    if plain:
        return found
    return concat(found, repeat(ZERO, 0, PLACES) if places else ZEROS)


def not_multiples(divisor: Fraction) -> Regex:
    """Match unsigned plain decimals that are no multiples, and whose double is none."""
    others = inverse(multiples(divisor, plain=False, sure=False))
    at_once = both(WHOLE, others)
    if divisor.denominator == 1:
        short = concat(both(whole(_SURE - 1), others), ZEROS)
        return either(at_once, short, between(0))
    short = both(concat(WHOLE, behind_point(_SURE)), _few(_SURE + 1), others)
    return either(at_once, short, between(without_places(divisor)[1]))


def without_places(value: Fraction) -> tuple[int, int]:
    """Return the digits of a finite decimal as a whole number, and the number of its places."""
    places = 0
    while value.denominator != 1:
        value, places = value * 10, places + 1
    return value.numerator, places


@lru_cache(maxsize=32)
def between(places: int) -> Regex:
    """Match unsigned plain decimals whose double has more than so many places."""
    options = []
    # Integers are exact doubles; other numbers are off by up to half a double's distance.
    used = places + bool(places)
    for before in range(1, EXACT - used):
        integer = DIGIT if before == 1 else concat(one_of(1, 9), digits(before - 1, before - 1))
        options.append(concat(integer, POINT, digits(places, places), behind(before + used)))
    return either(*options)


def behind(before: int, most: int | None = PLACES) -> Regex:
    """Match the places that keep a number with `before` whole digits from being read as an integer.

    The first of them, up to the 16th digit in all, are neither all 0 nor all 9: next to a number of
    n whole digits, doubles are less than 2 * 10**(n - 16) apart.

    Args:
        before: the number of whole digits.
        most: the greatest number of digits after the one that decides; None for no bound.

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
