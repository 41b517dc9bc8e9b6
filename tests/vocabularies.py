"""Vocabularies to test with: a small one that can be read, and Kimi's own.

Owns: their ids, the ways in which they can spell a text, and reading a mask back.
Must not know: what is tested with them.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from enforcer.turn.table import Table
from enforcer.vocabulary import Vocabulary
from tests.shared_data import shared

# Text tokens after the 256 bytes. Most of them cross a boundary of JSON or of a header,
# for a mask that is right inside each part alone can still be wrong across two.
PIECES = (
    *(b'":', b'": ', b'": "', b'"}', b'"},', b'{"', b' "', b'", "', b'","', b"}}", b"{}", b"}]"),
    *(b'["', b'"]', b"[]", b", ", b'{"a', b'a":', b'"a":', b'{"a": 1', b"\n  ", b"  ", b"}\n"),
    *(b"functions", b"functions.", b".get", b"get", b"get_", b"_weather", b".get_weather:", b"er"),
    *(b"functions.get:0", b":0", b":1", b"0", b"1", b"10", b"12", b"00", b":10", b"e5", b"-1"),
    *(b"true", b"false", b"null", b"city", b"unit", b"Paris", b"days", b"\\u", b"\\u00", b'\\"'),
    *("é".encode(), "日".encode(), "日本".encode(), 'ß"'.encode(), "🙂".encode(), b"\xe6\x97"),
    b'\xa5"',  # the end of one character and of a string
    # Marker text as text: whole, in pieces, and across the border of an object.
    *(b"<|", b"|>", b"<|tool", b"_call", b"_calls", b"_section", b"_begin", b"_end", b"_argument"),
    *(b"<|tool_call_end|>", b"}<|tool", b"<think>", b"</think", b"<|im_end|>", b"think"),
    *(b"a", b"the ", b" tool", b"."),
)
# After the text and a hole. None is an id that stands for nothing.
CONTROLS = (
    *("[BOS]", "[EOS]", None, "<|im_end|>", "<|im_user|>", "<|im_assistant|>", None, None),
    *("<|im_system|>", "<|im_middle|>", "<|tool_calls_section_begin|>"),
    *("<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *("<|tool_call_end|>", None, "<think>", "</think>", "[PAD]", None),
)
HOLES = 3  # between text and controls, too


class _Matcher(Protocol):
    """What is stepped and asked for masks: a turn's matcher, and what stands around one."""

    _table: Table

    def fill(self, bitmask: NDArray[np.int32]) -> None: ...

    def accept(self, token_id: int) -> bool: ...


@cache
def small(*without: str) -> Vocabulary:
    """Give the small vocabulary, or one that lacks these control tokens.

    Ids: 0 to 255 the bytes, then `PIECES`, some of which repeat a byte, then holes and
    controls. Its size is no multiple of 32.
    """
    tokens = [bytes([byte]) for byte in range(256)] + list(PIECES) + [b""] * HOLES
    controls = {}
    for name in CONTROLS:
        if name is not None and name not in without:
            controls[name] = len(tokens)
            tokens.append(name.encode())
        else:
            tokens.append(b"")
    return Vocabulary(tokens, controls)


@cache
def kimi() -> Vocabulary:
    """Give Kimi's own vocabulary; skips the test where its files are absent."""
    return Vocabulary.from_tiktoken(
        shared("kimi", "tiktoken.model"), shared("kimi", "tokenizer_config.json")
    )


def write(vocabulary: Vocabulary, text: str) -> list[int]:
    """Give the ids of text in which every marker that is spelled stands for its token."""
    return vocabulary.encode(text, markers=True)


def call(name: str, index: int, arguments: str) -> str:
    """Spell a call, for `write`."""
    header = f"functions.{name}:{index}"
    return f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


def section(*calls: str) -> str:
    """Spell a whole section and the end of the turn, for `write`."""
    inside = "".join(calls)
    return f"<|tool_calls_section_begin|>{inside}<|tool_calls_section_end|><|im_end|>"


@cache
def _spellings(vocabulary: Vocabulary) -> dict[int, list[tuple[bytes, int]]]:
    found: dict[int, list[tuple[bytes, int]]] = {}
    for data, token_id in zip(*vocabulary.sorted_text, strict=True):
        found.setdefault(data[0], []).append((data, token_id))
    return found


def split(choose: Callable[[list[int]], int], vocabulary: Vocabulary, data: bytes) -> list[int]:
    """Split text into ids at will: `choose` picks one of the ids that fit at each place."""
    ids: list[int] = []
    at = 0
    while at < len(data):
        fits = {i: d for d, i in _spellings(vocabulary)[data[at]] if data.startswith(d, at)}
        token_id = choose(sorted(fits, key=lambda i: (-len(fits[i]), i)))
        ids.append(token_id)
        at += len(fits[token_id])
    return ids


@st.composite
def splits(draw: st.DrawFn, vocabulary: Vocabulary, text: str) -> list[int]:
    """Draw a way to split text, long tokens preferred when an example is shrunk."""
    return split(lambda ids: draw(st.sampled_from(ids)), vocabulary, text.encode())


def row_of(matcher: _Matcher) -> NDArray[np.int32]:
    """Fill a fresh row that was all ones, so that words left unwritten show."""
    bitmask = np.full((1, matcher._table.vocabulary.words), -1, dtype=np.int32)
    matcher.fill(bitmask)
    row: NDArray[np.int32] = bitmask[0]
    return row


def bits(row: NDArray[np.int32]) -> set[int]:
    """Give the ids whose bit is set."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def legal(matcher: _Matcher) -> set[int]:
    """Give the ids that the mask permits."""
    return bits(row_of(matcher))


def feed(matcher: _Matcher, ids: Iterable[int]) -> None:
    """Accept these ids; fail with the place where one is refused."""
    for at, token_id in enumerate(ids):
        if not matcher.accept(token_id):
            token = matcher._table.vocabulary.token_bytes(token_id)
            pytest.fail(f"id {token_id} ({token!r}) is refused at {at}: {matcher!r}")


def cut(texts: Iterable[str], more: Iterable[bytes] = ()) -> Vocabulary:
    """Build a vocabulary of bytes, of pieces of some texts of any length, and of more."""
    spans = (
        (text.encode(), i, n) for text in texts for n in range(2, 9) for i in range(len(text) - n)
    )
    pieces = {data[i : i + n] for data, i, n in spans}
    tokens = [*(bytes([byte]) for byte in range(256)), *sorted(pieces.union(more))]
    return Vocabulary([*tokens, b"[EOS]"], {"[EOS]": len(tokens)})
