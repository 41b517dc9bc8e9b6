"""Multiples that an engine's own arithmetic follows: the halves hold what the set holds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.numbers.division import can_be_written, divided, reason
from enforcer.numbers.sets import NumberSet, contains

if TYPE_CHECKING:
    from enforcer.numbers.division import Multiples


_bounds = st.none() | st.integers(-2000, 2000).map(Fraction)
_sets = st.builds(
    NumberSet,
    _bounds,
    st.booleans(),
    _bounds,
    st.booleans(),
    st.sampled_from([Fraction(7), Fraction(3, 4), Fraction(97), Fraction(1, 10)]),
)


def within(part: Multiples, value: Fraction) -> bool:
    value = -value if part.negative else value
    low, high = Fraction(repr(part.low)), Fraction(repr(part.high))
    return (
        (value > low or (value == low and not part.low_open))
        and (value < high or (value == high and not part.high_open))
        and (value / Fraction(repr(part.multiple))).denominator == 1
    )


@given(_sets, st.integers(-400, 400))
def test_halves_hold_what_the_set_holds(numbers: NumberSet, factor: int) -> None:
    value = factor * numbers.multiple
    try:
        parts = divided(numbers)
    except UnsupportedSchema:
        assert not contains(numbers, value)
        return
    assert any(within(part, value) for part in parts) == contains(numbers, value)
    assert not any(within(part, value + numbers.multiple / 3) for part in parts)
    assert all(part.whole == (numbers.multiple.denominator == 1) for part in parts)


@pytest.mark.parametrize(
    ("numbers", "good"),
    [
        (NumberSet(), True),
        (NumberSet(multiple=Fraction(1009)), False),
        (NumberSet(multiple=Fraction(1009), low=Fraction(0), high=Fraction(9000)), True),
        (NumberSet(multiple=Fraction(10**9)), True),
        (NumberSet(multiple=Fraction(10**20 + 39)), False),
        (NumberSet(not_multiples=frozenset({Fraction(10**20 + 39)})), False),
    ],
)
def test_what_can_be_written(numbers: NumberSet, good: bool) -> None:
    assert can_be_written(numbers) is good


def test_what_cannot_be_divided_is_refused_with_a_reason() -> None:
    for numbers in (
        NumberSet(),
        NumberSet(multiple=Fraction(7), not_multiples=frozenset({Fraction(2)})),
        NumberSet(multiple=Fraction(1001)),
    ):
        with pytest.raises(UnsupportedSchema, match="enum"):
            divided(numbers)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (NumberSet(multiple=Fraction(1999)), "1999 is too large: one may be up to 1,000, or"),
        (NumberSet(multiple=Fraction(997), low=Fraction(10**16)), "997 cannot be enforced within"),
        (
            NumberSet(multiple=Fraction(1), not_multiples=frozenset({Fraction(211)})),
            "the divisor 211 cannot be enforced negated: ",
        ),
        (
            NumberSet(multiple=Fraction(4004), not_multiples=frozenset({Fraction(8)})),
            "the divisors 4004 and 8 cannot be enforced together: ",
        ),
        (NumberSet(multiple=Fraction("0.123456789")), "the divisor 0.123456789 cannot be"),
        (NumberSet(multiple=Fraction(10**30 + 57)), "the divisor of 31 digits is too large: "),
    ],
)
def test_a_refusal_says_what_is_too_much(numbers: NumberSet, said: str) -> None:
    assert not can_be_written(numbers)
    found = reason(numbers)
    assert said in found
    assert ("negated" in found) == (not said.startswith("the divisors") and "211" in said)
    assert ("bounds" in found) == (numbers.multiple is not None)
    assert "list the values in an `enum`" in found


@pytest.mark.parametrize(
    "numbers",
    [
        NumberSet(multiple=Fraction(1000)),
        NumberSet(multiple=Fraction(991)),
        NumberSet(multiple=Fraction(4095)),
        NumberSet(multiple=Fraction(4096)),
        NumberSet(not_multiples=frozenset({Fraction(4096)})),
        NumberSet(not_multiples=frozenset({Fraction(3375 // 27 * 32)})),
        NumberSet(not_multiples=frozenset({Fraction(199)})),
        NumberSet(multiple=Fraction(1001), not_multiples=frozenset({Fraction(4004)})),
        NumberSet(multiple=Fraction("0.25")),
        NumberSet(multiple=Fraction("0.001")),
        NumberSet(multiple=Fraction(1999), low=Fraction(0), high=Fraction(1999 * 199)),
        NumberSet(multiple=Fraction(997), low=Fraction(-(10**15)), high=Fraction(10**15)),
    ],
)
def test_what_a_refusal_offers_is_taken(numbers: NumberSet) -> None:
    assert can_be_written(numbers)
