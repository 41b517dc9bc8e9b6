"""Weights of token ids by what they may begin or end, and the rows by weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from enforcer.layouts import LayoutKind
from enforcer.turn import dialects, pattern
from enforcer.turn.token_weights import MOST_SURE, TokenWeights
from enforcer.vocabulary import Vocabulary
from tests.vocabularies import bits

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

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
    [(LayoutKind.JSON, 0, 0), (LayoutKind.PAIRS, 0, 1), (LayoutKind.PYTHON, 4, 0)],
)
def test_a_weight_counts_the_bytes_that_begin_or_end_something_in_the_layout(
    kind: LayoutKind, python: int, delimiter: int
) -> None:
    found = weighed(kind)
    assert weights(found, [b"ab", b' "', b'"}],', b" \n", END.encode()]) == [0, 1, 4, 0, 0]
    assert weights(found, [b"('=)", b"</b>"]) == [python, delimiter]
    assert found.heaviest == 40


def test_a_character_that_stays_incomplete_weighs_one() -> None:
    """Bytes that complete what the token before has begun weigh nothing."""
    assert weights(weighed(), ["é".encode(), b"\xa9a", b"x\xe2\x82"]) == [0, 0, 1]
    assert (weighed().weights[[0xA9, 0xC3]] == [0, 1]).all()


def test_rows_have_the_ids_of_at_most_a_weight() -> None:
    found = weighed()
    by_weight = {1: {b' "', b"x\xe2\x82"}, 4: {b'"}],'}}
    for most in (0, 1, 3, 4, MOST_SURE):
        assert texts(found.up_to(most)) == {*TOKENS} - {b"{" * 40, END.encode()}.union(
            *(some for weight, some in by_weight.items() if weight > most)
        )


def test_ids_that_are_tried_are_short_structure_and_the_first_of_scalars() -> None:
    found = weighed()
    assert texts(found.tried(0)) == texts(found.tried(16)) == {b' "', b" \n"}
    assert texts(found.tried(17)) == set()
    assert not found.tried(101).any()
    assert {chr(i) for i in bits(found.tried(100)) if i < 256} == set(
        '{}[],:"\\ \n0123456789.eE+-tfnTFN'
    )


def test_a_text_is_counted_in_its_longest_ids() -> None:
    assert weighed().pieces(b'trueab "') == tuple(TOKENS[each] for each in (b"true", b"ab", b' "'))


def test_the_ids_of_a_marker_are_of_its_texts_and_special_tokens() -> None:
    marker = pattern.language("ab<|end|>true", VOCABULARY.controls.get)
    found = (TOKENS[b"ab"], VOCABULARY.control(END), TOKENS[b"true"])
    assert weighed().ids_of(marker) == found


def test_what_a_token_begins_behind_a_header_is_weighed() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b'": {"a', b"::::", b"((x"]
    kimi = dialects.load("kimi_k2").layout({})
    assert TokenWeights(Vocabulary(tokens, {}), kimi).leading == 2
