import pytest
from hypothesis import given
from hypothesis import strategies as st
from languages import texts

from enforcer.regex import NOTHING, fullmatch
from enforcer.regex.charset import CharSet
from enforcer.regex.elimination import Automaton, TooLargeError, to_regex

_A = CharSet.span("a")
_B = CharSet.span("b01")
_OTHER = ~(_A | _B)
_LETTERS = (_A, _B, _OTHER)


@st.composite
def _automata(draw):
    count = draw(st.integers(1, 5))
    edges = []
    for _ in range(count):
        row = {}
        for letter in _LETTERS:
            target = draw(st.one_of(st.none(), st.integers(0, count - 1)))
            if target is not None:
                row[target] = row.get(target, CharSet(())) | letter
        edges.append(row)
    accepting = draw(st.tuples(*[st.booleans()] * count))
    return Automaton(tuple(edges), accepting)


def _runs(automaton, text):
    state = 0
    for char in text:
        state = next((t for t, members in automaton.edges[state].items() if char in members), None)
        if state is None:
            return False
    return automaton.accepting[state]


@given(_automata(), st.lists(texts("ab0-", max_size=8), min_size=1, max_size=8))
def test_the_expression_accepts_what_the_automaton_accepts(automaton, some):
    expression = to_regex(automaton)
    assert not expression.boolean
    for text in some:
        assert fullmatch(expression, text) == _runs(automaton, text)


def test_an_automaton_that_accepts_nothing():
    assert to_regex(Automaton(({0: _A},), (False,))) == NOTHING


def test_equal_states_are_merged_before_they_are_counted():
    chain = [{i + 1: _A} for i in range(200)]
    same = Automaton((*chain, {200: _A}), (True,) * 201)
    assert to_regex(same).size < 5
    different = Automaton((*chain, {}), (*[False] * 200, True))
    with pytest.raises(TooLargeError):
        to_regex(different)
