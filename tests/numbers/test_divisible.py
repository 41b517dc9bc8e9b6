"""Numbers whose digits are a multiple, read in one run."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.decimals import POINT, digits
from enforcer.numbers.multiples import divisible
from enforcer.regex import Regex, both, example, finite_members, fullmatch, inverse, is_empty
from enforcer.regex.constructors import concat
from tests.schema_judge import accepts, compiled
from tests.string_texts import StringTexts


def _few(divisor: int, most: int, places: int = 0) -> Regex:
    shown = (POINT, digits(places, places)) if places else ()
    return both(divisible(divisor), concat(digits(0, most), *shown))


@pytest.mark.slow
@pytest.mark.parametrize("divisor", [3, 7, 9, 21, 49, 101, 693])
def test_every_number_up_to_a_thousand(divisor: int) -> None:
    grammar = compiled({"type": "integer", "multipleOf": divisor})
    assert [n for n in range(1001) if accepts(grammar, str(n))] == list(range(0, 1001, divisor))
    assert accepts(grammar, str(-divisor))
    assert not accepts(grammar, f"0{divisor}")


@given(
    st.sampled_from([1, 2, 3, 7, 9, 16, 49, 100, 625]),
    st.integers(0, 3),
    st.text("0123456789", max_size=6),
)
def test_digits_in_one_run_are_a_multiple(divisor: int, places: int, text: str) -> None:
    language = _few(divisor, 3, places)
    before, behind = text[: len(text) - places], text[len(text) - places :]
    spelled = f"{before}.{behind}" if places else text
    expected = (len(text) >= places and len(before) <= 3) and int(text or "0") % divisor == 0
    assert fullmatch(language, spelled) == expected


@given(st.sampled_from([4, 8, 16, 25, 2048, 4096]), st.integers(0, 10**13), st.integers(0, 3))
def test_last_digits_tell_divisors_of_powers_of_ten(divisor: int, number: int, zeros: int) -> None:
    for each in (number, number * divisor):
        assert fullmatch(divisible(divisor), "0" * zeros + str(each)) == (each % divisor == 0)


@pytest.mark.parametrize(("divisor", "states"), [(1, 1), (7, 7), (8, 5), (4096, 412), (100, 3)])
def test_remainders_that_no_digits_tell_apart_are_one_state(divisor: int, states: int) -> None:
    assert len(divisible(divisor).automaton.accepts) == states


@pytest.mark.parametrize("divisor", [5**6, 5**8, 2 * 5**7])
def test_a_large_divisor_of_a_power_of_ten_has_its_endings(divisor: int) -> None:
    language = divisible(divisor)
    for number in (0, divisor, 3 * divisor, 10**9 * divisor, 7, divisor + 1, 10**9 * divisor - 5):
        for text in (
            str(number),
            f"00{number}",
            f"{number}.",
            f"{str(number)[:3]}.{str(number)[3:]}",
        ):
            assert fullmatch(language, text) == (number % divisor == 0), text


@pytest.mark.parametrize("divisor", [5_003, 2**13, 5**12])
def test_others_have_too_many_remainders(divisor: int) -> None:
    assert divisible(divisor) is None


def test_questions_about_a_state_are_answered() -> None:
    language = _few(7, 2)
    listed = finite_members(language, 200)
    assert len(set(listed)) == len(listed)
    assert {int(x) for x in listed if x} == set(range(0, 100, 7))
    assert is_empty(both(language, inverse(language)))
    assert example(both(language, _few(13, 2), inverse(_few(3, 2)))) == "91"
    assert language == _few(7, 2) != _few(7, 3)


@given(st.integers(0, 999), st.integers(0, 2))
def test_an_automaton_follows_them(number: int, places: int) -> None:
    text = str(number).rjust(places + 1, "0")
    text = f"{text[:-places]}.{text[-places:]}" if places else text
    assert StringTexts(_few(7, 3, places)).accepts(f'"{text}"') == (number % 7 == 0)


def test_a_value_is_the_fraction_that_it_says() -> None:
    assert fullmatch(divisible(3), "0.75")
    assert Fraction("0.75") % Fraction("0.03") == 0
