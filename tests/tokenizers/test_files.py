"""Tokenizers that a path leads to: the same as when transformers has loaded them."""

import json
import sys
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, pre_tokenizers
from transformers import AutoTokenizer

import enforcer
from enforcer.errors import InvalidVocabulary, MissingPackage
from enforcer.vocabulary import Vocabulary
from tests.shared_data import shared
from tests.tokenizer_cases import TEXTS
from tests.vllm_servers import TINY
from tests.vocabularies import kimi


def test_a_tokenizer_json_and_its_folder() -> None:
    loaded = AutoTokenizer.from_pretrained(TINY)
    expected = Vocabulary.from_transformers(loaded)
    for source in (TINY, str(TINY), TINY / "tokenizer.json", loaded, loaded.backend_tokenizer):
        found = enforcer.Enforcer.from_tokenizer(source).vocabulary
        assert found.is_same(expected)
        assert [found.encode(text) for text in TEXTS] == [expected.encode(text) for text in TEXTS]


@pytest.mark.slow
def test_kimis_two_files() -> None:
    folder = shared("kimi", "tiktoken.model").parent
    assert Vocabulary.from_tokenizer(folder).is_same(kimi())
    assert Vocabulary.from_tokenizer(folder / "tiktoken.model").is_same(kimi())


def test_tokens_that_only_the_config_adds(tmp_path: Path) -> None:
    """Transformers adds them when it loads the folder; they are special tokens here as well."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(
        tokenizers.models.BPE({char: i for i, char in enumerate(alphabet)}, [])
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<|im_end|>"])
    made.save(str(tmp_path / "tokenizer.json"))
    names = {"256": "<|im_end|>", "257": "<tool_call>"}
    kept = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {
            i: {"content": name, "special": True, **kept} for i, name in names.items()
        },
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = Vocabulary.from_tokenizer(tmp_path)
    assert found.controls == {"<|im_end|>": 256, "<tool_call>": 257}
    assert found.is_same(Vocabulary.from_transformers(AutoTokenizer.from_pretrained(tmp_path)))


@pytest.mark.parametrize("name", ["moonshotai/Kimi-K2-Instruct", "", "x" * 5000, "\0"])
def test_a_path_that_leads_nowhere(name: str) -> None:
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_tokenizer(name)
    if len(name) < 100:
        with pytest.raises(InvalidVocabulary, match=r"AutoTokenizer.from_pretrained\(...\)"):
            Vocabulary.from_tokenizer(name)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": {"vocab": {}}}', "\ud800"])
def test_a_file_that_is_no_tokenizer(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(InvalidVocabulary):
        Vocabulary.from_tokenizer(file)


def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackage, match=r"'\.\[tokenizers\]'"):
        Vocabulary.from_tokenizer(TINY)


def test_the_constructor_names_it() -> None:
    loaded = AutoTokenizer.from_pretrained(TINY)
    with pytest.raises(enforcer.ConfigurationError, match=r"Enforcer.from_tokenizer\(...\)"):
        enforcer.Enforcer(loaded)
