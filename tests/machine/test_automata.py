from bisect import bisect_right
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enforcer import regex
from enforcer.machine import automata
from enforcer.machine.automata import Automaton, automaton_of
from enforcer.machine.byte_groups import ASCII_GROUPS, CJK, groups_beyond_ascii
from enforcer.machine.lengths import Bound, Bounded, apart
from enforcer.machine.tables import make_usual
from enforcer.numbers.languages import number_texts
from enforcer.numbers.sets import INTEGERS, REALS
from enforcer.regex import ANY, Regex, both, either, fullmatch, length, literal, parse
from enforcer.regex.automata import alphabet, exploring
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.minimizing import FAR
from enforcer.regex.constructors import EPSILON, concat
from enforcer.regex.derivative import derivative
from tests.languages import SHARP, languages, texts


def _class_of(found: Automaton, char: str) -> int:
    by_range = found.range_class[bisect_right(found.range_low.tolist(), ord(char)) - 1]
    if ord(char) < 128:
        assert found.ascii[ord(char)] == by_range
    return int(by_range)


def _state(found: Automaton, text: str) -> int:
    """Return the state behind a text, -1 if nothing begins so."""
    at = 0
    for char in text:
        each = _class_of(found, char)
        at = -1 if each < 0 else int(found.transitions[at, each])
        if at < 0:
            return -1
    return at


def _of_length(found: Automaton, languages: int, fits: Callable[[Bound], bool]) -> int:
    return sum(
        1 << k
        for k in range(languages.bit_length())
        if languages >> k & 1 and (not found.bounds or fits(found.bounds[k]))
    )


def _accepted(found: Automaton, text: str) -> int:
    at = _state(found, text)
    ended = 0 if at < 0 else int(found.accepts[at])
    return _of_length(found, ended, lambda bound: bound.holds(len(text)))


def _leading(found: Automaton, text: str) -> int:
    at = _state(found, text)
    leads = 0 if at < 0 else int(found.leads[at])
    return _of_length(found, leads, lambda bound: bound.is_within(at, len(text)))


def _behind(language: Regex, text: str) -> Regex:
    for char in text:
        language = derivative(language, char)
    return language


@given(st.lists(languages, min_size=1, max_size=3).map(tuple), texts(SHARP))
@example((both(parse("^a+b?$"), length(2, 3)),), "aab")
@example((both(parse("b$"), length(2, 30)),), "b")
@example((length(2, 4),), "ab")
@example((parse("^[ab]{2,4}$"), literal("ab")), "ab")
@settings(deadline=None)
def test_an_automaton_tells_each_language_of_a_text(tuple_: tuple[Regex, ...], text: str) -> None:
    found = automaton_of(tuple_)
    expected = sum(1 << k for k, each in enumerate(tuple_) if fullmatch(each, text))
    assert _accepted(found, text) == expected
    rest = [_behind(each, text) for each in tuple_]
    leads = sum(1 << k for k, each in enumerate(rest) if not regex.is_empty(each))
    assert _leading(found, text) == leads


_counted = st.builds(
    Bounded,
    languages,
    st.integers(0, 3),
    st.none() | st.integers(0, 5),
    st.sampled_from([EPSILON, literal("a"), either(literal("a"), literal("ab"))]),
    st.sampled_from([EPSILON, literal("b"), literal("ab"), literal("aab")]),
)


@given(st.lists(_counted, min_size=1, max_size=3).map(tuple), texts(SHARP))
@example((Bounded(parse("^(a|b)*$"), 2, 3, EPSILON, literal("aab")),), "abaab")
@example((Bounded(parse("^(a|b)*$"), 3, 3, EPSILON, literal("aab")),), "abaab")
@example((Bounded(parse("^(aa)*$"), 3, 4, EPSILON, literal("b")),), "aaab")
@example((Bounded(ANY, 0, 1), Bounded(ANY, 2, 2)), "a")
@settings(deadline=None)
def test_lengths_are_counted_for_each_language_alone(parts: tuple[Bounded, ...], text: str) -> None:
    found = automaton_of(parts)
    whole = [
        concat(each.before, both(each.text, length(each.minimum, each.maximum)), each.behind)
        for each in parts
    ]
    assert _accepted(found, text) == sum(1 << k for k, x in enumerate(whole) if fullmatch(x, text))
    rest = [not regex.is_empty(_behind(each, text)) for each in whole]
    assert _leading(found, text) == sum(1 << k for k, some in enumerate(rest) if some)


