"""Multiples: those of many digits, which a reader rounds to the nearest double."""

from __future__ import annotations

from fractions import Fraction

import pytest

from enforcer.numbers.multiples import are_bearable, is_hard, without_places
from tests.schema_judge import accepts, compiled

MANY = ["12345678901234567", "12345678901234567.5", "0.50000000000000000000000"]


@pytest.mark.parametrize("divisor", [0.5, 0.25, 2])
def test_doubles_are_multiples_of_powers_of_two_however_long_the_text(divisor: float) -> None:
    """Whatever a reader rounds such a number to is a multiple of the divisor too."""
    grammar = compiled({"type": "number", "multipleOf": divisor})
    for text in MANY:
        assert accepts(grammar, text) == (Fraction(text) % Fraction(divisor) == 0), text


@pytest.mark.parametrize("text", ["123456789012345678.05", "1234567890123456.35"])
def test_what_a_double_does_not_hold_is_no_multiple_of_another_divisor(text: str) -> None:
    assert not accepts(compiled({"type": "number", "multipleOf": 0.05}), text)
    assert not accepts(compiled({"type": "number", "multipleOf": 0.35}), text)


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
    assert are_bearable([Fraction(7), Fraction(11), Fraction(13)])  # 1001
    assert not are_bearable([Fraction(89), Fraction(97)])  # 8633
    assert are_bearable([])
