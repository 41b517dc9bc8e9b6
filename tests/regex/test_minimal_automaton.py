"""Automata that have been built take the texts that their expressions take, and are minimal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import NOTHING, Regex, both, either, fullmatch, inverse, literal, parse
from enforcer.regex.minimal_automaton import State, TooManyStates, minimal, read

PATTERNS = st.from_regex(r"([ab0]|\(a\|b\)|\[ab\]){1,4}[*+?]?(b|0)?", fullmatch=True)
LANGUAGES = st.recursive(
    st.builds(lambda text: parse(f"^({text})$"), PATTERNS) | st.builds(literal, st.text("ab0")),
    lambda parts: st.builds(either, parts, parts) | st.builds(both, parts, parts),
    max_leaves=4,
)


def takes(language: Regex, text: str) -> bool:
    for char in text:
        language = language.behind(char) if isinstance(language, State) else NOTHING
    return language.nullable


@given(LANGUAGES, st.lists(st.text("ab0", max_size=6), max_size=20))
def test_it_takes_what_the_expression_takes(regex: Regex, texts: list[str]) -> None:
    language = read(json.loads(json.dumps(minimal(regex, 1_000))))
    for text in texts:
        assert takes(language, text) == fullmatch(regex, text)


@given(LANGUAGES, st.text("ab0", max_size=5))
def test_what_is_said_of_a_state_is_true_of_its_texts(regex: Regex, start: str) -> None:
    language = read(minimal(regex, 1_000))
    for char in start:
        language = language.behind(char) if isinstance(language, State) else NOTHING
    if not isinstance(language, State):
        return
    reached = {language: 0}
    queue = [language]
    for state in queue:
        for after in state.after.values():
            if after not in reached:
                reached[after] = reached[state] + 1
                queue.append(after)
    assert language.shortest == min(reached[state] for state in reached if state.nullable)
    assert language.alphabet == {char for state in reached for char in state.after}


@given(LANGUAGES)
def test_no_two_states_are_equal(regex: Regex) -> None:
    rows = minimal(regex, 1_000)
    unlike = {(a, b) for a in range(len(rows)) for b in range(a) if rows[a][0] != rows[b][0]}
    moves = [{char: to for chars, to in row[-1] for char in chars} for row in rows]
    grown = True
    while grown:
        more = {
            (a, b)
            for a in range(len(rows))
            for b in range(a)
            if (a, b) not in unlike
            and (
                moves[a].keys() != moves[b].keys()
                or any(
                    (max(moves[a][c], moves[b][c]), min(moves[a][c], moves[b][c])) in unlike
                    for c in moves[a]
                )
            )
        }
        grown = bool(more)
        unlike |= more
    assert len(unlike) == len(rows) * (len(rows) - 1) // 2


def test_a_language_without_members_has_no_states() -> None:
    empty = both(parse("^a*$"), inverse(parse("^a*$")))
    assert minimal(empty, 100) == []
    assert read([]) == NOTHING


def test_it_is_given_up_in_time() -> None:
    with pytest.raises(TooManyStates):
        minimal(parse("^[ab]*a[ab]{9}$"), 200)
    assert len(minimal(parse("^[ab]*a[ab]{4}$"), 200)) == 2**5
