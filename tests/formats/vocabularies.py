"""The vocabularies of the formats, and the tokenizer objects that vLLM's parsers want.

Owns: building each once. Must not know: what is written with them, dialects.

Every test that asks for one is skipped where its package is not installed; the packages are
pyproject.toml's dependency group `formats`.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.formats import vocabularies as sources
from bench.formats.catalogue import ROWS
from enforcer.vocabulary import Vocabulary
from tests import vocabularies

CACHE = Path(__file__).resolve().parents[2] / ".cache"


@cache
def fast(name: str) -> Any:
    """Give the `tokenizers.Tokenizer` of that name; skips the test where its files are absent."""
    try:
        return sources.build(name, CACHE)
    except FileNotFoundError as error:
        pytest.skip(str(error))


@cache
def named(name: str) -> Vocabulary:
    """Give the vocabulary of that name."""
    return Vocabulary.from_transformers(_Fast(fast(name)))


def vocabulary(format_name: str) -> Vocabulary:
    """Give the vocabulary of a format; every added token is a control, flagged or not."""
    return named(ROWS[format_name].vocabulary)


def ids(format_name: str, text: str) -> list[int]:
    """Give the ids of a text in which the tokenizer's markers stand for their tokens."""
    return vocabularies.write(vocabulary(format_name), text)


class _Fast:
    """As much of transformers' fast tokenizers as `Vocabulary.from_transformers` reads."""

    def __init__(self, tokenizer: Any) -> None:
        self.backend_tokenizer = tokenizer


class Tokenizer:
    """As much of a tokenizer as vLLM's parsers use; the vocabulary is built once, not a call."""

    def __init__(self, name: str) -> None:
        self.fast = fast(name)
        self._vocab = self.fast.get_vocab(with_added_tokens=True)
        spec = json.loads(self.fast.to_str())
        special = [token for token in spec["added_tokens"] if token["special"]]
        self.all_special_ids = [token["id"] for token in special]
        self.all_special_tokens = [token["content"] for token in special]
        self.vocabulary = named(name)

    def get_vocab(self) -> dict[str, int]:
        found: dict[str, int] = self._vocab
        return found

    def __len__(self) -> int:
        return self.vocabulary.size

    def convert_tokens_to_ids(self, token: str) -> int | None:
        found: int | None = self._vocab.get(token)
        return found

    def encode(self, text: str, **_: Any) -> list[int]:
        return vocabularies.write(self.vocabulary, text)

    def decode(self, token_ids: list[int] | int, **_: Any) -> str:
        given = [token_ids] if isinstance(token_ids, int) else token_ids
        return self.vocabulary.decode(given).decode(errors="replace")


@cache
def tokenizer(format_name: str) -> Tokenizer:
    """Give the tokenizer object of a format."""
    return Tokenizer(ROWS[format_name].vocabulary)
