"""Kimi's vocabulary with a format's special tokens, and texts as its token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from enforcer.turn.dialect import Dialect


def vocabulary_of(ranks: Path, dialect: Dialect) -> Vocabulary:
    plain = Vocabulary.from_tiktoken(ranks / "tiktoken.model", ranks / "tokenizer_config.json")
    tokens = [plain.token_bytes(i) for i in range(plain.size)]
    controls = dict(plain.controls)
    for name in dialect.controls:
        if name not in controls:
            controls[name] = len(tokens)
            tokens.append(name.encode())
    return Vocabulary(tokens, controls, plain.encode)


def _write(vocabulary: Vocabulary, dialect: Dialect, text: str) -> Iterator[int]:
    """Give the ids of an example, its markers being tokens."""
    while text:
        at, name = min(
            ((text.find(name), name) for name in dialect.controls if name in text),
            default=(len(text), ""),
        )
        yield from vocabulary.encode(text[:at])
        if name:
            yield vocabulary.control(name)
        text = text[at + len(name) :]
