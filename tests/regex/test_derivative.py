from itertools import product

import pytest
from hypothesis import assume, given

from enforcer.regex import (
    ANY,
    NOTHING,
    RegexBudget,
    both,
    either,
    example,
    finite_members,
    fullmatch,
    growth,
    inverse,
    is_empty,
    is_surely_empty,
    length,
    literal,
    parse,
)
from enforcer.regex import derivative as derivative_module
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.derivative import derivative, first_classes, readable
from enforcer.regex.syntax import Regex
from tests.languages import languages

_BUDGET = 300


@given(languages)
def test_an_example_is_a_shortest_member(language: Regex) -> None:
    try:
        found = example(language, budget=_BUDGET)
    except RegexBudget:
        assume(False)
    assert (found is None) == is_empty(language, budget=_BUDGET)
    if found is not None:
        assert fullmatch(language, found)
        assert len(found) >= language.shortest
        for size in range(min(len(found), 3)):
            assert not any(fullmatch(language, "".join(t)) for t in product("ab0 ,", repeat=size))


@given(languages)
def test_classes_partition_and_derivatives_agree_within(language: Regex) -> None:
    classes = first_classes(language)
    assert sum(map(len, classes)) == len(ALL)
    for members in classes:
        last = chr(members.ranges[-1][1])
        assert derivative(language, members.first) == derivative(language, last)


@given(languages)
def test_finite_members_are_all_of_them(language: Regex) -> None:
    try:
        found = finite_members(language, 40, budget=_BUDGET)
    except RegexBudget:
        assume(False)
    assume(found is not None)
    assert len(set(found)) == len(found)
    assert all(fullmatch(language, text) for text in found)
    assert is_empty(both(language, inverse(either(*map(literal, found)))), budget=10 * _BUDGET)


def test_finite_members() -> None:
    assert finite_members(parse("^(?:a|b)?c$"), 5) == ("c", "ac", "bc")
    assert finite_members(parse("^[ab]{2}$"), 4) == ("aa", "ab", "ba", "bb")
    assert finite_members(parse("^[ab]{2}$"), 3) is None
    assert finite_members(ANY, 5) is None
    assert finite_members(NOTHING, 5) == ()
    assert finite_members(both(parse("^a*$"), length(0, 2)), 9) == ("", "a", "aa")
    assert finite_members(both(parse("a"), inverse(parse("b")), length(1, 1)), 2) == ("a",)


def test_emptiness_of_patterns_that_exclude_each_other() -> None:
    assert is_empty(both(parse("^a"), parse("^b")))
    assert is_empty(both(parse("^[a-z]+$"), parse("[0-9]")))
    assert is_empty(both(parse("^(?:aa)*$"), parse("^a(?:aa)*$")))
    assert not is_empty(both(parse("^(?:aa)+$"), parse("^(?:aaa)+$")))
    assert example(both(parse("^(?:aa)+$"), parse("^(?:aaa)+$"))) == "aaaaaa"


def test_long_members_are_found_without_exploring_all_shorter_texts() -> None:
    long = both(parse("^[a-z]*$"), length(2000, 2000), inverse(parse("foo")), parse("bar"))
    assert not is_empty(long, budget=2100)


def test_many_texts_are_one_state_after_another() -> None:
    names = [f"name_{i * 7919}" for i in range(2000)]
    language = either(*map(literal, names))
    assert finite_members(language, 2000) == tuple(sorted(names, key=lambda n: (len(n), n)))
    assert finite_members(language, 1999) is None
    assert not is_empty(both(inverse(language), parse("^name_[0-9]+$")), budget=1000)
    assert is_empty(both(language, inverse(parse("^name_"))), budget=200)


def test_a_question_beyond_its_budget_is_refused() -> None:
    hard = both(parse("^(?:aa)*b*$"), parse(f"^(?:{'a' * 1999})+$"), parse("c"))
    with pytest.raises(RegexBudget, match="100 states"):
        is_empty(hard, budget=100)
    with pytest.raises(RegexBudget):
        example(hard, budget=100)
    assert not is_surely_empty(hard, budget=100)
    assert is_surely_empty(both(parse("^a*$"), literal("b")))


def test_a_state_that_many_texts_lead_to_is_one() -> None:
    language = both(parse("^(?:ax|by){40}$"), inverse(parse("q")))
    assert fullmatch(language, example(language, budget=1_000))
    assert not is_empty(language, budget=1_000)


def test_growth_tells_ambiguous_counts_from_clear_ones() -> None:
    assert growth(parse("^[a-z]{1,1000}(-[a-z]{1,50}){3}$"), budget=10_000) < 5_000
    assert growth(parse("^([a-z]{1,100},){1,100}$"), budget=10_000) < 5_000
    assert growth(parse("^([a-z]{1,100},?){1,100}$"), budget=10_000) > 10_000
    assert growth(parse("^[a-z]*(a|ab)*$"), budget=10_000) == 0  # nothing is counted


def test_growth_is_of_counts_inside_counts_alone() -> None:
    flat, nested = parse("^(?:ab){1,30}$"), parse("^(?:a{1,9}b?){1,9}$")
    assert growth(flat, budget=10**6) == 0
    assert growth(nested, budget=10**6) > 64
    assert growth(parse("^(?:(?:a|bb){2,}c?){2,}$"), budget=10**6) > 64
    # Going on stops soon after the budget is spent.
    assert 100 < growth(nested, budget=100) < growth(nested, budget=10**6)


def test_what_follows_in_a_large_language_is_not_kept() -> None:
    large = either(*(literal(f"{at:05}") for at in range(1_000)))
    small = either(*(literal(f"{at:02}") for at in range(20)))
    before = derivative_module._memoized.cache_info().currsize
    assert derivative(large, "0") == derivative(large, "0") != NOTHING
    assert derivative_module._memoized.cache_info().currsize == before
    derivative(small, "0")
    known = derivative_module._memoized.cache_info().hits
    derivative(small, "0")
    assert derivative_module._memoized.cache_info().hits > known


@pytest.mark.parametrize(
    ("members", "chosen"),
    [("!09az", "a"), ("!~09", "0"), ("!\x1f", "!"), ("\x1f\x80", "\x1f"), ("Ab", "b")],
)
def test_of_some_characters_one_is_shown_that_can_be_read(members: str, chosen: str) -> None:
    assert readable(CharSet.span(*members)) == chosen
