"""What ids stand for is what the models' own tokenizers decode them to."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench import npm_tokenizers
from bench.formats import vocabularies as sources
from enforcer.errors import InvalidVocabulary
from enforcer.vocabulary import Vocabulary
from tests.formats import vocabularies
from tests.support import cases
from tests.walks import examples

pytestmark = pytest.mark.slow

# Those that are cut from others, and the others' bytes with other control tokens.
_MADE = ("granite", "granite_20b", "internlm", "jamba", "kimi_k2_small", "kimi_k3_small")
WORD = b"the"
NAMES = [name for name in sources.NAMES if name not in _MADE]


def check_all(found: Vocabulary, decode: Callable[[list[list[int]]], list[str]]) -> None:
    """Compare every id, each behind a word: decoders strip a space that begins a text."""
    word = found.find(WORD)
    every = range(found.size)
    read = decode([[word, token_id] for token_id in every])
    ours = [(WORD + found.token_bytes(token_id)).decode(errors="replace") for token_id in every]
    assert [each for each in zip(every, ours, read, strict=True) if each[1] != each[2]] == []


@pytest.mark.parametrize("name", NAMES)
def test_each_id_stands_for_what_it_is_decoded_to(name: str) -> None:
    fast = vocabularies.fast(name)
    check_all(
        vocabularies.named(name), lambda many: fast.decode_batch(many, skip_special_tokens=False)
    )


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(data=st.data())
def test_the_bytes_of_ids_are_joined_to_the_decoded_text(name: str, data: st.DataObject) -> None:
    found, fast = vocabularies.named(name), vocabularies.fast(name)
    ids = data.draw(st.lists(st.integers(0, found.size - 1), max_size=12))
    ids = [found.find(WORD), *(i for i in ids if i not in found.control_ids)]
    if fast.model.byte_fallback:
        # Of bytes that are no text this decoder makes a mark each, others one a sequence.
        assume(found.decode(ids).decode(errors="ignore").encode() == found.decode(ids))
    assert found.decode(ids).decode(errors="replace") == fast.decode(ids)


@pytest.mark.parametrize("name", NAMES)
@examples(60)
@given(text=st.text())
def test_a_text_comes_back_whoever_has_split_it(name: str, text: str) -> None:
    found, fast = vocabularies.named(name), vocabularies.fast(name)
    ids = found.encode(text)
    assert found.decode(ids) == text.encode()
    assert found.control_ids.isdisjoint(ids)
    theirs = [found.find(WORD), *fast.encode(text, add_special_tokens=False).ids]
    said = found.decode(theirs).decode(errors="replace")
    assert said == fast.decode(theirs, skip_special_tokens=False)


def loaded(name: str, model_type: str | None, folder: Path) -> Any:
    """Load npm's files as a server does, beside a `config.json` or without one."""
    from transformers import AutoTokenizer

    files = npm_tokenizers.folder(name)
    if not files.is_dir():
        pytest.skip(f"no {files.name}: python bench/npm_tokenizers.py")
    for file in files.iterdir():
        (folder / file.name).symlink_to(file)
    if model_type is not None:
        (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(
    ("name", "model_type", "of"),
    cases.params("formats/cases/tokenizers.toml", "files, model_type, of", "classes"),
)
def test_server_classes_are_read_alike(name: str, model_type: str, of: str, tmp_path: Path) -> None:
    tokenizer = loaded(name, model_type, tmp_path)
    found = Vocabulary.from_transformers(tokenizer)
    # Qwen's and DeepSeek's are from another source there.
    assert found.is_same(vocabularies.named(of))
    check_all(found, tokenizer.batch_decode)


def test_a_class_that_loses_spaces_is_refused(tmp_path: Path) -> None:
    tokenizer = loaded("deepseek_v3", None, tmp_path)
    assert tokenizer.decode(tokenizer.encode("a b")) == "ab"
    with pytest.raises(InvalidVocabulary, match=r"loses spaces.*`config.json`"):
        Vocabulary.from_transformers(tokenizer)


@pytest.mark.parametrize("file", cases.load("formats/cases/tokenizers.toml")["mistral_common"])
def test_those_of_mistral_common_are_read_alike(file: str) -> None:
    common = pytest.importorskip("mistral_common")
    from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
    from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    path = Path(common.__file__).with_name("data") / file
    inner = (
        Tekkenizer.from_file(path) if path.suffix == ".json" else SentencePieceTokenizer(str(path))
    )
    found = Vocabulary.from_transformers(SimpleNamespace(tokenizer=inner))

    def decode(ids: list[int]) -> str:
        # SentencePiece's writes no text but pieces where it keeps control tokens.
        is_text = found.control_ids.isdisjoint(ids)
        policy = SpecialTokenPolicy.IGNORE if is_text else SpecialTokenPolicy.KEEP
        text: str = inner.decode(ids, special_token_policy=policy)
        return text

    check_all(found, lambda many: [*map(decode, many)])