@given(languages)
@example(parse("^[a-z]([a-z0-9]{0,61}[a-z0-9])?$"))
@example(both(parse("^(ab|c)*$"), length(30, 40)))
@example(either(parse("^a{3,30}b$"), parse("^c{30}$")))
@settings(deadline=None)
def test_a_language_is_what_is_left_of_it_with_its_lengths(language: Regex) -> None:
    found = apart(language)
    again = both(found.text, length(found.minimum, found.maximum))
    assert regex.is_empty(both(language, regex.inverse(again)))
    assert regex.is_empty(both(again, regex.inverse(language)))


@given(languages)
@settings(deadline=None)
def test_the_distance_of_a_state_is_that_to_the_nearest_end(language: Regex) -> None:
    found = automaton_of((language,))
    for at in range(found.states):
        behind = [int(found.distance[to]) for to in found.transitions[at] if to >= 0]
        expected = 0 if found.accepts[at] else min(behind, default=FAR - 1) + 1
        assert found.distance[at] == min(expected, FAR)
        assert (found.distance[at] < FAR) == bool(found.leads[at])


@given(languages)
@settings(deadline=None)
def test_so_many_characters_of_safe_groups_lead_on(language: Regex) -> None:
    found = automaton_of((language,))
    others = [c for c in SHARP + "一\u9fff\x80\U0010ffff\ue000\ud7ff\u2028" if ord(c) > 127]

    def behind(at: int, char: str) -> int:
        each = _class_of(found, char)
        return int(found.transitions[at, each]) if each >= 0 else -1

    def members(groups: int) -> list[str]:
        within = [c for n, group in enumerate(ASCII_GROUPS) if groups >> n & 1 for c in group]
        return within + [c for c in others if groups & groups_beyond_ascii(ord(c), ord(c))]

    for at in range(found.states):
        chars = members(int(found.safe[at]))
        assert not {'"', "\\"}.intersection(chars)
        for some, steps in ((chars, found.safe_steps[at]), (members(CJK), found.cjk_steps[at])):
            states = {at}
            for _ in range(min(int(steps), 40)):
                states = {behind(state, char) for state in states for char in some}
                assert -1 not in states
        if found.is_free[at]:
            assert all(behind(at, chr(c)) == at for c in (*range(128), *map(ord, others)))


def test_what_counts_characters_is_safe_for_as_many() -> None:
    assert max(automaton_of((parse("^a.{5,9}b$"),)).safe_steps) == 9


def test_characters_beyond_ascii_are_safe_where_others_end_a_text() -> None:
    found = automaton_of((regex.not_matching(r"\w\s."),))
    behind = _state(found, "a")
    assert not found.safe[behind] & CJK
    assert found.cjk_steps[behind] == 32


@pytest.mark.parametrize("numbers", [INTEGERS, REALS])
def test_numbers_are_told_by_every_spelling(numbers: object) -> None:
    language = number_texts(numbers)
    found = automaton_of((language,))
    for count in range(5):
        for text in map("".join, product("-10.eE+", repeat=count)):
            assert bool(_accepted(found, text)) == fullmatch(language, text)


@pytest.mark.parametrize(
    ("language", "states", "minimum", "maximum"),
    [
        (length(3, 2_000), 1, 3, 2_000),
        (parse("^[a-z]{1,64}$"), 1, 1, 64),
        (parse("^[a-z]([a-z0-9]{0,251}[a-z0-9])?$"), 2, 0, 253),
        (both(parse("a"), length(0, 4_000)), 2, 0, 4_000),
        (both(parse("a"), length(3, 4_000)), 7, 0, 4_000),
        (both(parse("a"), length(2_000, 4_000)), 2, 2_000, 4_000),
        (both(parse("^(aa)*$"), length(21, 100)), 23, 0, 100),
    ],
)
def test_lengths_take_no_states(language: Regex, states: int, minimum: int, maximum: int) -> None:
    found = automaton_of((language,))
    assert found.states == states
    assert found.bounds[0][:2] == (minimum, maximum)


_SOME = both(parse("^(ab|c)*$"), length(0, 60))


