from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import ANY, NOTHING, fullmatch
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.elimination import Automaton, TooLargeError, to_regex
from tests.languages import texts

_A = CharSet.span("a")
_B = CharSet.span("b01")
_OTHER = ~(_A | _B)
_LETTERS = (_A, _B, _OTHER)


@st.composite
def _automata(draw: st.DrawFn) -> Automaton:
    count = draw(st.integers(1, 5))
    edges = [draw(st.tuples(*[st.integers(0, count - 1)] * 3)) for _ in range(count)]
    return Automaton(_LETTERS, tuple(edges), draw(st.tuples(*[st.booleans()] * count)))


def _runs(automaton: Automaton, text: str) -> bool:
    state = 0
    for char in text:
        letter = next(i for i, members in enumerate(_LETTERS) if char in members)
        state = automaton.edges[state][letter]
    return automaton.accepting[state]


@given(_automata(), st.lists(texts("ab0-", max_size=8), min_size=1, max_size=8))
def test_the_expression_accepts_what_the_automaton_accepts(
    automaton: Automaton, some: list[str]
) -> None:
    expression = to_regex(automaton)
    assert not expression.boolean
    for text in some:
        assert fullmatch(expression, text) == _runs(automaton, text)


def test_an_automaton_that_accepts_nothing() -> None:
    assert to_regex(Automaton((ALL,), ((0,),), (False,))) == NOTHING


def test_equal_states_are_merged_before_they_are_counted() -> None:
    chain = tuple((i + 1,) for i in range(200))
    same = Automaton((ALL,), (*chain, (200,)), (True,) * 201)
    assert to_regex(same) == ANY
    different = Automaton((ALL,), (*chain, (200,)), (*[False] * 200, True))
    with pytest.raises(TooLargeError):
        to_regex(different)
