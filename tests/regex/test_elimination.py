"""Plain expressions of languages have the members of the languages."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.regex import (
    NOTHING,
    RegexBudget,
    both,
    either,
    fullmatch,
    inverse,
    length,
    literal,
    parse,
)
from enforcer.regex.constructors import concat, repeat
from enforcer.regex.elimination import plain
from enforcer.regex.syntax import Regex
from tests.languages import languages, texts

BUDGET = 400


@given(languages, texts())
def test_a_plain_expression_has_equal_members_and_no_operators(language: Regex, text: str) -> None:
    try:
        found = plain(language, BUDGET)
    except RegexBudget:
        assume(False)
    assert not found.boolean
    assert fullmatch(found, text) == fullmatch(language, text)


LETTERS = st.text("ab01-", max_size=7)
LANGUAGES = [
    both(parse("^[ab]+(-[ab]+)*$"), length(2, 5)),
    inverse(either(literal("ab"), literal("a0"), literal(""))),
    both(parse("a.*b"), inverse(parse("0"))),
    either(both(parse("^a*b"), parse("1$")), literal("01")),
]


@pytest.mark.parametrize("regex", LANGUAGES, ids=range(len(LANGUAGES)))
@given(text=LETTERS)
def test_plain_is_the_same_language(regex: Regex, text: str) -> None:
    found = plain(regex, 5_000)
    assert not found.boolean
    assert fullmatch(found, text) == fullmatch(regex, text)


_EMPTY = parse("^(?=.*a)[bc]{1,3}$")  # no text, which is known once its states are


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        (_EMPTY, NOTHING),
        (concat(literal("a"), _EMPTY), NOTHING),
        (repeat(_EMPTY, 1, 2), NOTHING),
        (either(_EMPTY, literal("ab")), literal("ab")),
        (either(concat(literal("a"), _EMPTY), literal("b")), literal("b")),
        (concat(literal("a"), repeat(_EMPTY, 0, 3)), literal("a")),
    ],
)
def test_parts_that_turn_out_to_be_empty_are_left_out(regex: Regex, found: Regex) -> None:
    assert plain(regex, 100) == found


@pytest.mark.parametrize(
    ("regex", "budget"),
    [
        (inverse(parse("^(a|b)*a(a|b){9}$")), 20),
        (LANGUAGES[0], 3),
        (both(parse("^[ab]+(-[ab]+)*$"), length(0, 40)), 200),
    ],
)
def test_budgets(regex: Regex, budget: int) -> None:
    with pytest.raises(RegexBudget):
        plain(regex, budget)
