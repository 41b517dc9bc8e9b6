"""Multiples: those of many digits, which a reader rounds to the nearest double."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.decimals import DIGITS
from enforcer.numbers.multiples import (
    NotSpellableError,
    are_bearable,
    behind,
    is_hard,
    multiples,
    without_places,
)
from enforcer.regex import fullmatch
from tests.schema_judge import accepts, compiled

MANY = ["12345678901234567", "12345678901234567.5", "0.50000000000000000000000"]


@pytest.mark.parametrize("divisor", [0.5, 0.25, 2])
def test_doubles_are_multiples_of_powers_of_two_however_long_the_text(divisor: float) -> None:
    """Whatever a reader rounds such a number to is a multiple of the divisor too."""
    grammar = compiled({"type": "number", "multipleOf": divisor})
    for text in MANY:
        assert accepts(grammar, text) == (Fraction(text) % Fraction(divisor) == 0), text


@pytest.mark.parametrize("divisor", ["0.1", "0.01"])
def test_so_are_decimals_of_powers_of_ten(divisor: str) -> None:
    """A double of so many digits is written with fewer, so with no more places."""
    language = multiples(Fraction(divisor), plain=False, sure=True)
    for text in ("12345678901234567890.5", "12345678901234567", "123456789012345678.50"):
        assert fullmatch(language, text), text


@pytest.mark.parametrize("text", ["123456789012345678.05", "1234567890123456.35"])
def test_what_a_double_does_not_hold_is_no_multiple_of_another_divisor(text: str) -> None:
    assert not accepts(compiled({"type": "number", "multipleOf": 0.05}), text)
    assert not accepts(compiled({"type": "number", "multipleOf": 0.35}), text)


@given(st.sampled_from([3, 7, 11, 20, 33, 96]), st.integers(0, 10**28), st.integers(1, 95))
def test_whole_numbers_are_multiples_however_long(divisor: int, times: int, more: int) -> None:
    for sure in (True, False):
        language = multiples(Fraction(divisor), plain=False, sure=sure)
        longest = divisor * ((10 ** (DIGITS + 1) - 1) // divisor)
        for number in (times * divisor, times * divisor + more, longest, longest - 1):
            assert fullmatch(language, str(number)) == (number % divisor == 0), number


@given(
    st.sampled_from(["0.3", "0.7", "0.05", "1.1", "2.5", "0.04"]),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
)
def test_decimals_are_multiples_while_doubles_differ(divisor: str, times: int, other: int) -> None:
    exact = Fraction(divisor)
    places = len(divisor.split(".")[1])
    sure, plain = (multiples(exact, plain=plain, sure=True) for plain in (False, True))
    for number in (times * exact, Fraction(other, 10**places)):
        text = format(Decimal(number.numerator) / number.denominator, "f")
        assert fullmatch(sure, text) == fullmatch(plain, text) == ((number / exact) % 1 == 0), text
        assert fullmatch(sure, f"{text}00" if "." in text else f"{text}.00") == (
            (number / exact) % 1 == 0
        )
    # What is longer is read as a double, which is a multiple of few divisors.
    longer = f"{exact.numerator * 10**20 + exact.numerator}.{'0' * 20}{exact.numerator}"
    assert not fullmatch(multiples(exact, plain=False, sure=True), longer)


@pytest.mark.parametrize(
    ("value", "digits"), [("1", (1, 0)), ("2.50", (25, 1)), ("0.007", (7, 3)), ("1200", (1200, 0))]
)
def test_without_places(value: str, digits: tuple[int, int]) -> None:
    assert without_places(Fraction(value)) == digits


def test_what_takes_shared_terminals() -> None:
    assert [is_hard(Fraction(each)) for each in ("1", "0.1", "20", "3", "0.07", "32")] == [
        *(False, False, False),
        *(True, True, True),
    ]


def test_remainders_together_are_bounded_by_their_least_common_multiple() -> None:
    assert are_bearable([Fraction(10**9)])
    assert are_bearable([Fraction(13), Fraction(17)])  # 221
    assert are_bearable([Fraction(512)])  # of which few are told apart by any digits
    assert not are_bearable([Fraction(17), Fraction(19)])  # 323
    assert not are_bearable([Fraction(89), Fraction(97)])
    assert are_bearable([])


def test_a_multiple_that_leaves_no_digit_before_the_point_is_none_to_spell() -> None:
    multiples(Fraction(3, 10**14), plain=False, sure=True)
    with pytest.raises(NotSpellableError):
        multiples(Fraction(3, 10**15), plain=False, sure=True)


@pytest.mark.parametrize("divisor", ["0.00005", "0.0000002", "0.000000008", "0.000000000015"])
def test_a_small_divisor_has_as_many_endings_as_one_of_its_digits(divisor: str) -> None:
    """Not one for each multiple of it below ten."""
    language = multiples(Fraction(divisor), plain=False, sure=True)
    assert language.size < 2_000
    step = Decimal(divisor)
    for times in (0, 1, 7, 19, 12345):
        assert fullmatch(language, f"{times * step:f}")
        assert not fullmatch(language, f"{times * step + step / 2:f}")


@pytest.mark.parametrize("whole", [1, 9, 14])
def test_digits_that_keep_a_number_from_an_integer(whole: int) -> None:
    """Up to the 16th digit in all, not only zeros and not only nines."""
    seen = 16 - whole - 1  # zeros or nines, of which one more digit makes no integer
    zeros, nines = "0" * seen, "9" * seen
    language = behind(whole)
    for digits in ["1", "5", "80", "81", zeros + "1", zeros + "19", nines + "8", nines + "80"]:
        assert fullmatch(language, digits), digits
    for digits in ["0", "00", zeros + "0", zeros + "01", nines + "9", nines + "98"]:
        assert not fullmatch(language, digits), digits
