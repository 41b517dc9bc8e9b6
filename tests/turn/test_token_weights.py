"""Weights of token ids by what they may begin or end, and the rows by weight."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest

from enforcer.layouts import ID, LayoutKind
from enforcer.turn import dialects, pattern
from enforcer.turn.token_weights import MOST_SURE, TokenWeights
from enforcer.vocabulary import Vocabulary
from tests.dialect_cases import NAMES, served
from tests.vocabularies import bits

END = "<|end|>"
TOKENS = {
    text: 256 + at
    for at, text in enumerate(
        [
            *(b"ab", b' "', b'"}],', b"('=)", b"</b>", b" \n", b"true", b"{" * 40),
            *("é".encode(), b"\xa9a", b"x\xe2\x82", END.encode()),
        ]
    )
}
VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *TOKENS], {END: 255 + len(TOKENS)}
)
DIALECT_OF = {
    LayoutKind.JSON: "kimi_k2",
    LayoutKind.PAIRS: "qwen3_coder",
    LayoutKind.PYTHON: "pythonic",
}


def weighed(kind: LayoutKind = LayoutKind.JSON) -> TokenWeights:
    layout = dialects.load(DIALECT_OF[kind]).layout(VOCABULARY.controls)
    assert layout.layout.kind is kind
    return TokenWeights(VOCABULARY, layout)


def weights(of: TokenWeights, texts: Iterable[bytes]) -> list[int]:
    return [int(of.weights[TOKENS[text]]) for text in texts]


def texts(row: npt.NDArray[np.int32]) -> set[bytes]:
    """Return the tokens of several bytes in a row."""
    return {VOCABULARY.token_bytes(i) for i in bits(row) if i > 255}


@pytest.mark.parametrize(
    ("kind", "python", "delimiter"),
    [(LayoutKind.JSON, 0, 0), (LayoutKind.PAIRS, 0, 2), (LayoutKind.PYTHON, 4, 0)],
)
def test_a_weight_counts_bytes_of_delimiters(kind: LayoutKind, python: int, delimiter: int) -> None:
    found = weighed(kind)
    assert weights(found, [b"ab", b' "', b'"}],', END.encode()]) == [0, 1, 4, 0]
    assert weights(found, [b" \n"]) == [int(kind is LayoutKind.PAIRS)]
    assert weights(found, [b"('=)", b"</b>"]) == [python, delimiter]
    assert found.heaviest == 40


@pytest.mark.parametrize("name", NAMES)
def test_a_delimiter_of_raw_text_begins_with_a_byte_of_structure(name: str) -> None:
    """So that characters of no weight begin none."""
    layout = served(name).table.layout
    if layout.layout.kind is LayoutKind.PAIRS:
        assert layout.stop[0] >= ID or chr(layout.stop[0]) in "<\n"


def test_a_character_that_stays_incomplete_is_partial() -> None:
    """Bytes that complete what the token before has begun are not."""
    found = weighed()
    assert weights(found, ["é".encode(), b"\xa9a", b"x\xe2\x82"]) == [0, 0, 0]
    assert texts(found.partial) == {b"x\xe2\x82"}
    assert [i in bits(found.partial) for i in (0xA9, 0xC3)] == [False, True]


def test_rows_have_the_ids_of_at_most_a_weight() -> None:
    found = weighed()
    by_weight = {1: {b' "'}, 4: {b'"}],'}}
    for most in (0, 1, 3, 4, MOST_SURE):
        left_out = {b"{" * 40, b"x\xe2\x82", END.encode()}
        assert texts(found.up_to(most)) == {*TOKENS} - left_out.union(
            *(some for weight, some in by_weight.items() if weight > most)
        )


def test_of_few_ids_all_are_tried_the_short_ones_first() -> None:
    tried = weighed().to_try(VOCABULARY.text_row).tolist()
    assert set(tried) == bits(VOCABULARY.text_row)
    short = {*map(str.encode, '{}[],:"\\ \n0123456789.eE+-tfnTFN'), b' "', b" \n"}
    assert {VOCABULARY.token_bytes(i) for i in tried[: len(short)]} == short


def test_of_many_ids_those_are_tried_that_begin_or_end_something() -> None:
    texts = (VOCABULARY.token_bytes(i) for i in range(VOCABULARY.size - 1))
    vocabulary = Vocabulary([*texts, *(f"w{i}".encode() for i in range(4000))], {})
    layout = dialects.load("kimi_k2").layout({})
    tried = TokenWeights(vocabulary, layout).to_try(vocabulary.text_row)
    found = {vocabulary.token_bytes(int(i)) for i in tried}
    assert {b"{" * 40, b'"}],', b"x\xe2\x82", b"7"} <= found
    assert not {b"ab", b"w1", b"x"} & found


def test_a_text_is_counted_in_its_longest_ids() -> None:
    assert weighed().pieces(b'trueab "') == tuple(TOKENS[each] for each in (b"true", b"ab", b' "'))


def test_the_ids_of_a_marker_are_of_its_texts_and_special_tokens() -> None:
    marker = pattern.language("ab<|end|>true", VOCABULARY.controls.get)
    assert weighed().ids_of(marker) == (TOKENS[b"ab"], VOCABULARY.control(END), TOKENS[b"true"])


def test_what_a_token_begins_behind_a_header_is_weighed() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b'": {"a', b"::::", b"((x"]
    assert TokenWeights(Vocabulary(tokens, {}), dialects.load("kimi_k2").layout({})).leading == 2
