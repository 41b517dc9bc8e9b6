"""Automata and plain expressions of languages have the members of the languages."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from languages import languages, texts

from enforcer.regex import RegexBudget, fullmatch, inverse, parse
from enforcer.regex.plain import automaton, plain

BUDGET = 400


def within_budget(make, language):
    try:
        return make(language, BUDGET)
    except RegexBudget:
        assume(False)


@given(languages, texts())
def test_a_plain_expression_has_the_same_members_and_no_operators(language, text):
    found = within_budget(plain, language)
    assert not found.boolean
    assert fullmatch(found, text) == fullmatch(language, text)


@given(languages, texts())
def test_an_automaton_has_the_same_members(language, text):
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
def test_every_state_but_a_first_without_end_leads_to_an_end(language):
    states = within_budget(automaton, language)
    live = {i for i, state in enumerate(states) if state.accepting}
    for _ in states:
        live |= {i for i, state in enumerate(states) if any(to in live for _, to in state.moves)}
    assert set(range(1, len(states))) <= live


def test_a_budget_is_kept():
    hard = inverse(parse("^(a|b)*a(a|b){9}$"))
    for make in (automaton, plain):
        with pytest.raises(RegexBudget):
            make(hard, 20)
