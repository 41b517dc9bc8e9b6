"""Bounds of texts that are read as doubles, against reading them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.doubles import EXACT_INTEGER, as_read, exact, is_double, moved, shortest

_doubles = st.floats(allow_nan=False, allow_infinity=False)
_large = st.integers(EXACT_INTEGER, 10**40) | st.floats(2**53, 1e40).map(int)


@given(_doubles | st.integers(-(10**30), 10**30))
def test_a_number_is_what_is_written(number: float) -> None:
    text = repr(number)
    if abs(number) <= EXACT_INTEGER or isinstance(number, int):
        assert exact(number) == Fraction(text)
    else:
        assert exact(number) == Fraction(number)


@given(_doubles)
def test_a_double_is_one_and_its_shortest_text_is_read_as_it(number: float) -> None:
    value = Fraction(number)
    assert is_double(value)
    assert float(shortest(value)) == number


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction("0.1"), Fraction(2**53 + 1)])
def test_what_is_no_double(value: Fraction) -> None:
    assert not is_double(value)
    assert not is_double(Fraction(10) ** 400)


@given(st.floats(-1e15, 1e15).filter(bool), st.booleans(), st.fractions(0, 1))
def test_values_beyond_a_moved_bound_are_not_it(bound: float, up: bool, part: Fraction) -> None:
    found, is_open = moved(Fraction(bound), is_open=True, up=up)
    assert is_open
    step = (1 if up else -1) * part
    value = found + step * abs(Fraction(bound))
    if value != found:
        assert (float(value) > bound) if up else (float(value) < bound)
    # Nothing is lost that is another double.
    following = Fraction(math.nextafter(bound, math.inf if up else -math.inf))
    assert (found < following) if up else (found > following)


def test_from_the_last_exact_integer_on_no_integer_is_lost() -> None:
    last = Fraction(EXACT_INTEGER)
    for bound, up in ((last, True), (-last, False)):
        assert moved(bound, is_open=True, up=up) == (bound, True)
        toward, is_open = moved(bound, is_open=True, up=not up)
        assert (abs(toward), is_open) == (last - Fraction(1, 2), True)
    assert as_read(last, is_open=True, up=True) == (last + 2, False)
    for is_open, up in ((False, True), (True, False), (False, False)):
        assert as_read(last, is_open=is_open, up=up) == (last, is_open)


def test_a_bound_that_is_not_excluded_stays() -> None:
    assert moved(Fraction(3), is_open=False, up=True) == (Fraction(3), False)
    assert moved(None, is_open=True, up=True) == (None, True)
    assert moved(Fraction(0), is_open=True, up=True) == (Fraction(0), True)


@given(_large, st.booleans(), st.booleans(), st.integers(-3000, 3000))
def test_texts_in_a_bound_are_read_in_it(bound: int, is_open: bool, up: bool, offset: int) -> None:
    found, still_open = as_read(Fraction(bound), is_open=is_open, up=up)
    value = Fraction(bound + offset)
    inside = (value > found if up else value < found) or (value == found and not still_open)
    if inside and float(value) != float(found):
        read = Fraction(float(value))
        assert (read > bound if up else read < bound) or (read == bound and not is_open)


@given(st.integers(0, EXACT_INTEGER), st.booleans(), st.booleans())
def test_up_to_two_to_the_53_nothing_is_moved(bound: int, is_open: bool, up: bool) -> None:
    assert as_read(Fraction(bound), is_open=is_open, up=up) == (Fraction(bound), is_open)
