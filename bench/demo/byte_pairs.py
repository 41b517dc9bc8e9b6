"""Ranked byte pairs (tiktoken's form) as a fast tokenizer that needs no remote code.

Owns: reading ranks, finding the merges behind them, and writing the equivalent
`tokenizers.Tokenizer`. Must not know: models, chat templates, what the added tokens
mean.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from bench.demo.tiny_model.chat import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Kimi's split of text into pieces: its alternatives in order.
_HAN = r"[\p{Han}]+"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_TAIL = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI_PATTERN = "|".join(
    (
        _HAN,
        f"{_LEAD}{_UPPER}*{_LOWER}+{_TAIL}",
        f"{_LEAD}{_UPPER}+{_LOWER}*{_TAIL}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_KIMI_CONTROL_BLOCK = 256  # added ids that follow the ranks
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "kimi"


@dataclass(frozen=True, slots=True)
class BytePairs:
    """A vocabulary: ranks by bytes, the split pattern, and the added tokens after the ranks.

    Attributes:
        ranks: bytes to rank; the ranks are 0, 1, 2, …, and are the ids.
        pattern: regular expression of the pieces that are merged separately.
        controls: added token to its "special" flag; ids follow the ranks in this order.

    """

    ranks: Mapping[bytes, int]
    pattern: str
    controls: Mapping[str, bool]


def kimi_folder() -> Path | None:
    """Find Kimi's `tiktoken.model` and `tokenizer_config.json`, which cannot be shipped.

    Looked for in `$KIMI_TOKENIZER`, else in `../shared/kimi` beside the repository.
    """
    folder = Path(os.environ.get("KIMI_TOKENIZER", _BESIDE))
    files = ("tiktoken.model", "tokenizer_config.json")
    return folder if all((folder / name).is_file() for name in files) else None


def kimi(folder: Path) -> BytePairs:
    """Read Kimi's vocabulary of 163,840 entries."""
    lines = (folder / "tiktoken.model").read_bytes().splitlines()
    pairs = (line.split() for line in lines if line)
    ranks = {base64.b64decode(data): int(rank) for data, rank in pairs}
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    named = {int(i): token for i, token in config["added_tokens_decoder"].items()}
    controls = {}
    for i in range(len(ranks), len(ranks) + _KIMI_CONTROL_BLOCK):
        token = named.get(i, {"content": f"<|reserved_token_{i}|>", "special": True})
        controls[token["content"]] = token["special"]
    return BytePairs(ranks, KIMI_PATTERN, controls)


def installed() -> BytePairs:
    """Read a vocabulary of realistic size that comes with vLLM: Tekken, of `mistral_common`.

    Kimi's control tokens and reserved ones fill it to 131,072 entries.

    Raises:
        FileNotFoundError: `mistral_common` is not installed, or has no such file.

    """
    found = find_spec("mistral_common")
    if found is None or found.origin is None:
        raise FileNotFoundError("no vocabulary found: install mistral_common, or give a tokenizer")
    file = Path(found.origin).with_name("data") / "tekken_240911.json"
    spec = json.loads(file.read_text(encoding="utf-8"))
    size = spec["config"]["default_vocab_size"]
    count = size - spec["config"]["default_num_special_tokens"]
    entries = spec["vocab"][:count]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in entries}
    controls = {**CONTROLS}
    for i in range(len(ranks) + len(controls), size):
        controls[f"<|reserved_token_{i}|>"] = True
    return BytePairs(ranks, spec["config"]["pattern"], controls)


def fast_tokenizer(pairs: BytePairs) -> Tokenizer:
    """Build the tokenizer that encodes as tiktoken does with these ranks."""
    letters = _byte_letters()
    spelled = {data: "".join(letters[byte] for byte in data) for data in pairs.ranks}
    vocabulary = {spelled[data]: rank for data, rank in pairs.ranks.items()}
    merges = [
        (spelled[left], spelled[right])
        for left, right in (
            _halves(data, pairs.ranks) for data in sorted(pairs.ranks, key=pairs.ranks.__getitem__)
        )
        if right
    ]
    # tiktoken takes a piece that is a token as it is, merges or not.
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pairs.pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    # In one call, so that the ids follow this order; the flag of each is kept.
    tokenizer.add_tokens(
        [AddedToken(name, normalized=False, special=flag) for name, flag in pairs.controls.items()]
    )
    return tokenizer


def _halves(data: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes]:
    """Split a token into the two that merge into it; the second is empty if none do."""
    limit = ranks[data]
    parts = [data[i : i + 1] for i in range(len(data))]
    while len(parts) > 2:
        joined = [ranks.get(left + right, limit) for left, right in pairwise(parts)]
        best = min(joined)
        if best >= limit:
            return data, b""
        at = joined.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return (parts[0], parts[1]) if len(parts) == 2 else (data, b"")


def _byte_letters() -> dict[int, str]:
    """Return the letter of each byte: printable Latin-1 as it is, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    rest = [byte for byte in range(256) if byte not in letters]
    letters.update({byte: chr(256 + n) for n, byte in enumerate(rest)})
    return letters


def kept(file: Path, build: Callable[[], Tokenizer]) -> Tokenizer:
    """Take a tokenizer from a file, or build it and put it there."""
    if file.exists():
        return Tokenizer.from_file(str(file))
    built = build()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part")  # two processes may build it at once
    built.save(str(part), pretty=False)
    part.replace(file)
    return built
