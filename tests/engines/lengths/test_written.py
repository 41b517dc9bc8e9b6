"""What ids write in a string is what a decoder reads there."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.lengths.automaton import Automaton, built
from enforcer.engines.lengths.written import Characters, Written, read
from enforcer.regex import fullmatch, parse
from tests.languages import texts


@given(texts(max_size=6), st.booleans(), st.booleans(), st.text('}], "', max_size=3))
def test_an_id_writes_what_a_decoder_reads(
    text: str, ascii_only: bool, ends: bool, behind: str
) -> None:
    spelled = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    found = read((spelled + ('"' + behind if ends else "")).encode())
    written = found if isinstance(found, Written) else Written(found or "")
    assert (written.text, written.ends, written.begun.pending) == (text, ends, b"")


@given(texts(max_size=3), st.data())
def test_a_character_that_is_cut_off_has_been_begun(text: str, data: st.DataObject) -> None:
    spelled = json.dumps(text).encode()[1:-1]
    at = data.draw(st.integers(0, len(spelled)))
    first, rest = read(spelled[:at]), spelled[at:]
    whole = first if isinstance(first, str) else first.text if first is not None else ""
    assert text.startswith(whole)
    if isinstance(first, Written) and first.begun.pending:
        assert text[len(whole)] in first.begun.characters
    elif rest:
        assert read(rest) in (text[len(whole) :], Written(text[len(whole) :]))


def test_what_stands_in_no_string_is_nothing() -> None:
    assert read(b"a\nb") is None
    assert read(rb"\x") is None


@given(st.lists(texts(max_size=4), min_size=1, max_size=6), st.integers(0, 5))
def test_too_long_is_what_cannot_end_in_time(ids: list[str], left: int) -> None:
    language = parse("^[a-z]*[0-9]$")
    automaton = Automaton(built(language, 50))
    characters = Characters(dict(enumerate(ids)))
    wrong = {
        int(each)
        for some in characters.alike.values()
        for each in characters.too_long(some, automaton, 0, left)
    }
    for token_id, text in enumerate(ids):
        ends = [text + end for end in ("", "0", "a0") if len(text + end) <= left]
        assert (token_id in wrong) != any(fullmatch(language, each) for each in ends)
    assert characters.codes.dtype == np.int32
