"""Patterns: names of control tokens, bytes, optional white space, fields."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts.pattern import ID, Field, Space, ids_of, read, symbols

CONTROLS = {"<|open|>": 7, "<|op": 8, "[X]": 0}


def test_the_longest_name_at_a_place_is_an_id_and_all_else_is_bytes() -> None:
    found = read("é<|open|><|op[X", CONTROLS.get)
    assert found == (*"é".encode(), ID + 7, ID + 8, *b"[X")
    assert ids_of(found) == {7, 8}
    assert read("<|open|>", lambda _: None) == tuple(b"<|open|>")


def test_fields_white_space_and_braces() -> None:
    found = read('{_}{{"{key}"}}', CONTROLS.get, ("key",))
    assert found == (Space.OPTIONAL, *b'{"', Field("key"), *b'"}')


@pytest.mark.parametrize("pattern", ["{", "a}", "{key}{key}", "{other}", "{{{", "{KEY}"])
def test_what_no_brace_is_for_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"brace|field"):
        read(pattern, CONTROLS.get, ("key",))


@given(st.text("<|open>[X]é", max_size=12))
def test_symbols_spell_the_text(text: str) -> None:
    names = {i: name for name, i in CONTROLS.items()}
    data = b"".join(
        names[x - ID].encode() if x >= ID else bytes([x]) for x in symbols(text, CONTROLS.get)
    )
    assert data == text.encode()
