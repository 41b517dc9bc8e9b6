"""Reader of a model's tokenizer files: Kimi's two, or a `tokenizer.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enforcer.errors import EnforcerError, InvalidVocabulary, brief
from enforcer.tokenizers import hugging_face, kimi

if TYPE_CHECKING:
    from os import PathLike

    from enforcer.tokenizers.parts import TokenizerParts

_RANKS, _FAST, _CONFIG = "tiktoken.model", "tokenizer.json", "tokenizer_config.json"


def read(path: str | PathLike[str]) -> TokenizerParts:
    """Return the tokenizer of the files that a path leads to; see `Vocabulary.from_tokenizer`.

    Raises:
        InvalidVocabulary: no such file, or it cannot be read exactly.
        MissingPackage: a tokenizer package is not installed.

    """
    try:
        return _read(Path(path))
    except EnforcerError:
        raise
    except Exception as error:  # `tokenizers` raises nothing more special
        raise InvalidVocabulary(f"cannot read the tokenizer {brief(path)}: {error!r}") from error


def _read(file: Path) -> TokenizerParts:
    given = file
    if file.is_dir():
        file /= _RANKS if (file / _RANKS).is_file() else _FAST
    if not file.is_file():
        raise InvalidVocabulary(
            f"{given} is neither a {_FAST} nor a folder with a {_FAST} or {_RANKS}: for another "
            "tokenizer, or a model's name on a hub, pass `AutoTokenizer.from_pretrained(...)`"
        )
    if file.name == _RANKS:
        return kimi.read(file, file.with_name(_CONFIG))
    return hugging_face.of_fast(_spec(file))


def _spec(file: Path) -> dict[str, Any]:
    """Return a parsed `tokenizer.json`, with the tokens that only the config beside it adds."""
    spec: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    config = file.with_name(_CONFIG)
    if config.is_file():
        named = json.loads(config.read_text(encoding="utf-8")).get("added_tokens_decoder") or {}
        added = list(spec.get("added_tokens") or ())
        known = {token["content"] for token in added}
        added += [
            {**token, "id": int(i)} for i, token in named.items() if token["content"] not in known
        ]
        spec["added_tokens"] = added
    return spec
