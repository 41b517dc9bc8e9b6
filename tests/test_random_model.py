from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared_data import shared
from tests.support.cases import load
from tests.walks import examples

pytestmark = pytest.mark.slow

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
tiktoken = pytest.importorskip("tiktoken")

from bench.demo import byte_pairs, random_model  # noqa: E402 - they need what is asked for above
from bench.demo.tiny_model import chat  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tiktoken.core import Encoding
    from tokenizers import Tokenizer

    from bench.demo.byte_pairs import BytePairs


TEXTS = [*load("cases/tokenizers.toml")["hard"], "a" * 300 + " " * 300]


def small_pairs() -> BytePairs:
    """Byte pairs with few merges, one of them unreachable by merging ("zzz")."""
    tokens = [bytes([i]) for i in range(256)]
    tokens += [b"he", b"ll", b"hell", b"o ", b"hello", b"zzz"]
    ranks = {data: rank for rank, data in enumerate(tokens)}
    return byte_pairs.BytePairs(ranks, byte_pairs.KIMI_PATTERN, chat.CONTROLS)


def kimi_pairs() -> BytePairs:
    return byte_pairs.kimi(shared("kimi"))


def installed_pairs() -> BytePairs:
    pytest.importorskip("mistral_common")
    return byte_pairs.installed()


SOURCES = [small_pairs, kimi_pairs, installed_pairs]


@pytest.fixture(scope="module", params=SOURCES)
def both(request: pytest.FixtureRequest) -> tuple[Encoding, Tokenizer]:
    """Build tiktoken's encoder and the fast tokenizer of the same ranks."""
    pairs = request.param()
    reference = tiktoken.Encoding(
        "reference", pat_str=pairs.pattern, mergeable_ranks=dict(pairs.ranks), special_tokens={}
    )
    # tiktoken is not given the control tokens here, and so never reads them in a text.
    return reference, byte_pairs.fast_tokenizer(replace(pairs, controls={}))


@pytest.mark.parametrize("text", TEXTS)
def test_encodes_as_tiktoken_does(both: tuple[Encoding, Tokenizer], text: str) -> None:
    reference, tokenizer = both
    assert tokenizer.encode(text).ids == reference.encode_ordinary(text)


@examples(300)
@given(text=st.text(st.characters(codec="utf-8"), max_size=80))
def test_encodes_any_text_as_tiktoken_does(both: tuple[Encoding, Tokenizer], text: str) -> None:
    reference, tokenizer = both
    ids = tokenizer.encode(text).ids
    assert ids == reference.encode_ordinary(text)
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("source", SOURCES)
def test_ids_are_ranks_and_then_the_control_tokens(source: Callable[..., Any]) -> None:
    pairs = source()
    tokenizer = byte_pairs.fast_tokenizer(pairs)
    first = len(pairs.ranks)
    assert tokenizer.get_vocab_size() == first + len(pairs.controls)
    assert [tokenizer.token_to_id(name) for name in pairs.controls] == list(
        range(first, first + len(pairs.controls))
    )
    assert {
        token.content: token.special for token in tokenizer.get_added_tokens_decoder().values()
    } == pairs.controls


def test_kimis_control_ids_are_the_real_ones() -> None:
    pairs = kimi_pairs()
    names = list(pairs.controls)
    at = {name: len(pairs.ranks) + names.index(name) for name in chat.CONTROLS}
    assert at["<|tool_calls_section_begin|>"] == 163595
    assert at["<|im_end|>"] == 163586
    assert len(pairs.ranks) + len(names) == 163840


def test_the_installed_vocabulary_has_a_realistic_size() -> None:
    pairs = installed_pairs()
    assert len(pairs.ranks) + len(pairs.controls) == 131072
    assert list(pairs.controls)[: len(chat.CONTROLS)] == list(chat.CONTROLS)


@pytest.fixture
def tokens() -> Tokenizer:
    return byte_pairs.fast_tokenizer(small_pairs())


def test_a_folder_loads_in_transformers_and_generates(tmp_path: Path, tokens: Tokenizer) -> None:
    random_model.write(tmp_path, tokens)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hello"}], add_generation_prompt=True, return_tensors="pt"
    )
    assert model.generation_config.eos_token_id == tokens.token_to_id("<|im_end|>")
    assert model.config.vocab_size == tokens.get_vocab_size() == len(tokenizer)
    made = model.generate(**prompt, max_new_tokens=4, do_sample=False)
    assert made.shape[1] > prompt["input_ids"].shape[1]


def test_weights_follow_the_seed(tmp_path: Path, tokens: Tokenizer) -> None:
    def written(name: str, seed: int) -> bytes:
        random_model.write(tmp_path / name, tokens, seed=seed)
        return (tmp_path / name / "model.safetensors").read_bytes()

    assert written("a", 1) == written("b", 1) != written("c", 2)


def test_without_weights_the_folder_has_the_rest(tmp_path: Path, tokens: Tokenizer) -> None:
    shape = random_model.Shape(hidden=96, layers=1)
    random_model.write(tmp_path, tokens, shape=shape, weights=random_model.Weights.NONE)
    assert {file.name for file in tmp_path.iterdir()} == {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert json.loads((tmp_path / "config.json").read_text())["num_attention_heads"] == 3


def test_a_tokenizer_without_an_end_of_turn_is_refused(tmp_path: Path) -> None:
    plain = small_pairs()
    tokens = byte_pairs.fast_tokenizer(byte_pairs.BytePairs(plain.ranks, plain.pattern, {}))
    with pytest.raises(ValueError, match="im_end"):
        random_model.write(tmp_path, tokens)


def test_a_hidden_size_not_divided_by_heads_is_refused(tmp_path: Path, tokens: Tokenizer) -> None:
    with pytest.raises(ValueError, match="multiple"):
        random_model.write(tmp_path, tokens, shape=random_model.Shape(hidden=100))


def test_a_tokenizer_is_built_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_pairs, "installed", small_pairs)
    built = random_model.tokenizer(random_model.Vocabulary.INSTALLED, tmp_path)

    def never(_pairs: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr(byte_pairs, "fast_tokenizer", never)
    again = random_model.tokenizer(random_model.Vocabulary.INSTALLED, tmp_path)
    assert again.to_str() == built.to_str()
    assert len(list(tmp_path.iterdir())) == 1


def test_missing_kimi_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIMI_TOKENIZER", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="KIMI_TOKENIZER"):
        random_model.tokenizer(random_model.Vocabulary.KIMI, tmp_path)
