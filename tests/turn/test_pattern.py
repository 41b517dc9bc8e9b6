"""Patterns of dialect files as languages over symbols."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts import pattern as symbol_languages
from enforcer.layouts.pattern import Choice
from enforcer.turn import dialects, pattern
from enforcer.turn.pattern import BLANK, FIELDS, ID, INDEX, NAME, Language

CALL = {"<call>": 7}


KNOWN: dict[str, int] = {}  # controls: none


def reads(language: Language, symbols: Any) -> bool:
    for symbol in symbols:
        language = language.after(symbol)
        if language is None:
            return False
    return language.nullable


def test_a_control_token_is_one_symbol_and_no_bytes_spell_it() -> None:
    language = pattern.language("a<call>b", CALL.get)
    assert reads(language, [ord("a"), ID + 7, ord("b")])
    assert not reads(language, b"a<call>b")
    assert reads(pattern.language("a<call>b", KNOWN.get), b"a<call>b")


@pytest.mark.parametrize("blank", ["", " ", "\n", "\r\n", "\n\t  "])
def test_white_space_may_be_missing(blank: str) -> None:
    assert reads(pattern.language("{{{_}}}", KNOWN.get), f"{{{blank}}}".encode())


@pytest.mark.parametrize("blank", ["  ", "\t", "x", "\n\n"])
def test_other_white_space_is_none(blank: str) -> None:
    assert not reads(pattern.language("{{{_}}}", KNOWN.get), f"{{{blank}}}".encode())


def test_one_of_some_words() -> None:
    language = pattern.language('"{one|two}"', KNOWN.get)
    assert reads(language, b'"one"')
    assert reads(language, b'"two"')
    assert not reads(language, b'"three"')
    assert pattern.pieces_of('"{one|two}"') == ('"', Choice(("one", "two")), '"')


def test_fields() -> None:
    language = pattern.language("{name}:{index}", KNOWN.get)
    assert reads(language, b"get_weather:10")
    assert not reads(language, b":1")
    assert not reads(language, b"get:")
    made = pattern.language("#{id}", KNOWN.get)
    assert reads(made, b"#abcDEF123")
    assert not reads(made, b"#abcDEF12")
    assert pattern.pieces_of("{name}:{index}", FIELDS) == (NAME, ":", INDEX)


def test_a_name_ends_where_what_follows_it_begins() -> None:
    assert reads(pattern.language("{name}>", KNOWN.get), b"get>")
    assert not reads(pattern.language("{name}>", KNOWN.get), b"g>t>")
    assert reads(pattern.language("{name}>:x", KNOWN.get), b"x:x>:x")
    # With nothing behind, at what no name has.
    for end in "<[{( \n":
        assert not reads(pattern.language("{name}", KNOWN.get), f"get{end}".encode())


@pytest.mark.parametrize("text", ["", "{_}", "a{_}", "{", "a}", "{other}", "{name}"])
def test_what_is_no_pattern_of_a_marker(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        pattern.pieces_of(text)


def test_what_all_members_begin_with() -> None:
    assert pattern.language("<call> x", KNOWN.get).beginning() == b"<call> x"
    assert pattern.language("a{_}b", KNOWN.get).beginning() == b"a"
    assert pattern.language("<call>a", CALL.get).beginning() == b""
    assert pattern.symbol(ID + 7).beginning() == b""
    assert pattern.language("a<call>", CALL.get).beginning() == b"a"


def test_a_part_of_a_pattern() -> None:
    assert pattern.of_pieces(()) is None
    tail = pattern.of_pieces((BLANK, ",", BLANK, Choice(("x", "y")), ":"))
    assert reads(tail, b" , x:")
    assert reads(tail, b",y:")


@given(st.text(min_size=1, max_size=5) | st.from_regex(r"[^\W\d_]\w{0,4}", fullmatch=True))
def test_names_that_are_identifiers_are_read_as_such(name: str) -> None:
    dialect = dialects.load("pythonic")
    strict = pattern.language(dialect.header, KNOWN.get, identifiers=True)
    header = dialect.header_text(name, 0).encode()
    if dialect.can_write(name):
        assert reads(strict, header)
        assert reads(strict, b"\n" + header)
    if name.isascii() and not name.isidentifier():
        assert not reads(strict, header.replace(b"\n", b"-"))


def test_no_name_that_is_an_identifier_begins_with_an_underscore_or_a_digit() -> None:
    strict = pattern.language("{_}{name}(", KNOWN.get, identifiers=True)
    assert reads(strict, b" a_1(")
    for text in (b"_a(", b"1(", b"(", b'"(', b"a-b(", b"a b("):
        assert not reads(strict, text)


def test_bytes_that_are_alike_are_tried_once(calls_of: Callable[..., list[Any]]) -> None:
    """Masks are found by trying every byte at every place."""
    tried = calls_of(symbol_languages, "derivative")
    begun = pattern.language("a{_}b", lambda _: None).after(ord("a"))
    assert begun is not None
    tried.clear()
    assert [byte for byte in range(ID) if begun.after(byte) is not None] == [*b"\n\r b"]
    assert len(tried) <= 5
