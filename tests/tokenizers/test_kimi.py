"""Kimi's two files, right ones and broken ones."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import InvalidVocabulary
from enforcer.tokenizers.kimi import split
from enforcer.vocabulary import Vocabulary
from tests.tokenizer_cases import BYTES, RANKS, TEXTS
from tests.vocabularies import bits


def kimi_files(folder: Path, ranks: dict[bytes, int], names: dict[int, Any]) -> tuple[Path, Path]:
    lines = [base64.b64encode(data) + b" %d" % rank for data, rank in ranks.items()]
    (folder / "tiktoken.model").write_bytes(b"\n".join(lines) + b"\n")
    named = {str(i): {"content": name, "special": False} for i, name in names.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": named}))
    return folder / "tiktoken.model", folder / "tokenizer_config.json"


def test_two_files_are_read(tmp_path: Path) -> None:
    files = kimi_files(tmp_path, RANKS, {259: "[BOS]", 261: "<|im_end|>"})
    vocabulary = Vocabulary.from_tiktoken(*files)
    assert vocabulary.size == 259 + 256
    assert vocabulary.control("<|im_end|>") == 261
    assert vocabulary.control("<|reserved_token_260|>") == 260
    assert vocabulary.control_ids == set(range(259, 259 + 256))
    assert vocabulary.encode("abc") == [257]
    assert bits(vocabulary.text_row) == set(range(259))


def broken_files() -> Iterator[tuple[str, Callable[..., Any]]]:
    def write(ranks: bytes | None = None, config: bytes | None = None) -> Callable[..., Any]:
        def make(folder: Path) -> tuple[Path, Path]:
            files = kimi_files(folder, RANKS, {259: "<|im_end|>"})
            for file, text in zip(files, (ranks, config), strict=True):
                if text is not None:
                    file.write_bytes(text)
            return files

        return make

    def deep(content: bytes) -> bytes:
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
    yield "a name is no text", write(config=deep(b'{"259": {"content": "\\ud800"}}'))
    yield "id below 0", write(config=deep(b'{"-5": {"content": "b"}}'))
    yield "id far off", write(config=deep(b'{"99999999999": {"content": "b"}}'))


BROKEN_FILES = dict(broken_files())


@pytest.mark.parametrize("what", BROKEN_FILES)
def test_broken_files_are_refused(what: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_tiktoken(*BROKEN_FILES[what](tmp_path))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidVocabulary, match=r"No such file.*no\.model"):
        Vocabulary.from_tiktoken(tmp_path / "no.model", tmp_path / "no.json")


def test_kimis_own(kimi_vocabulary: Vocabulary) -> None:
    assert kimi_vocabulary.size == 163_840
    assert kimi_vocabulary.control("<|im_end|>") == 163_586
    assert kimi_vocabulary.control("<|tool_call_end|>") == 163_599
    assert kimi_vocabulary.control_ids == set(range(163_584, 163_840))
    assert len(kimi_vocabulary.encode("The weather in Paris")) == 4
    for text in TEXTS:
        ids = kimi_vocabulary.encode(text)
        assert kimi_vocabulary.control_ids.isdisjoint(ids)
        assert kimi_vocabulary.decode(ids) == text.encode()


def test_a_text_is_split_where_no_token_goes_across() -> None:
    assert "|".join(split("don't stop, 12345 東京ok")) == "don't| stop|,| |123|45| |東京|ok"
    for text in TEXTS:
        assert "".join(split(text)) == text
