"""Scientific notation within bounds, and of integers or of none, against reading it."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.numbers.scientific import (
    exponents,
    scientific,
    scientific_fractions,
    scientific_integers,
)
from enforcer.regex import NOTHING, fullmatch

_exponents = st.integers(-4, 4)
_digits = st.text("0123456789", max_size=4)
_behind = _digits.map(lambda digits: f".{digits}" if digits else "")
_signs = st.sampled_from(["", "+", "-"])
_texts = st.builds("{}{}e{}{}".format, st.integers(1, 9), _behind, _signs, st.integers(0, 4))
_bounds = st.decimals("0.001", 5000, places=3).map(Fraction)


@given(_bounds, st.booleans(), st.none() | _bounds, st.booleans(), st.lists(_texts, min_size=8))
def test_bounds(
    low: Fraction, low_open: bool, high: Fraction | None, high_open: bool, texts: list[str]
) -> None:
    assume(high is None or low <= high)
    language = scientific(low, low_open, high, high_open)
    for text in texts:
        value = Fraction(text)
        above = value > low or (value == low and not low_open)
        below = high is None or value < high or (value == high and not high_open)
        assert fullmatch(language, text) == (above and below), text


@given(_texts)
def test_integers_and_fractions_exclude_each_other(text: str) -> None:
    whole = Fraction(text).denominator == 1
    if fullmatch(scientific_integers(), text):
        assert whole
    if fullmatch(scientific_fractions(), text):
        assert not whole


def test_what_is_no_scientific_notation() -> None:
    language = scientific(Fraction(0), False, None, False)
    for text in ("1", "0e1", "10e1", "1.e1", "1e", "e1", "-1e1", "1e1.0", "1e999"):
        assert not fullmatch(language, text)
        assert not fullmatch(scientific_integers(), text)
        assert not fullmatch(scientific_fractions(), text)


def test_the_one_exponent_between_those_of_the_bounds() -> None:
    language = scientific(Fraction(2), False, Fraction(500), False)
    assert [fullmatch(language, text) for text in ("1e0", "2e0", "5e1", "5e2", "6e2")] == [
        *(False, True, True, True, False)
    ]


def test_an_exponent_has_at_most_two_leading_zeros() -> None:
    language = exponents(-12, 12)
    for text in ("e0", "e000", "e+007", "e-00", "e-0012", "E12"):
        assert fullmatch(language, text), text
    for text in ("e0000", "e+0007", "e-000", "e-00012", "e13", "e-13", "e"):
        assert not fullmatch(language, text), text


@pytest.mark.parametrize(
    ("low", "high"),
    [("1e301", None), ("1e305", "1e308"), ("0", "1e-301"), ("0", "5e-324"), ("2e300", "3e299")],
)
def test_beyond_its_exponents_there_is_nothing(low: str, high: str | None) -> None:
    end = None if high is None else Fraction(high)
    assert scientific(Fraction(low), True, end, True) == NOTHING


@given(
    st.sampled_from([-310, -301, -300, -299, 0, 299, 300, 301, 310]),
    st.sampled_from([-310, -301, -300, -299, 0, 299, 300, 301, 310]),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_bounds_about_the_ends_of_exponents(first: int, last: int, low: int, high: int) -> None:
    start, end = low * Fraction(10) ** first, high * Fraction(10) ** last
    assume(start <= end)
    language = scientific(start, False, end, False)
    for exponent in (-300, -299, 0, 299, 300):
        for digit in range(1, 10):
            value = digit * Fraction(10) ** exponent
            assert fullmatch(language, f"{digit}e{exponent}") == (start <= value <= end)


@pytest.mark.parametrize("text", ["9.8e-1", "9.98E-01", "9.95e-1", "8e-1", "9e-1", "9.9e-1"])
def test_tenths_are_fractions(text: str) -> None:
    assert fullmatch(scientific_fractions(), text)
