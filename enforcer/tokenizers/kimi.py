"""Reader of Kimi's tokenizer: the two files beside the weights, and the split pattern."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

from enforcer.errors import InvalidVocabulary
from enforcer.extras import needed_for
from enforcer.tokenizers.parts import TokenizerParts, of_encoding

if TYPE_CHECKING:
    from os import PathLike

# Kimi's split pattern, from the tokenizer class beside the model's weights.
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_PATTERN = "|".join(
    (
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}?",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_CONTROL_BLOCK = 256  # added ids that follow the byte-pair ranks
_MOST_IDS = 1 << 22  # no tokenizer has as many; a stray id must not eat the memory


def read(ranks: str | PathLike[str], config: str | PathLike[str]) -> TokenizerParts:
    """Return the tokenizer of the two files; see `Vocabulary.from_tiktoken`.

    Raises:
        InvalidVocabulary: a file is missing or malformed.
        MissingPackage: the package `tiktoken` is not installed.

    """
    try:
        table = _read_ranks(Path(ranks))
        named = json.loads(Path(config).read_text(encoding="utf-8"))["added_tokens_decoder"]
        names = {int(i): str(entry["content"]) for i, entry in named.items()}
    except OSError as error:  # its message names the file
        raise InvalidVocabulary(f"cannot read the tokenizer: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidVocabulary(
            f"cannot read the tokenizer of {ranks} and {config}: {error!r}"
        ) from error
    first = len(table)
    if outside := [i for i in names if not 0 <= i < _MOST_IDS]:
        raise InvalidVocabulary(f"{config}: ids that cannot be: {outside[:5]}")
    block = range(first, max(first + _CONTROL_BLOCK, max(names, default=0) + 1))
    controls = {names.get(i, f"<|reserved_token_{i}|>"): i for i in block}
    with needed_for("reading this tokenizer"):
        import tiktoken

    encoding = tiktoken.Encoding("kimi", pat_str=_PATTERN, mergeable_ranks=table, special_tokens={})
    return of_encoding(encoding, table, controls)


def split(text: str) -> list[str]:
    """Return a text split at the boundaries that no token of Kimi's tokenizer crosses."""
    import regex  # type: ignore[import-untyped]

    return list(regex.findall(_PATTERN, text, flags=regex.VERSION1))


def _read_ranks(path: Path) -> dict[bytes, int]:
    table = {}
    for line in path.read_bytes().splitlines():
        if line:
            data, rank = line.split()
            table[base64.b64decode(data, validate=True)] = int(rank)
    if not table or sorted(table.values()) != list(range(len(table))):
        raise ValueError(f"{path.name}: the ranks are not 0, 1, 2, …")
    return table
