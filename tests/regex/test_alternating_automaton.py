import re

import pytest
from hypothesis import assume, given

from enforcer.regex import RegexError, fullmatch, is_empty, not_matching, parse
from enforcer.regex.alternating_automaton import language
from enforcer.regex.pattern import read
from enforcer.regex.syntax import Regex
from enforcer.regex.tree import Reading
from tests.languages import SHARP, looping_patterns, texts
from tests.support.cases import each_case

_AGREED = "abAB01_- .,"


def _language(pattern: str, reading: Reading = Reading.NARROW) -> Regex:
    try:
        return language(read(pattern), reading, pattern)
    except RegexError as error:
        assume("states" not in error.reason)
        raise


@pytest.mark.slow
@given(looping_patterns, texts(_AGREED))
def test_loops_match_as_in_python(pattern: str, text: str) -> None:
    assume(text or r"\B" not in pattern)
    found = re.search(pattern, text) is not None
    assert fullmatch(_language(pattern), text) == found
    assert fullmatch(_language(pattern, Reading.WIDE), text) == found


@pytest.mark.slow
@given(looping_patterns, texts(SHARP))
def test_where_readings_differ_both_have_to_agree(pattern: str, text: str) -> None:
    found = re.search(pattern, text) is not None
    if fullmatch(_language(pattern), text):
        assert found
    if not fullmatch(_language(pattern, Reading.WIDE), text):
        assert not found


@each_case
def test_typical_loops(pattern: str, members: list[str], others: list[str]) -> None:
    for text in members:
        assert fullmatch(parse(pattern), text)
        assert not fullmatch(not_matching(pattern), text)
    for text in others:
        assert not fullmatch(parse(pattern), text)
        assert fullmatch(not_matching(pattern), text)


def test_a_loop_that_never_matches_is_empty() -> None:
    assert is_empty(parse(r"^(?:(?=b)a)+$"))


@each_case
def test_what_is_too_large_or_too_strange_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        parse(pattern)


def test_loops_in_loops_may_be_too_large() -> None:
    with pytest.raises(RegexError):
        parse("(?:" * 30 + "(?!a)b?" + "){65,}" * 30)


def test_a_line_begins_at_the_start_and_behind_an_end_of_a_line() -> None:
    language = parse(r"^(?m:(?:(?=^a).\n?)*)$")
    texts = ("", "a\na\n", "aa", "b")
    assert [fullmatch(language, text) for text in texts] == [True, True, False, False]
