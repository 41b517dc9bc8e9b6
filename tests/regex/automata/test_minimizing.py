from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enforcer.machine import automata
from enforcer.regex import ANY, NOTHING, Regex, fullmatch, length, parse
from enforcer.regex.automata import minimizing
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import minimal
from enforcer.regex.syntax import Explored
from tests.languages import SHARP, accepted, languages, texts


@given(st.lists(languages, min_size=1, max_size=6).map(tuple), texts(SHARP))
@example((length(0, 3), ANY), "abcd")
@example((NOTHING,), "")
@settings(deadline=None)
def test_the_minimal_automaton_has_the_same_languages(tuple_: tuple[Regex, ...], text: str) -> None:
    found, _, _ = minimal(explore(tuple_))
    expected = sum(1 << k for k, each in enumerate(tuple_) if fullmatch(each, text))
    assert accepted(found, text) == expected


def _are_told_apart(found: Explored, one: int, other: int) -> bool:
    """Return whether some text tells two states apart, by following both at once."""
    seen = {(one, other)}
    pending = [(one, other)]
    for states in pending:
        ends = [0 if each < 0 else found.accepts[each] for each in states]
        if ends[0] != ends[1]:
            return True
        dead = [-1] * len(found.atoms)
        rows = [dead if each < 0 else found.rows[each].tolist() for each in states]
        for first, second in zip(*rows, strict=True):
            if (first, second) not in seen:
                seen.add((first, second))
                pending.append((first, second))
    return False


@given(st.lists(languages, min_size=1, max_size=2).map(tuple))
@example((parse("^(?:[ab]{3}c)*$"),))
@settings(deadline=None, max_examples=30)
def test_no_two_states_are_equal(tuple_: tuple[Regex, ...]) -> None:
    found, _, _ = minimal(explore(tuple_))
    if len(found.accepts) <= 40:
        for one, other in combinations(range(len(found.accepts)), 2):
            assert _are_told_apart(found, one, other)


def test_what_takes_too_long_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = explore((parse("^(?:a[bc]{3}|d(?:bc|cb|bb|cc)[bc])$"),))
    assert len(minimal(found)[0].accepts) < len(found.accepts)
    monkeypatch.setattr(minimizing, "_MOST_ROWS", 0)
    assert minimal(found)[0].accepts == found.accepts


def test_large_automata_are_minimal(monkeypatch: pytest.MonkeyPatch) -> None:
    language = parse("^(?:a[bc]{3}|d(?:bc|cb|bb|cc)[bc])$")
    usual = automata.automaton_of((language,)).states
    monkeypatch.setattr(automata, "_MANY_STATES", 3)
    assert automata.automaton_of((language, NOTHING)).states < usual
