"""Tokenizers of transformers: read exactly, or not at all."""

from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from enforcer.errors import InvalidVocabulary
from enforcer.vocabulary import Vocabulary
from tests.tokenizer_cases import MARKERS, byte_fallback, byte_level, trained, wrapped
from tests.vocabularies import bits

ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def test_byte_level() -> None:
    vocabulary = byte_level()
    (joined,) = vocabulary.encode(" x")
    assert vocabulary.token_bytes(joined) == b" x"
    assert sorted(vocabulary.controls) == sorted(MARKERS)
    assert vocabulary.token_bytes(vocabulary.size - 1) == b"   "
    assert vocabulary.size - 1 in bits(vocabulary.text_row)


def test_an_added_token_is_read_as_its_decoder_has_it() -> None:
    """DeepSeek LLM adds bytes so, `ø` for one; a marker with such a letter stays one."""
    tokenizer = trained(
        tokenizers.models.BPE({char: i for i, char in enumerate(sorted(ALPHABET))}, []),
        pre_tokenizer=pre_tokenizers.ByteLevel(),
        decoder=decoders.ByteLevel(),
    )
    tokenizer.add_tokens(["ø", "é!", "<▁é>"])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<é>"]})
    found = Vocabulary.from_transformers(tokenizer)
    assert {*MARKERS, "<▁é>", "<é>"} == set(found.controls)
    for token_id in range(found.size):
        if found.token_bytes(token_id) != "<é>".encode():
            said = found.token_bytes(token_id).decode(errors="replace")
            assert said == tokenizer.decode([token_id])


def test_byte_fallback() -> None:
    vocabulary = byte_fallback()
    assert vocabulary.token_bytes(1) == b"\x00"
    assert vocabulary.token_bytes(256) == b"\xff"
    assert b" a" in vocabulary.sorted_text[0]
    assert sorted(vocabulary.controls) == sorted(MARKERS)


def test_white_space_that_was_added_is_read_as_the_decoder_has_it() -> None:
    vocabulary = byte_fallback("▁▁", "\n\n", "▁x▁")
    first = vocabulary.size - 3
    assert [vocabulary.token_bytes(first + n) for n in range(2)] == [b"  ", b"\n\n"]
    assert {first, first + 1} <= set(bits(vocabulary.text_row))
    assert vocabulary.control("▁x▁") == first + 2
    assert sorted(vocabulary.controls) == sorted([*MARKERS, "▁x▁"])
    assert vocabulary.token_bytes(first + 2) == "▁x▁".encode()


@pytest.mark.parametrize("more", ["<0xzz>", "<0x+1>", "<0x 1>", "<0x\u0661\u0661>"])
def test_what_looks_like_a_byte_and_is_none_is_refused(more: str) -> None:
    with pytest.raises(InvalidVocabulary, match="neither a byte nor surely a text"):
        byte_fallback(more=(more,))
    assert byte_fallback(more=("<0x4a>", "<0x>")).find(b"<0x>") is not None


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": pre_tokenizers.Metaspace(replacement="_")},
        {"decoder": decoders.Metaspace(replacement="_")},
        {"decoder": decoders.Sequence([decoders.ByteFallback(), decoders.Replace("_", " ")])},
        {"normalizer": normalizers.Sequence([normalizers.Replace(" ", "Ġ")])},
    ],
    ids=str,
)
def test_another_mark_for_spaces_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidVocabulary, match=r"writes a space as '[_Ġ]'"):
        byte_fallback(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"pre_tokenizer": pre_tokenizers.Metaspace(), "decoder": decoders.Metaspace()},
        {"normalizer": normalizers.Replace(" ", "▁"), "decoder": decoders.Replace("▁", " ")},
        {"normalizer": normalizers.Replace("\xa0", " "), "decoder": decoders.Fuse()},
    ],
    ids=str,
)
def test_the_usual_mark_is_read(parts: dict[str, Any]) -> None:
    assert byte_fallback(**parts).find(b" a") is not None


@pytest.mark.parametrize("affix", ["end_of_word_suffix", "continuing_subword_prefix"])
def test_what_tokens_have_at_the_borders_of_words_is_refused(affix: str) -> None:
    with pytest.raises(InvalidVocabulary, match=affix):
        byte_level(**{"merges": [], affix: "</w>"})
    assert byte_level(**{affix: ""}).find(b"a") is not None


def test_a_wrapper_of_tiktoken() -> None:
    vocabulary = wrapped()
    assert vocabulary.controls == {"[BOS]": 259, **{m: i for i, m in enumerate(MARKERS, 260)}}
    assert vocabulary.token_bytes(257) == b"abc"


WORDS = (
    tokenizers.models.WordPiece({"a": 0}),
    tokenizers.models.Unigram([("a", -1.0)], 0),
    tokenizers.models.WordLevel({"a": 0}),
)


@pytest.mark.parametrize("tokenizer", [None, object(), "gpt2", *map(tokenizers.Tokenizer, WORDS)])
def test_tokenizers_that_cannot_be_read_exactly_are_refused(tokenizer: object) -> None:
    if isinstance(tokenizer, tokenizers.Tokenizer):
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_transformers(tokenizer)
