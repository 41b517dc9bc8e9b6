"""Tokenizers read exactly, or not at all."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import tiktoken
import tokenizers
import vocabularies
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast
from vocabularies import CONTROLS, PIECES, bits

from enforcer.errors import InvalidVocabulary
from enforcer.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256)]
MARKERS = ["<|im_end|>", "<|tool_call_end|>", "<think>"]
TEXTS = [
    *(
        "",
        "plain text",
        '{"città": "東京 🙂", "n": 10.5}',
        "  two\n\n lines\t",
        "naïve\r\n",
        "\x00",
    ),
    *("<|tool_call_end|>", "a<|im_end|>b", "<think>", "<|im_user|>user<|im_middle|>", " x", "  "),
]


def test_the_small_vocabulary():
    vocabulary = vocabularies.small()
    controls = [name for name in CONTROLS if name]
    assert vocabulary.size == 256 + len(PIECES) + vocabularies.HOLES + len(CONTROLS)
    assert vocabulary.words == -(-vocabulary.size // 32)
    assert vocabulary.size % 32
    assert sorted(vocabulary.controls) == sorted(controls)
    for name in controls:
        assert vocabulary.token_bytes(vocabulary.control(name)) == name.encode()
    text = bits(vocabulary.text_row)
    assert text == set(range(256 + len(PIECES)))
    assert text.isdisjoint(vocabulary.control_ids)
    assert not vocabulary.text_row.flags.writeable


@pytest.mark.parametrize("text", TEXTS)
def test_text_never_becomes_a_control_id(text):
    for vocabulary in (vocabularies.small(), byte_level(), byte_fallback(), wrapped()):
        ids = vocabulary.encode(text)
        assert vocabulary.control_ids.isdisjoint(ids)
        assert vocabulary.decode(ids) == text.encode()


@given(st.text())
def test_every_text_can_be_spelled(text):
    vocabulary = vocabularies.small()
    assert vocabulary.decode(vocabulary.encode(text)) == text.encode()


def test_half_a_character_is_no_text():
    with pytest.raises(InvalidVocabulary, match="surrogate"):
        vocabularies.small().encode("a\ud800")


@given(st.sets(st.integers(0, vocabularies.small().size - 1)))
def test_a_row_has_the_bits_of_its_ids(ids):
    row = vocabularies.small().row(ids)
    assert (row.dtype, row.shape) == (np.int32, (vocabularies.small().words,))
    assert bits(row) == ids


def test_sorted_text_is_sorted_and_whole():
    vocabulary = vocabularies.small()
    keys, ids = vocabulary.sorted_text
    assert list(keys) == sorted(BYTES + list(PIECES))
    assert [vocabulary.token_bytes(i) for i in ids] == list(keys)


def test_an_absent_control_token_is_named():
    with pytest.raises(InvalidVocabulary, match="<\\|nothing\\|>"):
        vocabularies.small().control("<|nothing|>")


@pytest.mark.parametrize("outside", [-1, 256, 10**9])
def test_control_ids_lie_inside(outside):
    with pytest.raises(InvalidVocabulary, match="outside"):
        Vocabulary(BYTES, {"<|im_end|>": outside})


@pytest.mark.parametrize("missing", [b"{", b"a", b"\xe3"])
def test_every_byte_of_a_text_has_an_id(missing):
    with pytest.raises(InvalidVocabulary, match="byte"):
        Vocabulary([data for data in BYTES if data != missing], {})
    with pytest.raises(InvalidVocabulary, match="byte"):
        Vocabulary(BYTES, {"stolen": missing[0]})


# Kimi's files


def kimi_files(folder, ranks, names):
    lines = [base64.b64encode(data) + b" %d" % rank for data, rank in ranks.items()]
    (folder / "tiktoken.model").write_bytes(b"\n".join(lines) + b"\n")
    named = {str(i): {"content": name, "special": False} for i, name in names.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": named}))
    return folder / "tiktoken.model", folder / "tokenizer_config.json"


RANKS = {data: i for i, data in enumerate([*BYTES, b"ab", b"abc", b' "'])}


def test_two_files_are_read(tmp_path):
    files = kimi_files(tmp_path, RANKS, {259: "[BOS]", 261: "<|im_end|>"})
    vocabulary = Vocabulary.from_tiktoken(*files)
    assert vocabulary.size == 259 + 256
    assert vocabulary.control("<|im_end|>") == 261
    assert vocabulary.control("<|reserved_token_260|>") == 260
    assert vocabulary.control_ids == set(range(259, 259 + 256))
    assert vocabulary.encode("abc") == [257]
    assert bits(vocabulary.text_row) == set(range(259))


def broken_files():
    def write(ranks=None, config=None):
        def make(folder):
            files = kimi_files(folder, RANKS, {259: "<|im_end|>"})
            for file, text in zip(files, (ranks, config), strict=True):
                if text is not None:
                    file.write_bytes(text)
            return files

        return make

    def deep(content):
        return b'{"added_tokens_decoder": ' + content + b"}"

    yield "no ranks", lambda folder: (folder / "absent", kimi_files(folder, RANKS, {})[1])
    yield "no config", lambda folder: (kimi_files(folder, RANKS, {})[0], folder / "absent")
    yield "a folder", lambda folder: (folder, folder)
    yield "not a path", lambda _: (3, None)
    yield "empty ranks", write(b"")
    yield "ranks that are no table", write(b"hello\n")
    yield "ranks that are no base64", write(b"!!!! 0\n")
    yield "ranks with a gap", lambda folder: kimi_files(folder, {**RANKS, b"zz": 300}, {})
    yield "ranks that repeat", lambda folder: kimi_files(folder, {**RANKS, b"zz": 3}, {})
    lacking = {data: i for i, data in enumerate(data for data in BYTES if data != b"a")}
    yield "ranks without a byte", lambda folder: kimi_files(folder, lacking, {})
    yield "config is no JSON", write(config=b"{")
    yield "config is no text", write(config=b"\xff\xfe")
    yield "config is deep", write(config=deep(b"[" * 100_000))
    yield "config is a list", write(config=b"[]")
    yield "config without names", write(config=b"{}")
    yield "names are a list", write(config=deep(b"[]"))
    yield "names are no ids", write(config=deep(b'{"a": {"content": "b"}}'))
    yield "names are no tokens", write(config=deep(b'{"259": 3}'))
    yield "id below 0", write(config=deep(b'{"-5": {"content": "b"}}'))
    yield "id far off", write(config=deep(b'{"99999999999": {"content": "b"}}'))


BROKEN_FILES = dict(broken_files())


@pytest.mark.parametrize("what", BROKEN_FILES)
def test_broken_files_are_refused(what, tmp_path):
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_tiktoken(*BROKEN_FILES[what](tmp_path))


def test_kimis_own(kimi_vocabulary):
    assert kimi_vocabulary.size == 163_840
    assert kimi_vocabulary.control("<|im_end|>") == 163_586
    assert kimi_vocabulary.control("<|tool_call_end|>") == 163_599
    assert kimi_vocabulary.control_ids == set(range(163_584, 163_840))
    assert len(kimi_vocabulary.encode("The weather in Paris")) == 4
    for text in TEXTS:
        ids = kimi_vocabulary.encode(text)
        assert kimi_vocabulary.control_ids.isdisjoint(ids)
        assert kimi_vocabulary.decode(ids) == text.encode()


# Tokenizers of transformers


def trained(model, **parts):
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(MARKERS[:1])
    tokenizer.add_tokens([*MARKERS[1:], "   "])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def byte_level():
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {char: i for i, char in enumerate([*alphabet, "Ġx"])}
    return Vocabulary.from_transformers(
        trained(
            tokenizers.models.BPE(vocab, [("Ġ", "x")]),
            pre_tokenizer=tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True),
            decoder=tokenizers.decoders.ByteLevel(),
        )
    )


def byte_fallback():
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    vocab = {name: i for i, name in enumerate(["<unk>", *names, "▁", "a", "▁a", "é"])}
    model = tokenizers.models.BPE(vocab, [("▁", "a")], byte_fallback=True, unk_token="<unk>")  # noqa: S106
    return Vocabulary.from_transformers(
        trained(model, normalizer=tokenizers.normalizers.Replace(" ", "▁"))
    )


class Wrapping:
    """A slow tokenizer around tiktoken, as Kimi's remote code is."""

    def __init__(self):
        self.model = tiktoken.Encoding(
            "test", pat_str=r"\S+|\s+", mergeable_ranks=RANKS, special_tokens={"[BOS]": 259}
        )
        self.added_tokens_decoder = dict(enumerate(MARKERS, 260))


def wrapped():
    return Vocabulary.from_transformers(Wrapping())


def test_byte_level():
    vocabulary = byte_level()
    (joined,) = vocabulary.encode(" x")
    assert vocabulary.token_bytes(joined) == b" x"
    assert sorted(vocabulary.controls) == sorted(MARKERS)
    assert vocabulary.token_bytes(vocabulary.size - 1) == b"   "
    assert vocabulary.size - 1 in bits(vocabulary.text_row)


def test_byte_fallback():
    vocabulary = byte_fallback()
    assert vocabulary.token_bytes(1) == b"\x00"
    assert vocabulary.token_bytes(256) == b"\xff"
    assert b" a" in vocabulary.sorted_text[0]
    assert sorted(vocabulary.controls) == sorted(MARKERS)


def test_a_wrapper_of_tiktoken():
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
def test_tokenizers_that_cannot_be_read_exactly_are_refused(tokenizer):
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_transformers(tokenizer)


def test_the_vocabulary_of_bytes():
    vocabulary = Vocabulary.of_bytes(["<a>", "<b>", "<a>"])
    assert (vocabulary.size, vocabulary.controls) == (258, {"<a>": 256, "<b>": 257})
    assert vocabulary.encode("é<a>") == list("é<a>".encode())
