"""What is said to occur in no JSON text must occur in none."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.machine.json_text import may_occur
from tests.spelled_json import Form, spell

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES, st.integers(0, 2**32), st.data())
def test_every_piece_of_every_text_may_occur(value: Any, seed: int, data: st.DataObject) -> None:
    random = Random(seed)
    text = spell(value, Form.drawn(random, numbers=True), random).encode()
    start = data.draw(st.integers(0, len(text)))
    piece = text[start : data.draw(st.integers(start, len(text)))]
    assert may_occur(piece)


@given(st.binary(max_size=6))
def test_what_stands_in_a_string_may_occur(data: bytes) -> None:
    """Broken pieces of UTF-8 too, for a vocabulary splits characters."""
    raw = data.replace(b'"', b"").replace(b"\\", b"")
    assert may_occur(bytes(byte for byte in raw if byte >= ord(" ")))


OCCUR = rb"""
a b|"|\\|\u00|00e9|": "|"},|}]|\"|tru|ull,|lse, "name": -1.5e+|u00e9"|/",|};|"}}{"
"""
NEVER = rb"""
"\x|"a" b "|"\"",;|","a',"b";
"""


@pytest.mark.parametrize(
    "piece", [b"", b"\x7f", b"\xe4\xbd", b'"\n\t{"', *OCCUR.strip().split(b"|")]
)
def test_pieces_that_occur(piece: bytes) -> None:
    assert may_occur(piece)


@pytest.mark.parametrize("piece", [b");\n", b"\tint", b"\0", b"\\\n", *NEVER.strip().split(b"|")])
def test_pieces_that_no_text_holds(piece: bytes) -> None:
    assert not may_occur(piece)
