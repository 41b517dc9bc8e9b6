"""Beginnings of members."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import (
    Regex,
    both,
    breadth,
    demanding,
    is_empty,
    leading,
    literal,
    not_matching,
    parse,
    wandering,
)
from enforcer.regex.derivative import derivative, successors

PATTERNS = (
    "^(?:[a-c]x{0,9}|[d-f]y){1,9}$",
    "a.{3}b",
    "^(?:ab|cd)*$",
    "^[a-c]{2,5}$",
    "(?i)<scr|on\\w+=",
)


def is_beginning(language: Regex, text: str) -> bool:
    return not is_empty(both(language, parse(f"^{re.escape(text)}")))


def test_demanding_texts_begin_members_and_are_as_long_as_wanted() -> None:
    language = parse("^(?:[a-c]x{0,9}|[d-f]y){1,9}$")
    found = demanding(language, 20, 2, budget=10**6)
    assert len({text[0] for text in found}) == len(found) == 2
    assert [len(text) for text in found] == [20, 20]
    assert all(is_beginning(language, text) for text in found)
    # What may follow is more after the first of a count than after the others.
    assert found[0][0] in "abc"


def test_demanding_texts_end_with_the_members_and_with_the_budget() -> None:
    assert demanding(literal("abc"), 20, 5, budget=10**6) == ["abc"]
    assert demanding(parse("^a{99}$"), 20, 5, budget=1) == ["aa"]
    assert demanding(literal(""), 20, 5, budget=10**6) == []


def after(language: Regex, text: str) -> Regex:
    for char in text:
        language = derivative(language, char)
    return language


@pytest.mark.parametrize("pattern", PATTERNS)
def test_leading_texts_come_to_all_that_may_follow(pattern: str) -> None:
    for language in (parse(pattern), not_matching(pattern)):
        found = leading(language, 500, budget=10**6)
        assert all(is_beginning(language, text) for text in found)
        assert not any(one != other and other.startswith(one) for one in found for other in found)
        passed = {after(language, text[:end]) for text in found for end in range(len(text) + 1)}
        assert passed.issuperset(follow for state in passed for _, follow in successors(state))


def test_leading_texts_come_to_the_nearest_where_there_are_too_many() -> None:
    language = parse("a.{30}b")
    found = leading(language, 50, budget=10**6)
    passed = {after(language, text[:end]) for text in found for end in range(len(text) + 1)}
    assert len(passed) == 50
    assert max(map(len, found)) < 10
    assert len(leading(language, 50, budget=100)) < len(found)


def test_breadth_counts_what_may_follow_within_some_characters() -> None:
    assert breadth(literal("abc"), 2, 100, budget=10**6) == 3
    assert breadth(literal("abc"), 9, 100, budget=10**6) == 4
    # Which of the last three characters were an `a`, or that all has been seen.
    assert breadth(parse("a.{2}b"), 50, 1_000, budget=10**6) == 2**3 + 1
    assert breadth(parse("a.{30}b"), 8, 200, budget=10**6) == 200
    assert breadth(parse("^[a-z]{1,400}$"), 8, 200, budget=10**6) < 20
    # Three more at the first character, where two in all are enough.
    assert breadth(parse("^(?:ax|by|cz)$"), 1, 2, budget=10**6) == 2


@given(st.sampled_from(PATTERNS), st.integers(0, 60), st.randoms(use_true_random=False))
def test_wandering_texts_begin_members(pattern: str, length: int, random: Random) -> None:
    for language in (parse(pattern), not_matching(pattern)):
        text = wandering(language, length, random, budget=10**6)
        assert is_beginning(language, text)
        assert len(text) == length or not list(successors(after(language, text)))


def test_wandering_texts_come_to_ever_new_places_where_there_are_many() -> None:
    language = parse("a.{30}b")
    text = wandering(language, 80, Random(1), budget=10**6)
    assert len({after(language, text[:end]) for end in range(80)}) > 60


def test_what_is_spent_ends_both() -> None:
    language = parse("a.{30}b")
    assert breadth(language, 8, 200, budget=100) < 20
    assert 0 < len(wandering(language, 80, Random(1), budget=100)) < 20
