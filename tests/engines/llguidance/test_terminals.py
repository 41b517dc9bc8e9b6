from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.llguidance import terminals
from enforcer.engines.llguidance.terminals import expression, operand
from enforcer.regex import (
    ANY,
    NOTHING,
    both,
    either,
    fullmatch,
    inverse,
    length,
    literal,
    parse,
)
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, repeat
from enforcer.spelling import JSON
from tests.languages import SHARP, asserting_patterns, languages, texts
from tests.terminals import Terminal, spellings
from tests.walks import examples

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


_spelled = texts(SHARP + '"\\/\b\f').flatmap(
    lambda text: st.tuples(
        st.just(text), st.tuples(*(st.sampled_from(spellings(c)) for c in text)).map("".join)
    )
)


@given(languages, st.lists(_spelled, min_size=1, max_size=5))
@examples(150)
def test_every_spelling_of_a_member_and_of_nothing_else_is_accepted(
    language: Regex, spelled: list[tuple[str, str]]
) -> None:
    if language == NOTHING:
        return
    whole, body = (
        Terminal(expression(language, JSON)),
        Terminal(f'"<" {operand(language, JSON)} ">"'),
    )
    for text, spelling in spelled:
        assert json.loads(f'"{spelling}"') == text
        assert whole.accepts(f'"{spelling}"') == fullmatch(language, text)
        assert body.accepts(f"<{spelling}>") == fullmatch(language, text)


@given(asserting_patterns, st.lists(_spelled, min_size=1, max_size=5))
def test_patterns_with_assertions_too(pattern: str, spelled: list[tuple[str, str]]) -> None:
    language = parse(pattern)
    if language == NOTHING:
        return
    terminal = Terminal(expression(language, JSON))
    for text, spelling in spelled:
        assert terminal.accepts(f'"{spelling}"') == fullmatch(language, text)


_code = st.one_of(
    st.integers(0, 0x200),
    st.sampled_from(
        [0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x103FF, 0x10400, 0x1F600, 0xDFFFF, 0x10FFFF]
    ),
    st.integers(0, 0x10FFFF).filter(lambda c: not 0xD800 <= c <= 0xDFFF),
)
_sets = st.lists(
    st.tuples(_code, _code).map(lambda t: (min(t), max(t))), min_size=1, max_size=3
).map(CharSet.of)


@given(_sets, st.data())
def test_classes_at_their_borders(members: CharSet, data: st.DataObject) -> None:
    terminal = Terminal(expression(chars(members), JSON))
    borders = [c + d for span in members.ranges for c in span for d in (-1, 0, 1)]
    codes = [c for c in borders if 0 <= c <= 0x10FFFF and not 0xD800 <= c <= 0xDFFF]
    for code in codes:
        char = chr(code)
        spelling = data.draw(st.sampled_from(spellings(char)))
        assert terminal.accepts(f'"{spelling}"') == (char in members)


@pytest.mark.parametrize("outside", [(0x800, 0xFFFF), (0xD7FF, 0xE000)])
def test_a_class_without_the_characters_around_the_surrogates(outside: tuple[int, int]) -> None:
    left_out = CharSet.of([outside])
    terminal = Terminal(expression(chars(~left_out), JSON))
    for code in (0x7FF, 0x800, 0xD7FE, 0xD7FF, 0xE000, 0xE001, 0xFFFF, 0x10000):
        assert terminal.accepts(f'"{chr(code)}"') == (chr(code) not in left_out)


@lru_cache(maxsize=1)
def _any() -> Terminal:
    return Terminal(expression(ANY, JSON))


@pytest.mark.parametrize(
    "text",
    ['"\\ud83d"', '"\\ude00"', '"\\ude00\\ud83d"', '"\\ud83d\\u0041"', '"\\ud83dx"', '"\n"',
     '"\x1f"', '"\\x41"', '"\\U0041"', '"\\u041"', '"\\\'"', '"a', 'a"', '"a"b"', '"\\"', ""],
)  # fmt: skip
def test_what_is_no_json_string_is_never_accepted(text: str) -> None:
    assert not _any().accepts(text)
    for language in (inverse(literal("a")), inverse(length(1, 2)), parse("^(?!a)"), parse(r"\S")):
        assert not Terminal(expression(language, JSON)).accepts(text)


@given(st.text(max_size=20))
def test_any_string_as_python_writes_it(text: str) -> None:
    if any("\ud800" <= c <= "\udfff" for c in text):
        text = text.encode("utf-8", "replace").decode()
    assert _any().accepts(json.dumps(text))
    assert _any().accepts(json.dumps(text, ensure_ascii=False))


@given(
    languages, languages, st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 3)]), _spelled
)
def test_operators_inside_sequences_and_repetitions(
    left: Regex, right: Regex, counts: tuple[int, int | None], spelled: tuple[str, str]
) -> None:
    language = concat(repeat(left, *counts), literal('"'), right)
    text, spelling = spelled
    if language != NOTHING:
        for spare, spelled_spare in (("", ""), ('"', '\\"'), ('"', "\\u0022")):
            accepted = Terminal(expression(language, JSON)).accepts(f'"{spelling}{spelled_spare}"')
            assert accepted == fullmatch(language, text + spare)


def test_operators_stand_where_lark_takes_them() -> None:
    names = either(literal("city"), literal("ci/ty"), literal('a"b'))
    other = Terminal(expression(inverse(names), JSON))
    assert other.accepts('"cit"')
    assert other.accepts('"é"')
    for spelling in ('"city"', '"\\u0063ity"', '"ci/ty"', '"ci\\/ty"', '"a\\"b"', '"a\\u0022b"'):
        assert not other.accepts(spelling)
    assert Terminal(expression(names, JSON)).accepts('"\\u0063ity"')
    few = both(names, inverse(literal("city")))
    assert Terminal(expression(few, JSON)).accepts('"ci/ty"')
    assert not Terminal(expression(few, JSON)).accepts('"city"')


def test_the_empty_string_and_nothing() -> None:
    assert Terminal(expression(literal(""), JSON)).accepts('""')
    assert Terminal(f'"x" {operand(literal(""), JSON)}').accepts("x")
    nothing = Terminal(expression(NOTHING, JSON))
    assert not any(nothing.accepts(text) for text in ("", '""', '"a"', '"'))


def test_large_counts_reach_the_engine_as_counts() -> None:
    text = expression(both(length(1, 5000), parse("^[a-z]*$")), JSON)
    assert "{1,5000}" in text
    assert len(text) < 120


@pytest.mark.parametrize(("low", "high"), [(0, 7), (3, 3), (4, None), (5, 11), (10, 22), (17, 17)])
def test_counts_beyond_one_quantifier_are_nested(
    monkeypatch: pytest.MonkeyPatch, low: int, high: int | None
) -> None:
    monkeypatch.setattr(terminals, "_COUNT", 3)
    written = re.compile(terminals._repeated("a", low, high))
    for count in range(30):
        fits = count >= low and (high is None or count <= high)
        assert bool(written.fullmatch("a" * count)) == fits
