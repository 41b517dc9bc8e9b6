"""Which divisors can be enforced, and what is said of the others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.numbers.sets import NumberSet
from enforcer.schema.lowering.values import why_unwritable


def can_be_written(numbers: NumberSet) -> bool:
    try:
        number_texts(numbers)
    except NotSpellableError:
        return False
    return True


@pytest.mark.parametrize(
    ("numbers", "good"),
    [
        (NumberSet(), True),
        (NumberSet(multiple=Fraction(1009)), True),
        (NumberSet(multiple=Fraction(102_400)), True),
        (NumberSet(multiple=Fraction(1_301)), False),
        (NumberSet(multiple=Fraction(1_301), low=Fraction(0), high=Fraction(9000)), True),
        (NumberSet(multiple=Fraction(10**9)), True),
        (NumberSet(multiple=Fraction(10**20 + 39)), False),
        (NumberSet(not_multiples=frozenset({Fraction(10**20 + 39)})), False),
    ],
)
def test_what_can_be_written(numbers: NumberSet, good: bool) -> None:
    assert can_be_written(numbers) is good


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        (NumberSet(multiple=Fraction(8191)), "8191 is too large: one may be up to 1,300, and"),
        (
            NumberSet(multiple=Fraction(1), not_multiples=frozenset({Fraction(997)})),
            "the divisor 997 cannot be enforced negated: ",
        ),
        (
            NumberSet(multiple=Fraction(1001), not_multiples=frozenset({Fraction(8)})),
            "the divisors 1001 and 8 cannot be enforced together: ",
        ),
        (NumberSet(multiple=Fraction("0.123456789")), "the divisor 0.123456789 cannot be"),
        (NumberSet(multiple=Fraction(10**30 + 57)), "the divisor of 31 digits is too large: "),
    ],
)
def test_a_refusal_says_what_is_too_much(numbers: NumberSet, said: str) -> None:
    assert not can_be_written(numbers)
    found = why_unwritable(numbers)
    assert said in found
    assert ("negated" in found) == (not said.startswith("the divisors") and "997" in said)
    assert ("bounds" in found) == (numbers.multiple is not None)
    assert "list the values in an `enum`" in found


@pytest.mark.parametrize(
    "numbers",
    [
        NumberSet(multiple=Fraction(1000)),
        NumberSet(multiple=Fraction(991)),
        NumberSet(multiple=Fraction(4095)),
        NumberSet(multiple=Fraction(4096)),
        NumberSet(not_multiples=frozenset({Fraction(512)})),
        NumberSet(not_multiples=frozenset({Fraction(3375 // 27 * 32)})),
        NumberSet(not_multiples=frozenset({Fraction(199)})),
        NumberSet(multiple=Fraction(7), not_multiples=frozenset({Fraction(28)})),
        NumberSet(multiple=Fraction("0.25")),
        NumberSet(multiple=Fraction("0.001")),
        NumberSet(multiple=Fraction(1999), low=Fraction(0), high=Fraction(1999 * 199)),
        NumberSet(multiple=Fraction(997), low=Fraction(-(10**15)), high=Fraction(10**15)),
    ],
)
def test_what_a_refusal_offers_is_taken(numbers: NumberSet) -> None:
    assert can_be_written(numbers)
