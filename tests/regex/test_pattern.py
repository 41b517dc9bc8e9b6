from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer import regex
from enforcer.regex import Regex, RegexError, fullmatch, parse
from enforcer.regex.pattern import MAX_COUNT, MAX_NESTING


def _matches(pattern: str, text: str) -> bool:
    return fullmatch(parse(f"^(?:{pattern})$"), text)


@pytest.mark.parametrize(
    ("pattern", "members", "others"),
    [
        (r"\x41\u0042\u{43}\u{1F600}", ["ABC😀"], ["abc😀"]),
        (r"\uD83D\uDE00", ["😀"], ["\ufffd"]),
        (r"[\uD83D\uDE00a]", ["😀", "a"], ["b"]),
        (r"\cA\cj\0\t\n\v\f\r", ["\x01\n\x00\t\n\v\f\r"], []),
        (r"[\b]", ["\b"], ["b"]),
        (r"\u{9}\u{0001F600}", ["\t😀"], []),
        (r"[\uD83D\u0041\uD83Db\uD83D\u{43}]", ["A", "b", "C"], ["u"]),
        (r"\08\0123", ["\x008\n3"], []),
        (r"[a-\d]", ["a", "-", "5"], ["b"]),
        (r"(?i:a(?-i:b)c)(?is-m:.)", ["AbC\n"], ["ABC\n"]),
        (r"\012", ["\n"], []),
        (r"[^]", ["a", "\n", "\u2028"], [""]),
        (r"a[]", [], ["a", ""]),
        (r"[a\-z]", ["a", "-", "z"], ["b"]),
        (r"[-a]|[a-]", ["a", "-"], ["b"]),
        (r"[\w-.]", ["a", "-", "."], [",", "/"]),
        (r"[[a]", ["[", "a"], ["]"]),
        (r"\-\_\@\ \"\/\#\~", ['-_@ "/#~'], []),
        (r"(?<year>\d{4})", ["2024"], ["٢٠٢٤"]),
        (r"(?P<year>\d{4})", ["2024"], []),
        (r"a(?#no comment)b", ["ab"], ["a"]),
        (r"(?:a|b)*?c+?d??", ["abbac", "cd"], ["abd"]),
        (r"a{2}b{,2}c{1,}d{0}", ["aac", "aabbc"], ["aabbbc", "aad"]),
        (r"a{b}{,}{x,1}", ["a{b}{,}{x,1}"], ["ab"]),
        (r"}]", ["}]"], []),
        (r"(?i:aB)c", ["abc", "ABc", "Abc"], ["abC"]),
        (r"\p{Lu}\P{L}\p{Script=Greek}\pL", ["A1λb"], ["a1λb", "AAλb", "A1ab"]),
        (r"[\p{L}\d]+", ["é1"], ["-"]),
        (r"\d\w\s\D\W\S", ["1a\u00a0a-b"], ["1é\u00a0a-b", "٤a aa-b"]),
        (r".", ["a", "\x85"], ["\n", "\r", "\u2028"]),
        (r"", [""], ["a"]),
        (r"(|a)(b|)", ["", "a", "b", "ab"], ["ba"]),
        (r"é", ["é"], ["e\u0301"]),
    ],
)
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


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        (r"(a)\1", 3, "backreference"),
        (r"(?<n>a)\k<n>", 7, "backreference"),
        (r"(?P<n>a)(?P=n)", 8, "backreference"),
        (r"(a)?(?(1)b|c)", 4, "backreference"),
        ("a(b", 1, "never closed"),
        ("a)b", 1, "closes no group"),
        ("a[b", 1, "never closed"),
        ("*a", 0, "nothing to repeat"),
        ("a**", 2, "nothing to repeat"),
        ("(|*)", 2, "nothing to repeat"),
        ("a++", 2, "possessive"),
        ("(?>a)", 0, "atomic"),
        ("a{3,2}", 1, "wrong order"),
        ("a{9999999}", 1, "over 1000000"),
        ("a{" + "9" * 5000 + "}", 1, "over 1000000"),
        ("[z-a]", 2, "wrong order"),
        ("a\\", 1, "lone backslash"),
        ("[\\", 1, "lone backslash"),
        (r"\x4", 0, "hexadecimal"),
        (r"\u12", 0, "hexadecimal"),
        (r"\u{}", 0, "hexadecimal"),
        (r"\u{110000}", 0, "beyond"),
        (r"\c1", 0, "letter"),
        (r"\y", 0, "no known escape"),
        (r"\p{Nonsense}", 0, "no Unicode property"),
        (r"\p{", 0, "never closed"),
        (r"\p{a b}", 0, "braces"),
        ("a(?i)b", 1, "start"),
        ("(?x)a", 0, "not supported"),
        ("(?<>a)", 0, "no name"),
        ("(" * (MAX_NESTING + 1) + ")" * (MAX_NESTING + 1), MAX_NESTING, "nested"),
        ("(" * 10_000 + "a" + ")" * 10_000, MAX_NESTING, "nested"),
    ],
)
def test_refusals_name_the_place_and_the_reason(pattern: str, position: int, reason: str) -> None:
    with pytest.raises(RegexError, match=reason) as caught:
        parse(pattern)
    assert caught.value.position == position
    assert caught.value.pattern == pattern
    assert len(str(caught.value)) < 600


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
