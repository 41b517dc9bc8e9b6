from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from enforcer.regex import fullmatch, parse
from enforcer.regex.charset import CharSet
from enforcer.regex.slices import ending, starting
from tests.languages import languages, texts

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex


_SET = CharSet.span("a", "01", " ", "😀")


@given(languages, texts())
def test_starting_keeps_members_by_their_first_character(language: Regex, text: str) -> None:
    expected = fullmatch(language, text) and text[:1] != "" and text[0] in _SET
    assert fullmatch(starting(language, _SET), text) == expected


@given(languages, texts())
def test_ending_keeps_members_by_their_last_character(language: Regex, text: str) -> None:
    expected = fullmatch(language, text) and text[-1:] != "" and text[-1] in _SET
    assert fullmatch(ending(language, _SET), text) == expected


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("^(xa|b)c?$", ["xa"], ["b", "xac", "bc", "a"]),  # what follows may be nothing
        ("^x(0|y)$", ["x0"], ["xy", "x"]),
        ("^(ya){2,3}$", ["yaya", "yayaya"], ["ya", "yayay"]),
    ],
)
def test_ending_of_what_has_several_parts(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    language = ending(parse(pattern), _SET)
    assert [text for text in inside + outside if fullmatch(language, text)] == inside


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("^c?(ax|b)$", ["ax"], ["b", "cax", "cb", "x"]),
        ("^(0|y)x$", ["0x"], ["yx", "x"]),
        ("^(ay){2,3}$", ["ayay", "ayayay"], ["ay", "yayay"]),
    ],
)
def test_starting_of_what_has_several_parts(
    pattern: str, inside: list[str], outside: list[str]
) -> None:
    language = starting(parse(pattern), _SET)
    assert [text for text in inside + outside if fullmatch(language, text)] == inside
