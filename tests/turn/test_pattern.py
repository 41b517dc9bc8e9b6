"""Patterns of dialect files as languages over symbols."""

from __future__ import annotations

import pytest

from enforcer.layouts.pattern import Choice
from enforcer.turn import pattern
from enforcer.turn.pattern import BLANK, FIELDS, ID, INDEX, NAME

CALL = {"<call>": 7}


def reads(language, symbols):
    for symbol in symbols:
        language = language.after(symbol)
        if language is None:
            return False
    return language.nullable


def test_a_control_token_is_one_symbol_and_no_bytes_spell_it():
    language = pattern.language("a<call>b", CALL.get)
    assert reads(language, [ord("a"), ID + 7, ord("b")])
    assert not reads(language, b"a<call>b")
    assert reads(pattern.language("a<call>b", {}.get), b"a<call>b")


@pytest.mark.parametrize("blank", ["", " ", "\n", "\r\n", "\n\t  "])
def test_white_space_may_be_missing(blank):
    assert reads(pattern.language("{{{_}}}", {}.get), f"{{{blank}}}".encode())


@pytest.mark.parametrize("blank", ["  ", "\t", "x", "\n\n"])
def test_other_white_space_is_none(blank):
    assert not reads(pattern.language("{{{_}}}", {}.get), f"{{{blank}}}".encode())


def test_one_of_some_words():
    language = pattern.language('"{one|two}"', {}.get)
    assert reads(language, b'"one"')
    assert reads(language, b'"two"')
    assert not reads(language, b'"three"')
    assert pattern.pieces_of('"{one|two}"') == ('"', Choice(("one", "two")), '"')


def test_fields():
    language = pattern.language("{name}:{index}", {}.get)
    assert reads(language, b"get_weather:10")
    assert not reads(language, b":1")
    assert not reads(language, b"get:")
    made = pattern.language("#{id}", {}.get)
    assert reads(made, b"#abcDEF123")
    assert not reads(made, b"#abcDEF12")
    assert pattern.pieces_of("{name}:{index}", FIELDS) == (NAME, ":", INDEX)


def test_a_name_ends_where_what_follows_it_begins():
    assert reads(pattern.language("{name}>", {}.get), b"get>")
    assert not reads(pattern.language("{name}>", {}.get), b"g>t>")
    # With nothing behind, at what no name has.
    for end in "<[{( \n":
        assert not reads(pattern.language("{name}", {}.get), f"get{end}".encode())


@pytest.mark.parametrize("text", ["", "{_}", "a{_}", "{", "a}", "{other}", "{name}"])
def test_what_is_no_pattern_of_a_marker(text):
    with pytest.raises(ValueError, match=r"."):
        pattern.pieces_of(text)


def test_what_all_members_begin_with():
    assert pattern.language("<call> x", {}.get).beginning() == b"<call> x"
    assert pattern.language("a{_}b", {}.get).beginning() == b"a"
    assert pattern.language("<call>a", CALL.get).beginning() == b""
    assert pattern.symbol(ID + 7).beginning() == b""
    assert pattern.language("a<call>", CALL.get).beginning() == b"a"


def test_a_part_of_a_pattern():
    assert pattern.of_pieces(()) is None
    tail = pattern.of_pieces((BLANK, ",", BLANK, Choice(("x", "y")), ":"))
    assert reads(tail, b" , x:")
    assert reads(tail, b",y:")
