"""What becomes of a number in a program that holds it as a double.

Most programs, Python's among them, read a text with a point or an exponent as a double, and
digits alone as the integer that they are. So beyond 2**53 it depends on how a number is
spelled whether it is within a bound.

Owns: the bounds within which such texts are read as members. Must not know: how numbers are
spelled, sets of numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction

EXACT_INTEGER = 2**53  # every integer up to here is a double
LONGEST = 10**49  # no text that is digits alone goes so far


def exact(number: float) -> Fraction:
    """Return the value of a JSON number.

    That is what is written, not what it is rounded to: 0.1 is a tenth. Beyond 2**53 a number
    written with a point or an exponent is the double, for so it is compared with integers.
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
    """Return the number with the fewest digits that is read as a number's double."""
    return Fraction(repr(float(value)))


def moved(bound: Fraction | None, *, is_open: bool, up: bool) -> tuple[Fraction | None, bool]:
    """Move an exclusive bound half-way to the next double; nearer text is read as the bound.

    Where that would exclude integers the bound is left to `as_read`.

    Args:
        bound: None where there is none.
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
    """Return the bound, from 2**53 on, of texts that are read as doubles.

    Args:
        bound: not below zero.
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
