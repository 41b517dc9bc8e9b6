import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import regex
from enforcer.regex import Regex, RegexError, fullmatch, parse
from enforcer.regex.pattern import MAX_COUNT, MAX_NESTING
from tests.support.cases import each_case


def _matches(pattern: str, text: str) -> bool:
    return fullmatch(parse(f"^(?:{pattern})$"), text)


@each_case
def test_constructs(pattern: str, members: list[str], others: list[str]) -> None:
    for text in members:
        assert _matches(pattern, text)
    for text in others:
        assert not _matches(pattern, text)


def test_flags_for_the_whole_pattern() -> None:
    assert fullmatch(parse("(?i)^ab$"), "AB")
    assert fullmatch(parse("(?s)^a.b$"), "a\nb")
    assert fullmatch(parse("(?m)^b$"), "a\nb\nc")
    assert not fullmatch(parse("^b$"), "a\nb\nc")


@pytest.mark.parametrize(
    "members", ["kK\u212a", "sS\u017f", "\u03c3\u03a3\u03c2", "iI\u0130\u0131", "\ufb05\ufb06"]
)
def test_what_any_engine_takes_for_a_letter_without_case_is_not_another_one(members: str) -> None:
    """A few pairs differ from engine to engine: none of them is sure to match, or not to."""
    for one, other in product(members, repeat=2):
        assert not fullmatch(parse(f"(?i)^[^{one}]$"), other)
        assert not fullmatch(parse(f"(?i)^(?!{one})"), other)
        assert re.fullmatch(f"(?i)[^{one}]", other) is None


@each_case
def test_refusals_name_the_place_and_the_reason(pattern: str, position: int, reason: str) -> None:
    with pytest.raises(RegexError, match=reason) as caught:
        parse(pattern)
    assert caught.value.position == position
    assert caught.value.pattern == pattern
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        ("a{" + "9" * 5000 + "}", 1, "over 1000000"),
        ("(" * (MAX_NESTING + 1) + ")" * (MAX_NESTING + 1), MAX_NESTING, "nested"),
        ("(" * 10_000 + "a" + ")" * 10_000, MAX_NESTING, "nested"),
    ],
)
def test_refusals_of_long_patterns_are_short(pattern: str, position: int, reason: str) -> None:
    test_refusals_name_the_place_and_the_reason(pattern, position, reason)


@pytest.mark.slow
def test_the_deepest_pattern_that_is_read_can_be_used() -> None:
    nested = "^" + "(?:a" * (MAX_NESTING - 1) + "|b)*" * (MAX_NESTING - 1) + "$"
    language = parse(nested)
    assert fullmatch(language, "a" * (MAX_NESTING - 1))
    assert not fullmatch(language, "c")


def _parsed_or_refused(pattern: str) -> Regex | RegexError:
    try:
        return parse(pattern)
    except RegexError as error:
        return error


@given(st.text(alphabet="ab01(){}[]|?*+^$\\.,:=!<>-Pdwsbxupik \n#é😀\ud800", max_size=25))
def test_any_text_parses_or_is_refused(pattern: str) -> None:
    found = _parsed_or_refused(pattern)
    if isinstance(found, RegexError):
        assert 0 <= found.position <= len(pattern)
        assert found.reason
    else:
        assert isinstance(found, Regex)


@given(st.text(alphabet="ab(){}[]|?*+^$\\.,1-:dwsb", max_size=10), st.text("ab1-.", max_size=4))
def test_what_is_accepted_matches_for_python_too(pattern: str, text: str) -> None:
    try:
        found = re.search(pattern, text) is not None
        accepted = fullmatch(parse(pattern), text)
    except (re.error, RegexError, OverflowError):
        return
    if accepted and "[]" not in pattern and "[^]" not in pattern:
        assert found


@pytest.mark.parametrize("counts", ["{N}", "{N,}", "{3,N}", "{,N}"])
def test_counts_are_bounded_whichever_of_the_two_is_large(counts: str) -> None:
    for body in ("a", "(?:ab)", "[ab]"):
        parse(body + counts.replace("N", str(MAX_COUNT)))
        with pytest.raises(RegexError, match="count is over"):
            parse(body + counts.replace("N", str(MAX_COUNT + 1)))


def test_short_patterns_are_read_once_and_long_ones_are_not_kept() -> None:
    short, long = "^kept or not$", f"^{'not kept' * 2_000}$"
    for pattern, misses in ((short, 1), (short, 0), (long, 0)):
        before = regex._short_matching.cache_info().misses
        parse(pattern)
        assert regex._short_matching.cache_info().misses == before + misses
