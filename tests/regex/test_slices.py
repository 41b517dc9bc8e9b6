from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from enforcer.regex import fullmatch
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
