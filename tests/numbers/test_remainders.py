"""Divisors that divide no power of ten: every number of a range, and how they are split."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.remainders import MOST_REMAINDERS, divisible, ending, factors
from enforcer.regex import both, example, finite_members, fullmatch, inverse, is_empty
from tests.schema_judge import accepts, compiled
from tests.string_texts import StringTexts


@pytest.mark.slow
@pytest.mark.parametrize("divisor", [3, 7, 9, 21, 49, 101, 693])
def test_every_number_up_to_a_thousand(divisor: int) -> None:
    grammar = compiled({"type": "integer", "multipleOf": divisor})
    found = [n for n in range(1001) if accepts(grammar, str(n))]
    assert found == list(range(0, 1001, divisor))
    assert accepts(grammar, str(-divisor))
    assert not accepts(grammar, f"0{divisor}")


@given(st.integers(1, 20_000).map(lambda n: 2 * n + 1))
def test_factors_are_powers_of_different_primes(divisor: int) -> None:
    found = factors(divisor)
    if found is None:
        assert divisor > MOST_REMAINDERS
        return
    assert math.prod(found) == divisor
    assert all(each <= MOST_REMAINDERS for each in found)
    assert all(math.gcd(a, b) == 1 for i, a in enumerate(found) for b in found[:i])


@given(st.sampled_from([3, 7, 9, 49]), st.integers(0, 3), st.text("0123456789", max_size=6))
def test_digits_in_one_run_are_a_multiple(divisor: int, places: int, text: str) -> None:
    language = divisible(divisor, 3, places)
    before, behind = text[: len(text) - places], text[len(text) - places :]
    spelled = f"{before}.{behind}" if places else text
    fits = len(text) >= places and len(before) <= 3
    expected = fits and int(text or "0") % divisor == 0
    assert fullmatch(language, spelled) == expected


@given(st.sampled_from([2, 4, 8, 16, 625]), st.integers(0, 10**6), st.integers(0, 3))
def test_the_last_digits_tell_of_divisors_of_powers_of_ten(
    divisor: int, number: int, zeros: int
) -> None:
    text = "0" * zeros + str(number)
    assert fullmatch(ending(divisor, 4), text) == (number % divisor == 0)


def test_endings_are_bounded() -> None:
    assert ending(2**12, 12) is not None
    assert ending(2**13, 13) is None


DIVISORS = st.sampled_from([3, 7, 9, 13, 49, 199])


@given(DIVISORS, st.integers(0, 10**6), st.booleans(), st.integers(0, 3))
def test_the_digits_in_one_run_are_a_multiple(
    divisor: int, number: int, near: bool, places: int
) -> None:
    number = number * divisor if near else number
    text = str(number).rjust(places + 1, "0")
    if places:
        text = f"{text[:-places]}.{text[-places:]}"
    language = divisible(divisor, 8, places)
    fits = len(text.split(".", maxsplit=1)[0]) <= 8
    assert fullmatch(language, text) == (fits and number % divisor == 0)
    assert not fullmatch(language, f"{text}.")


@given(st.sampled_from([(4, 2), (8, 3), (16, 4), (25, 2), (2048, 11)]), st.integers(0, 10**13))
def test_an_ending_decides_about_divisors_of_powers_of_ten(
    divisor: tuple[int, int], number: int
) -> None:
    for each in (number, number * divisor[0]):
        assert fullmatch(ending(*divisor), str(each)) == (each % divisor[0] == 0)


def test_too_many_endings_are_none_at_all() -> None:
    assert ending(1 << 13, 13) is None


@pytest.mark.parametrize(("number", "parts"), [(9, (9,)), (105, (3, 5, 7)), (1009, None)])
def test_factors_are_powers_of_primes(number: int, parts: tuple[int, ...] | None) -> None:
    assert factors(number) == parts


def test_questions_about_a_named_language_are_answered() -> None:
    language = divisible(7, 2, 0)
    listed = finite_members(language, 200)
    assert len(set(listed)) == len(listed)
    assert {int(x) for x in listed if x} == set(range(0, 100, 7))
    assert is_empty(both(language, inverse(language)))
    assert example(both(language, divisible(13, 2, 0), inverse(divisible(3, 2, 0)))) == "91"
    assert language == divisible(7, 2, 0) != divisible(7, 3, 0)


@given(st.integers(0, 999), st.integers(0, 2))
def test_an_automaton_follows_them(number: int, places: int) -> None:
    text = str(number).rjust(places + 1, "0")
    text = f"{text[:-places]}.{text[-places:]}" if places else text
    assert StringTexts(divisible(7, 3, places)).accepts(f'"{text}"') == (number % 7 == 0)


def test_a_value_is_the_fraction_that_it_says() -> None:
    assert fullmatch(divisible(3, 4, 2), "0.75")
    assert Fraction("0.75") % Fraction("0.03") == 0
