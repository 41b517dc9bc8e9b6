import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex.charset import ALL, EMPTY, CharSet, _cased, digit, space, unicode_property, word

_codes = st.one_of(
    st.integers(0, 300), st.integers(0xD7F0, 0xE010), st.integers(0x10FFF0, 0x10FFFF)
)
_sets = st.lists(st.tuples(_codes, st.integers(0, 40)), max_size=5).map(
    lambda spans: CharSet.of((low, min(low + extra, 0x10FFFF)) for low, extra in spans)
)
_chars = _codes.filter(lambda c: not 0xD800 <= c <= 0xDFFF).map(chr)


@given(_sets, _sets, _chars)
def test_operators_are_those_of_sets(a: CharSet, b: CharSet, char: str) -> None:
    assert (char in (a | b)) == (char in a or char in b)
    assert (char in (a & b)) == (char in a and char in b)
    assert (char in (a - b)) == (char in a and char not in b)
    assert (char in ~a) == (char not in a)


@given(_sets, _sets)
def test_equal_sets_have_equal_ranges(a: CharSet, b: CharSet) -> None:
    assert a | b == b | a
    assert ~(~a) == a
    assert ~(a | b) == ~a & ~b
    assert len(a) + len(~a) == len(ALL)
    assert sorted(a) == list(a)


def test_no_set_holds_a_surrogate() -> None:
    assert "\ud800" not in ALL
    assert CharSet.of([(0xD800, 0xDFFF)]) == EMPTY
    assert len(ALL) == 0x110000 - 0x800
    assert unicode_property("Cs") == EMPTY


def test_the_first_member_is_the_lowest() -> None:
    assert CharSet.of([(0x64, 0x66), (0x61, 0x62)]).first == "a"


@pytest.mark.parametrize(("escape", "found"), [(r"\d", digit), (r"\w", word), (r"\s", space)])
def test_python_readings_are_pythons(escape: str, found: Callable[..., Any]) -> None:
    assert "".join(found().python) == "".join(re.compile(escape).findall("".join(ALL)))


def test_ecma_readings_are_ecmas() -> None:
    assert "".join(digit().ecma) == "0123456789"
    assert set("azAZ09_") <= set(word().ecma)
    assert len(word().ecma) == 63
    assert "\ufeff" in space().ecma
    assert "\x85" not in space().ecma
    assert len(space().ecma) == 25


def test_a_class_and_its_negation_are_everything_to_both_readings() -> None:
    assert (space() | ~space()).narrow == ALL
    assert space().narrow | (~space()).narrow != ALL


def test_properties() -> None:
    assert "你" in unicode_property("Script=Han")
    assert "A" in unicode_property("Lu")
    assert "a" not in unicode_property("Lu")
    with pytest.raises(KeyError):
        unicode_property("NoSuchThing")


def test_ignoring_case_adds_partners() -> None:
    assert set(_cased()) == {c for c in ALL if c.lower() != c or c.upper() != c}
    assert set(CharSet.span("ac").ignoring_case()) == set("abcABC")
    assert "é" in CharSet.span("É").ignoring_case()
    assert "z" in (~CharSet.span("az")).ignoring_case()


def test_a_property_holds_the_characters_of_all_planes() -> None:
    letters = unicode_property("L")
    assert all(char in letters for char in "a\u00e9\u65e5\ufb01\U00020000")
    assert not any(char in letters for char in "1 \U0001f600")
