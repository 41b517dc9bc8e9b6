"""Spellings as languages: a text is a member if the number that it spells is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from spelled_json import numbers

from enforcer.numbers.languages import number_texts
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, contains, is_empty, single
from enforcer.regex import fullmatch

_bounds = st.none() | st.integers(-30, 30).map(Fraction) | st.just(Fraction("2.5"))
_sets = st.builds(
    NumberSet,
    _bounds,
    st.booleans(),
    _bounds,
    st.booleans(),
    st.sampled_from([None, Fraction(1), Fraction(2), Fraction(1, 4)]),
)


@given(_sets, st.integers(-40, 40) | st.sampled_from([2.5, 0.25, -1.75, 1e-3, 3.0]))
def test_a_spelling_is_a_member_if_its_number_is(numbers_, value):
    assume(not is_empty(numbers_))  # the algebra drops what is empty
    language = number_texts(numbers_)
    for text in numbers(value):
        if contains(numbers_, Fraction(text)) != fullmatch(language, text):
            # Divisors are told by plain digits only, bounds and integers in any notation.
            assert "e" in text.lower()
            assert numbers_.multiple is not None


@pytest.mark.parametrize("numbers_", [REALS, INTEGERS, single(Fraction(1))])
@pytest.mark.parametrize("text", ["", "01", "+1", ".5", "1.", "1e", "--1", "NaN", " 1", "1 "])
def test_what_is_no_json_number_is_no_member(numbers_, text):
    assert not fullmatch(number_texts(numbers_), text)
