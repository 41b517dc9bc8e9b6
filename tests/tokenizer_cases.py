"""Tokenizers of every kind that is read, small ones, and texts for them.

Owns: building them. Must not know: what is tested with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tiktoken
import tokenizers
from transformers import PreTrainedTokenizerFast

from enforcer.vocabulary import Vocabulary
from tests.support.cases import load

if TYPE_CHECKING:
    from tokenizers.models import BPE
    from transformers.tokenization_utils_tokenizers import TokenizersBackend


BYTES = [bytes([byte]) for byte in range(256)]
MARKERS = ["<|im_end|>", "<|tool_call_end|>", "<think>"]
TEXTS: list[str] = load("cases/tokenizers.toml")["texts"]
RANKS = {data: i for i, data in enumerate([*BYTES, b"ab", b"abc", b' "'])}


def trained(model: BPE, **parts: Any) -> TokenizersBackend:
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(MARKERS[:1])
    tokenizer.add_tokens([*MARKERS[1:], "   "])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def byte_level(**model: Any) -> Vocabulary:
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocab = {char: i for i, char in enumerate([*alphabet, "Ġx"])}
    return Vocabulary.from_transformers(
        trained(
            tokenizers.models.BPE(**{"vocab": vocab, "merges": [("Ġ", "x")], **model}),
            pre_tokenizer=tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True),
            decoder=tokenizers.decoders.ByteLevel(),
        )
    )


def byte_fallback(*added: str, more: tuple[str, ...] = (), **parts: Any) -> Vocabulary:
    """Read one with byte fallback.

    Args:
        added: texts of further added tokens.
        more: texts of further tokens.
        parts: those of the tokenizer, in place of its normalizer.

    """
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    vocab = {name: i for i, name in enumerate(["<unk>", *names, "▁", "a", "▁a", "é", *more])}
    model = tokenizers.models.BPE(vocab, [("▁", "a")], byte_fallback=True, unk_token="<unk>")  # noqa: S106
    parts = parts or {"normalizer": tokenizers.normalizers.Replace(" ", "▁")}
    tokenizer = trained(model, **parts)
    tokenizer.add_tokens(list(added))
    return Vocabulary.from_transformers(tokenizer)


class Wrapping:
    """A slow tokenizer around tiktoken, as Kimi's remote code is."""

    def __init__(self) -> None:
        self.model = tiktoken.Encoding(
            "test", pat_str=r"\S+|\s+", mergeable_ranks=RANKS, special_tokens={"[BOS]": 259}
        )
        self.added_tokens_decoder = dict(enumerate(MARKERS, 260))


def wrapped() -> Vocabulary:
    return Vocabulary.from_transformers(Wrapping())
