"""Divisors that divide no power of ten: every number of a range, and how they are split."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_judge import accepts, compiled

from enforcer.numbers.remainder_text import MOST_REMAINDERS, definitions, ending, factors, reference


@pytest.mark.parametrize("divisor", [3, 7, 9, 21, 49, 101, 693])
def test_every_number_up_to_a_thousand(divisor):
    grammar = compiled({"type": "integer", "multipleOf": divisor})
    found = [n for n in range(1001) if accepts(grammar, str(n))]
    assert found == list(range(0, 1001, divisor))
    assert accepts(grammar, str(-divisor))
    assert not accepts(grammar, f"0{divisor}")


@given(st.integers(1, 20_000).map(lambda n: 2 * n + 1))
def test_factors_are_powers_of_different_primes(divisor):
    found = factors(divisor)
    if found is None:
        assert divisor > MOST_REMAINDERS
        return
    assert math.prod(found) == divisor
    assert all(each <= MOST_REMAINDERS for each in found)
    assert all(math.gcd(a, b) == 1 for i, a in enumerate(found) for b in found[:i])


def test_what_is_referred_to_is_defined_once_and_refers_to_nothing_else():
    expression = f"{reference(7, 3, 0)} & {reference(7, 2, 1)} | {ending(16, 4)}"
    lines = definitions(expression)
    names = [line.split(":")[0] for line in lines]
    assert len(set(names)) == len(names)
    assert not set(definitions("\n".join(lines))) - set(lines)
    assert definitions("/[0-9]+/") == []


def test_endings_are_bounded():
    assert ending(2**12, 12) is not None
    assert ending(2**13, 13) is None