@pytest.mark.parametrize(
    ("others", "maximum"),
    [
        (parse("^d{2,60}$"), 60),
        (both(parse("^(?:dd)*$"), length(0, 60)), 60),
        (both(parse("^(?:dd)*$"), length(0, 40)), 60),
        (parse("^d{2,61}$"), -1),
        (parse("^d*$"), -1),
    ],
)
def test_the_greatest_length_of_alternatives_may_be_a_register(others: Regex, maximum: int) -> None:
    language = either(_SOME, others)
    found = automaton_of((language,))
    assert (found.bounds[0].maximum if found.bounds else -1) == maximum
    for text in ("ab" * 30, "ab" * 30 + "c", *("d" * n for n in (2, 40, 42, 60, 61, 62))):
        fits = bool(_accepted(found, text)) and (maximum < 0 or len(text) <= maximum)
        assert fits == fullmatch(language, text), text


def test_nothing_has_one_state_that_leads_nowhere() -> None:
    found = automaton_of((regex.NOTHING,))
    assert (found.states, found.leads.tolist(), found.transitions.tolist()) == (1, [0], [[-1]])


def test_an_automaton_with_too_many_states_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    language = (parse("a.{20}b"),)
    with pytest.raises(TooLargeError, match=r"automaton .* before it, smaller counts"):
        automaton_of(language)
    monkeypatch.delattr(automata, "explore")  # the second time, nothing is explored
    with pytest.raises(TooLargeError):
        automaton_of(language)


@pytest.mark.parametrize(("limit", "most"), [("MOST_STATES", 50), ("MOST_CELLS", 100)])
def test_states_are_limited(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    monkeypatch.setattr(exploring, limit, most)
    with pytest.raises(TooLargeError, match="more than 50 states"):
        exploring.explore((parse("^x{50}$"),))
    assert len(exploring.explore((parse("^x{49}$"),)).accepts) == 50


def test_long_texts_of_several_lengths_are_held_without_rows_of_their_own() -> None:
    several = ANY, length(0, 6_000), length(7, 5_000)
    assert automaton_of(several).states == 1
    found = automaton_of(tuple(map(Bounded, several)))
    assert (found.states, found.is_wide.tolist()) == (6_002, [False] * 6_001 + [True])
    assert found.safe[0]  # without it, a mask asks for each token of the vocabulary
    assert [int(found.accepts[n]) for n in (6, 7, 5_000, 5_001, 6_000, 6_001)] == [3, 7, 7, 3, 3, 1]


def test_languages_that_take_too_much_work_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = ((parse("(a|b)[ab]{9}c"), parse(each)) for each in "de")
    monkeypatch.setattr(alphabet, "MOST_WORK", 100)
    with pytest.raises(TooLargeError, match="too large to work out"):
        automaton_of(one)
    monkeypatch.undo()
    assert automaton_of(other).states > 20


def test_languages_with_too_many_kinds_of_characters_are_refused() -> None:
    with pytest.raises(TooLargeError, match="classes of characters"):
        automaton_of((literal("".join(map(chr, range(0x4E00, 0x5100)))), ANY))


def test_a_pattern_that_is_nested_too_deeply_is_refused() -> None:
    pattern = "^" + "(?:a|b(?:c" * 31 + ")+)*" * 31 + "$"
    with pytest.raises(TooLargeError, match="nested"):
        automaton_of((parse(pattern), ANY))


def test_automata_are_shared_unless_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (parse("^small$"),), (parse("^(ab){0,1500}$"), ANY)
    assert automaton_of(small) is automaton_of(small)
    assert automaton_of(large) is automaton_of(large)
    monkeypatch.setattr(automata, "_KEPT_HEAVY", 0)
    other = (parse("^(ab){0,1501}$"), ANY)
    assert automaton_of(other) is not automaton_of(other)
    monkeypatch.setattr(automata, "_KEPT", 1)
    first = automaton_of((parse("^first$"),))
    automaton_of((parse("^second$"),))
    assert automaton_of((parse("^first$"),)) is not first


def test_usual_automata_are_there_once_made() -> None:
    make_usual()
    found = automaton_of((number_texts(INTEGERS),))
    assert automaton_of((number_texts(INTEGERS),)) is found


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("^[ab]{1,3}$", 14),
        ("^(a|b[ab]|é)$", 4),
        ("^x{0,9}$", 10),
        ("^[a-z]{9}$", 1 << 20),
        ("^x{90,100}$", 0),  # longer than is looked at
        ("^x*$", 33),
    ],
)
def test_words_are_counted_or_fewer(pattern: str, count: int) -> None:
    assert automaton_of((parse(pattern),)).count_words(0) == count
