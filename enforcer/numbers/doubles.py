"""Rounding of numbers by programs that read them as doubles, and its effect on bounds.

Most programs, Python's among them, read a text with a point or an exponent as a double, and digits
alone as an exact integer. So beyond 2**53 the spelling of a number decides whether it is within a
bound. Must not know: how numbers are spelled, sets of numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction

EXACT_INTEGER = 2**53  # every integer up to here is a double
LONGEST = 10**49  # greater than every plain decimal


def exact(number: float) -> Fraction:
    """Return the value of a JSON number as written: 0.1 is a tenth, not its double.

    Beyond 2**53 a float is its double, since so it is compared with integers.
    """
    if isinstance(number, int):
        return Fraction(number)
    return Fraction(number) if abs(number) > EXACT_INTEGER else Fraction(repr(number))


def is_double(value: Fraction) -> bool:
    """Return whether a number is exactly a double."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def shortest(value: Fraction) -> Fraction:
    """Return the number with the fewest digits that has the same double as a number."""
    return Fraction(repr(float(value)))


def moved(bound: Fraction | None, *, is_open: bool, up: bool) -> tuple[Fraction | None, bool]:
    """Return an exclusive bound moved half-way to the next double (nearer texts are read as it).

    Where that would exclude integers, the bound is returned as it is, for `as_read`.

    Args:
        bound: the bound; None for no bound.
        is_open: whether the bound itself is excluded.
        up: whether it is a lower bound.

    """
    if bound is None or not is_open or bound == 0:
        return bound, is_open
    away = (bound > 0) is up
    if abs(bound) > EXACT_INTEGER or (abs(bound) == EXACT_INTEGER and away):
        return bound, is_open
    double = float(bound)
    nearest = Fraction(math.nextafter(double, math.inf if up else -math.inf))
    return (Fraction(double) + nearest) / 2, True


def as_read(bound: Fraction, *, is_open: bool, up: bool) -> tuple[Fraction, bool]:
    """Return the bound that texts read as doubles must keep, where it differs: from 2**53 on.

    Args:
        bound: the bound, not negative.
        is_open: whether the bound itself is excluded.
        up: whether it is a lower bound.

    """
    if bound < EXACT_INTEGER or (bound == EXACT_INTEGER and not (is_open and up)):
        return bound, is_open
    try:
        double = float(bound)
        while (Fraction(double) < bound if up else Fraction(double) > bound) or (
            is_open and Fraction(double) == bound
        ):
            double = math.nextafter(double, math.inf if up else 0.0)
        nearest = Fraction(double)
    except OverflowError:
        return bound, is_open  # no text is read as a number that large
    written = shortest(nearest)
    if bound >= LONGEST:
        return written, False  # the double itself has too many digits to be written out
    return (min if up else max)(nearest, written), False
