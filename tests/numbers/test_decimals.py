"""Plain decimals within bounds, against comparing them."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.decimals import DIGITS, PLACES, at_least, at_most, whole_range
from enforcer.regex import fullmatch

_bounds = st.decimals(0, 300, places=3).map(Fraction) | st.integers(0, 2000).map(Fraction)
_texts = (
    st.decimals(0, 400, places=4).map(lambda x: format(x, "f"))
    | st.integers(0, 3000).map(str)
    | st.decimals(0, 300, places=1).map(lambda x: format(x, "f") + "000")
)


@given(_bounds, st.booleans(), st.lists(_texts, min_size=5))
def test_bounds(bound: Fraction, is_open: bool, texts: list[str]) -> None:
    near = [str(bound.numerator // bound.denominator + n) for n in (0, 1)]
    if bound.denominator in (1, 2, 4, 5, 8):
        near.append(f"{float(bound):.6f}")
    for text in (*texts, *near):
        value = Fraction(text)
        above = value > bound or (value == bound and not is_open)
        below = value < bound or (value == bound and not is_open)
        assert fullmatch(at_least(bound, is_open=is_open), text) == above, text
        assert fullmatch(at_most(bound, is_open=is_open), text) == below, text


@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 4000))
def test_whole_numbers_between_two(low: int, high: int, number: int) -> None:
    if low <= high:
        assert fullmatch(whole_range(low, high), str(number)) == (low <= number <= high)
        assert not fullmatch(whole_range(low, high), f"0{number}")


def test_what_is_no_plain_decimal_is_neither() -> None:
    for text in ("01", "1.", ".5", "-1", "1e3", "", "1" * (DIGITS + 2), "1." + "1" * (PLACES + 1)):
        assert not fullmatch(at_least(Fraction(0), is_open=False), text)
        assert not fullmatch(at_most(Fraction(10**30), is_open=False), text)
