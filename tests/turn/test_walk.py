"""The walk through a vocabulary, against reading every token on its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.regex import either, literal
from enforcer.turn.pattern import Language
from enforcer.turn.walk import walk
from tests.vocabularies import small

V = small()
KEYS, IDS = V.sorted_text


def one_by_one(start: Language) -> tuple[list[int], list[int], list[int]]:
    inside: list[int] = []
    done: list[int] = []
    beyond: list[int] = []
    for data, token in zip(KEYS, IDS, strict=True):
        at = start
        for count, byte in enumerate(data, 1):
            at = at.after(byte)
            if at is None:
                break
            if at.ends:
                (done if count == len(data) else beyond).append(token)
                break
        else:
            inside.append(token)
    return sorted(inside), sorted(done), sorted(beyond)


TEXTS = st.sampled_from(
    ['{"a": 1', "functions.get:0", "<|tool_call_end|>", "null", "a", "\xff\xff", "\xe6\x97", '"}}']
)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_as_if_every_token_were_read(texts: list[str]) -> None:
    start = Language(either(*map(literal, texts)))
    found = walk(V, start, Language.after, lambda at: at.ends)
    kinds = sorted(found.inside), sorted(found.done), sorted(found.beyond(V))
    # A text that is a beginning of another does not end there: nothing says that it is done.
    assert kinds == one_by_one(start)


def test_a_place_that_is_done_before_any_byte_reads_as_if_it_were_not() -> None:
    found = walk(V, 0, lambda at, byte: at + 1 if byte == ord("a") else None, lambda at: at == 0)
    assert V.find(b"a") in found.inside


@pytest.mark.parametrize("byte", [0, 0x61, 0xFF])
def test_bytes_at_the_ends_of_the_order(byte: int) -> None:
    start = Language(literal(chr(byte)))
    found = walk(V, start, Language.after, lambda at: at.ends)
    assert set(found.done) == {i for i in IDS if V.token_bytes(i) == bytes([byte])}
