"""Tokenizers of transformers: read exactly, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import tokenizers
from transformers import PreTrainedTokenizerFast

from enforcer.errors import InvalidVocabulary
from enforcer.vocabulary import Vocabulary
from tests.tokenizer_cases import MARKERS, byte_fallback, byte_level, wrapped
from tests.vocabularies import bits

if TYPE_CHECKING:
    from transformers.tokenization_utils_tokenizers import TokenizersBackend


def test_byte_level() -> None:
    vocabulary = byte_level()
    (joined,) = vocabulary.encode(" x")
    assert vocabulary.token_bytes(joined) == b" x"
    assert sorted(vocabulary.controls) == sorted(MARKERS)
    assert vocabulary.token_bytes(vocabulary.size - 1) == b"   "
    assert vocabulary.size - 1 in bits(vocabulary.text_row)


def test_byte_fallback() -> None:
    vocabulary = byte_fallback()
    assert vocabulary.token_bytes(1) == b"\x00"
    assert vocabulary.token_bytes(256) == b"\xff"
    assert b" a" in vocabulary.sorted_text[0]
    assert sorted(vocabulary.controls) == sorted(MARKERS)


def test_a_wrapper_of_tiktoken() -> None:
    vocabulary = wrapped()
    assert vocabulary.controls == {"[BOS]": 259, **{m: i for i, m in enumerate(MARKERS, 260)}}
    assert vocabulary.token_bytes(257) == b"abc"


@pytest.mark.parametrize(
    "tokenizer",
    [
        None,
        object(),
        "gpt2",
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordPiece({"a": 0}))
        ),
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(tokenizers.models.Unigram([("a", -1.0)], 0))
        ),
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}))
        ),
    ],
)
def test_tokenizers_that_cannot_be_read_exactly_are_refused(
    tokenizer: object | str | TokenizersBackend | None,
) -> None:
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_transformers(tokenizer)
