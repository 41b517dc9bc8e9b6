from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from enforcer.regex import fullmatch, parse
from enforcer.regex.charset import CharSet
from enforcer.regex.slices import ending, starting
from tests.languages import languages, texts

if TYPE_CHECKING:
    from collections.abc import Callable

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
    ("part", "pattern", "inside", "outside"),
    [
        (ending, "^(xa|b)c?$", ["xa"], ["b", "xac", "bc", "a"]),  # what follows may be nothing
        (ending, "^x(0|y)$", ["x0"], ["xy", "x"]),
        (ending, "^(ya){2,3}$", ["yaya", "yayaya"], ["ya", "yayay"]),
        (starting, "^c?(ax|b)$", ["ax"], ["b", "cax", "cb", "x"]),
        (starting, "^(0|y)x$", ["0x"], ["yx", "x"]),
        (starting, "^(ay){2,3}$", ["ayay", "ayayay"], ["ay", "yayay"]),
    ],
)
def test_the_ends_of_what_has_several_parts(
    part: Callable[[Regex, CharSet], Regex], pattern: str, inside: list[str], outside: list[str]
) -> None:
    language = part(parse(pattern), _SET)
    assert [text for text in inside + outside if fullmatch(language, text)] == inside
