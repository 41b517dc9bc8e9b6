"""Which divisors can be enforced, and what is said of the others."""

from fractions import Fraction
from typing import Any

from enforcer.numbers.languages import number_texts
from enforcer.numbers.multiples import NotSpellableError
from enforcer.numbers.sets import NumberSet
from enforcer.schema.lowering.values import why_unwritable
from tests.support.cases import each_case


def numbers(multiple: str | None, not_multiples: list[str] | None, within: Any) -> NumberSet:
    low, high = map(Fraction, within) if within else (None, None)
    divisor = None if multiple is None else Fraction(multiple)
    others = frozenset(map(Fraction, not_multiples or ()))
    return NumberSet(low=low, high=high, multiple=divisor, not_multiples=others)


def can_be_written(numbers: NumberSet) -> bool:
    try:
        number_texts(numbers)
    except NotSpellableError:
        return False
    return True


@each_case
def test_what_can_be_written(multiple: Any, not_multiples: Any, within: Any, good: bool) -> None:
    assert can_be_written(numbers(multiple, not_multiples, within)) is good


@each_case
def test_a_refusal_says_what_is_too_much(multiple: Any, not_multiples: Any, said: str) -> None:
    refused = numbers(multiple, not_multiples, None)
    assert not can_be_written(refused)
    found = why_unwritable(refused)
    assert said in found
    assert ("negated" in found) == (not said.startswith("the divisors") and "997" in said)
    assert ("bounds" in found) == (multiple is not None)
    assert "list the values in an `enum`" in found
