"""Spellings of strings and numbers against Python's own JSON reader."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.numbers.languages import number_texts
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, contains, single
from enforcer.regex import (
    ANY,
    RegexBudget,
    both,
    either,
    fullmatch,
    inverse,
    length,
    literal,
    parse,
)
from enforcer.regex.charset import CharSet
from enforcer.regex.plain import automaton, plain
from enforcer.spelling import JSON, framed, spelled

STRINGS = framed(spelled(ANY, JSON), JSON)
LETTERS = st.text("ab01-", max_size=7)
SETS = [
    REALS,
    INTEGERS,
    single(Fraction("3.33")),
    NumberSet(low=Fraction(1), high=Fraction(100), multiple=Fraction(1)),
    NumberSet(low=Fraction(0), low_open=True, high=Fraction(1)),
    NumberSet(multiple=Fraction(1, 4)),
]
LANGUAGES = [
    both(parse("^[ab]+(-[ab]+)*$"), length(2, 5)),
    inverse(either(literal("ab"), literal("a0"), literal(""))),
    both(parse("a.*b"), inverse(parse("0"))),
    either(both(parse("^a*b"), parse("1$")), literal("01")),
]


def is_string(text):
    try:
        return isinstance(json.loads(text), str) and bool(json.loads(text).encode() or True)
    except (ValueError, UnicodeEncodeError):
        return False


@given(st.text(st.sampled_from('"\\/bnu0dD8ceF\té🙂'), max_size=14).map(lambda s: f'"{s}"'))
def test_strings_are_what_json_reads(text):
    assert fullmatch(STRINGS, text) == is_string(text)


@given(st.text(max_size=4), st.text(max_size=4))
def test_a_text_is_spelled_in_every_way_and_is_no_other_text(one, other):
    if not is_string(json.dumps(one)) or not is_string(json.dumps(other)):
        return
    language = framed(spelled(literal(one), JSON), JSON)
    units = one.encode("utf-16-be").hex()
    escapes = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
    forms = [json.dumps(one), json.dumps(one, ensure_ascii=False), f'"{escapes}"']
    assert all(fullmatch(language, form) for form in forms)
    assert fullmatch(language, json.dumps(other)) == (one == other)


@given(
    st.sets(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5),
    st.characters(exclude_categories=["Cs"]),
)
def test_one_character_of_a_set(members, char):
    language = framed(JSON.of_chars(CharSet.span(*members)), JSON)
    for form in (json.dumps(char), json.dumps(char, ensure_ascii=False)):
        assert fullmatch(language, form) == (char in members)


@pytest.mark.parametrize("numbers", SETS, ids=str)
@given(value=st.integers(-130, 130) | st.decimals(-3, 3, places=2))
def test_numbers_are_spelled_exactly_if_they_are_members(numbers, value):
    is_member = contains(numbers, Fraction(str(value)))
    assert fullmatch(number_texts(numbers), str(value)) == is_member
    # Not every set has scientific spellings, but none has one of another number.
    assert is_member or not fullmatch(number_texts(numbers), f"{value:e}")


@pytest.mark.parametrize("text", ["01", "1.", ".5", "+1", "1e", "0x1", "", "-", "1" * 60, "NaN"])
def test_what_is_no_number_or_endless(text):
    assert not fullmatch(number_texts(REALS), text)


@pytest.mark.parametrize("regex", LANGUAGES, ids=range(len(LANGUAGES)))
@given(text=LETTERS)
def test_plain_is_the_same_language(regex, text):
    found = plain(regex, 5_000)
    assert not found.boolean
    assert fullmatch(found, text) == fullmatch(regex, text)
    state = 0
    states = automaton(regex, 1_000)
    for char in text:
        following = [to for members, to in states[state].moves if char in members]
        assert len(following) <= 1
        if not following:
            assert not fullmatch(regex, text)
            return
        state = following[0]
    assert states[state].accepting == fullmatch(regex, text)


def test_budgets():
    with pytest.raises(RegexBudget):
        automaton(LANGUAGES[0], 3)
    with pytest.raises(RegexBudget):
        plain(both(parse("^[ab]+(-[ab]+)*$"), length(0, 40)), 200)
