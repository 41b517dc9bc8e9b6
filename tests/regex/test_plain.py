"""Automata and plain expressions of languages have the members of the languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

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
from enforcer.regex import parse as pattern
from enforcer.regex.plain import automaton, plain
from tests.languages import languages, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.regex.syntax import Regex


BUDGET = 400
T = TypeVar("T")


def within_budget(make: Callable[[Regex, int], T], language: Regex) -> T:
    try:
        return make(language, BUDGET)
    except RegexBudget:
        assume(False)


@given(languages, texts())
def test_a_plain_expression_has_the_same_members_and_no_operators(
    language: Regex, text: str
) -> None:
    found = within_budget(plain, language)
    assert not found.boolean
    assert fullmatch(found, text) == fullmatch(language, text)


@given(languages, texts())
def test_an_automaton_has_the_same_members(language: Regex, text: str) -> None:
    states = within_budget(automaton, language)
    at = 0
    for char in text:
        found = [to for members, to in states[at].moves if char in members]
        assert len(found) <= 1
        if not found:
            at = None
            break
        (at,) = found
    assert (at is not None and states[at].accepting) == fullmatch(language, text)


@given(languages)
def test_every_state_but_a_first_without_end_leads_to_an_end(language: Regex) -> None:
    states = within_budget(automaton, language)
    live = {i for i, state in enumerate(states) if state.accepting}
    for _ in states:
        live |= {i for i, state in enumerate(states) if any(to in live for _, to in state.moves)}
    assert set(range(1, len(states))) <= live


def test_a_budget_is_kept() -> None:
    hard = inverse(parse("^(a|b)*a(a|b){9}$"))
    for make in (automaton, plain):
        with pytest.raises(RegexBudget):
            make(hard, 20)


LETTERS = st.text("ab01-", max_size=7)
LANGUAGES = [
    both(pattern("^[ab]+(-[ab]+)*$"), length(2, 5)),
    inverse(either(literal("ab"), literal("a0"), literal(""))),
    both(pattern("a.*b"), inverse(pattern("0"))),
    either(both(pattern("^a*b"), pattern("1$")), literal("01")),
]


@pytest.mark.parametrize("regex", LANGUAGES, ids=range(len(LANGUAGES)))
@given(text=LETTERS)
def test_plain_is_the_same_language(regex: Regex, text: str) -> None:
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


@pytest.mark.parametrize("regex", LANGUAGES, ids=range(len(LANGUAGES)))
def test_every_state_leads_to_an_end(regex: Regex) -> None:
    states = automaton(regex, 1_000)
    alive = {at for at, state in enumerate(states) if state.accepting}
    for _ in states:
        alive |= {
            at for at, state in enumerate(states) if any(to in alive for _, to in state.moves)
        }
    assert len(alive) == len(states)


def test_a_language_without_members_has_one_state_without_moves() -> None:
    empty = both(pattern("^a+$"), pattern("^b+$"))
    states = automaton(empty, 1_000)
    assert [(state.accepting, state.moves) for state in states] == [(False, ())]
    assert plain(empty, 1_000) == NOTHING


def test_budgets() -> None:
    with pytest.raises(RegexBudget):
        automaton(LANGUAGES[0], 3)
    with pytest.raises(RegexBudget):
        plain(both(pattern("^[ab]+(-[ab]+)*$"), length(0, 40)), 200)
    with pytest.raises(RegexBudget):
        plain(LANGUAGES[0], 5_000, states=3)
