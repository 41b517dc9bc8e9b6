"""Tables of languages agree with the languages, one step at a time and many at once."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.engines.lengths.automaton import Automaton, built, joined
from enforcer.regex import fullmatch, parse
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import NOTHING
from enforcer.regex.derivative import derivative, is_empty
from enforcer.regex.minimal_automaton import TooManyStates
from tests.languages import languages, texts

if TYPE_CHECKING:
    import pytest

    from enforcer.regex import Regex

CODES = np.array(sorted(map(ord, 'abcxyz019 -.é日🙂\n"\\')), np.int32)


def table(language: Regex) -> Automaton:
    assume(not is_empty(language))
    try:
        return Automaton(built(language, 200))
    except TooManyStates:
        assume(False)
        raise


def shortest(language: Regex) -> int | None:
    """Find the nearest end by trying all beginnings, up to six characters of them."""
    states = {language}
    for count in range(7):
        if any(state.nullable for state in states):
            return count
        states = {derivative(state, chr(code)) for state in states for code in CODES} - {NOTHING}
    return None


@given(languages, texts(max_size=6))
def test_a_text_is_a_member_if_it_leads_to_an_end(language: Regex, text: str) -> None:
    automaton = table(language)
    state = 0
    for char in text:
        state = automaton.step(state, char)
        if state < 0:
            break
    assert (state >= 0 and automaton.least(state) == 0) == fullmatch(language, text)
    if state >= 0:
        assert automaton.least(state) <= max(automaton.furthest)


@given(languages)
def test_the_nearest_end_is_as_far_as_it_says(language: Regex) -> None:
    found = shortest(language)
    assume(found is not None)
    assert table(language).least(0) <= (found or 0)


@given(languages, st.lists(st.sampled_from("abxyz01 é日🙂"), min_size=1, max_size=4))
def test_many_steps_are_those_of_one_at_a_time(language: Regex, text: list[str]) -> None:
    automaton = table(language)
    state = 0
    for char in text:
        state = automaton.step(state, char) if state >= 0 else state
    numbers = CODES.searchsorted(np.array([*map(ord, text)], np.int32))[:, np.newaxis]
    (together,) = automaton.run(0, automaton.columns_of(CODES), numbers.astype(np.int32))
    least = automaton.least_of(np.array([together], np.int32))[0]
    assert (state < 0) == (least > 1 << 20)
    if state >= 0:
        assert (together, least) == (state, automaton.least(state))


@given(languages, st.sampled_from([("a", "c"), ("0", "z"), ("é", "日"), (" ", "~"), ("x", "x")]))
def test_ranges_are_looked_at_together(language: Regex, span: tuple[str, str]) -> None:
    automaton = table(language)
    low, high = (np.array([ord(each)], np.int32) for each in span)
    (together,) = automaton.least_within(0, low, high)
    assert together == automaton.least_behind(0, CharSet.of([(ord(span[0]), ord(span[1]))]))


def test_what_is_kept_is_dropped_when_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = Automaton(built(parse("^[a-c]+$"), 9))
    monkeypatch.setattr("enforcer.engines.lengths.automaton._KEPT", 3_000)
    ids = np.arange(100, dtype=np.int64)
    for left in range(9):
        automaton.keep(0, left, ids, None)
        assert (0, left) in automaton.kept or not automaton.kept
        assert len(automaton.kept) <= 3


def test_threads_that_share_a_table_get_the_columns_that_they_asked_for() -> None:
    """The codes and the columns were two values, and one thread took those of another."""
    automaton = Automaton(built(parse("^[a-c]*[0-9x]$"), 50))
    asked = [np.arange(at, at + 64, dtype=np.int32) for at in (32, 64)]
    wanted = [automaton.columns_of(codes).copy() for codes in asked]
    wrong: list[int] = []

    def ask(which: int) -> None:
        for turn in range(4_000):
            at = (which + turn) % 2
            if not np.array_equal(automaton.columns_of(asked[at]), wanted[at]):
                wrong.append(turn)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@given(st.lists(st.tuples(languages, st.integers(0, 3)), min_size=1, max_size=3), texts(max_size=5))
def test_languages_together_are_as_near_to_an_end_as_the_nearest(
    parts: list[tuple[Regex, int]], text: str
) -> None:
    for language, _ in parts:
        table(language)  # assumes that it can be built
    together = [(built(language, 200), more) for language, more in parts]
    try:
        found = Automaton(joined(together, 300))
    except TooManyStates:
        assume(False)
        raise
    most = max(more for _, more in parts)
    apart = [(Automaton(rows), more) for rows, more in together]
    state, states = 0, [0] * len(parts)
    for char in text:
        states = [
            at if at < 0 else each.step(at, char)
            for (each, _), at in zip(apart, states, strict=True)
        ]
        state = found.step(state, char)
        if max(states) < 0:
            assert state < 0
            return
        assert found.least(state) - most == min(
            each.least(at) - more for (each, more), at in zip(apart, states, strict=True) if at >= 0
        )
