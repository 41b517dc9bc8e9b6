"""Divisors that divide no power of ten: every number of a range, and how they are split."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schema_judge import accepts, compiled

from enforcer.numbers.remainders import MOST_REMAINDERS, divisible, ending, factors
from enforcer.regex import fullmatch


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


@given(st.sampled_from([3, 7, 9, 49]), st.integers(0, 3), st.text("0123456789", max_size=6))
def test_digits_in_one_run_are_a_multiple(divisor, places, text):
    language = divisible(divisor, 3, places)
    before, behind = text[: len(text) - places], text[len(text) - places :]
    spelled = f"{before}.{behind}" if places else text
    fits = len(text) >= places and len(before) <= 3
    expected = fits and int(text or "0") % divisor == 0
    assert fullmatch(language, spelled) == expected


@given(st.sampled_from([2, 4, 8, 16, 625]), st.integers(0, 10**6), st.integers(0, 3))
def test_the_last_digits_tell_of_divisors_of_powers_of_ten(divisor, number, zeros):
    text = "0" * zeros + str(number)
    assert fullmatch(ending(divisor, 4), text) == (number % divisor == 0)


def test_endings_are_bounded():
    assert ending(2**12, 12) is not None
    assert ending(2**13, 13) is None
