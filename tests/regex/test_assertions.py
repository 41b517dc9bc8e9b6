import re
from unittest.mock import Mock

import pytest
from hypothesis import assume, example, given

from enforcer.regex import (
    ANY,
    NOTHING,
    RegexError,
    alternating_automaton,
    assertions,
    both,
    fullmatch,
    is_empty,
    literal,
    not_matching,
    parse,
)
from tests.languages import SHARP, asserting_patterns, plain_patterns, texts
from tests.support.cases import each_case

_AGREED = "abAB01_- .,"  # no reading of any construct differs on these


@given(plain_patterns, texts())
def test_plain_patterns_match_as_in_python(pattern: str, text: str) -> None:
    assert fullmatch(parse(pattern), text) == (re.search(pattern, text) is not None)


@given(asserting_patterns, texts(_AGREED))
@example("(?<=a)b$", "ab")
def test_assertions_match_as_in_python(pattern: str, text: str) -> None:
    assume(text or r"\B" not in pattern)  # Python finds none in an empty string before 3.14
    found = re.search(pattern, text) is not None
    assert fullmatch(parse(pattern), text) == found
    assert fullmatch(not_matching(pattern), text) != found


@given(asserting_patterns, texts(SHARP))
def test_where_readings_differ_both_have_to_agree(pattern: str, text: str) -> None:
    found = re.search(pattern, text) is not None
    if fullmatch(parse(pattern), text):
        assert found
    if fullmatch(not_matching(pattern), text):
        assert not found


@each_case
def test_typical_assertions(pattern: str, members: list[str], others: list[str]) -> None:
    for text in members:
        assert fullmatch(parse(pattern), text)
    for text in others:
        assert not fullmatch(parse(pattern), text)


@pytest.mark.parametrize("pattern", ["a^b", "a$b", "(?!)", r"a\bb", "(?=a)b", r"^[^\s\S]$"])
def test_branches_that_cannot_match_are_nothing(pattern: str) -> None:
    assert is_empty(parse(pattern))


@pytest.mark.parametrize("pattern", ["", "(?=)", "(?!a)|a", "^", "$", "(?:)*", ".*"])
def test_patterns_that_match_everything(pattern: str) -> None:
    assert all(fullmatch(parse(pattern), text) for text in ("", "a", "ab\n", "é"))


def test_usual_anchoring_costs_nothing() -> None:
    assert parse("^foo$") == literal("foo")
    assert parse("^[a-z]*$") == parse("^(?:[a-z]*)$")
    assert parse("") == ANY
    assert parse("a^") == NOTHING
    assert parse("^(?!ab)foo$") == literal("foo")
    assert not parse(r"(?:^|/)x(?:/|$)").boolean


@each_case
def test_texts_on_which_readings_differ_are_in_neither_language(pattern: str, text: str) -> None:
    assert not fullmatch(parse(pattern), text)
    assert not fullmatch(not_matching(pattern), text)


@given(asserting_patterns)
def test_a_pattern_and_its_negation_are_disjoint(pattern: str) -> None:
    language = both(parse(pattern), not_matching(pattern))
    for text in ("", "a", "ab", "é", "٣", "a\n", "\u2028", "_ -"):
        assert not fullmatch(language, text)


@pytest.mark.parametrize(("count", "unrolled"), [(2, True), (64, True), (65, False)])
def test_small_counts_unroll(count: int, unrolled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = Mock(return_value=NOTHING)
    monkeypatch.setattr(alternating_automaton, "language", automaton)
    found = parse(f"^(?:(?!gh)[gh]){{{count}}}$")  # kept by its text: no other test has it
    assert automaton.called != unrolled
    assert fullmatch(found, "h" * count) == unrolled


def test_an_assertion_that_takes_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assertions, "_STEPS", 5)
    with pytest.raises(RegexError, match="makes it too large"):
        parse("((?!a)one|two(?!b))(three|(?=c)four)")
