"""Model folders with random weights, for the formats besides Kimi K2's.

Owns: which tokenizer each has, and its files. Must not know: servers, what is asked of them.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import kimi_k3_tokenizer

from bench import byte_pairs, random_model

if TYPE_CHECKING:
    from bench.byte_pairs import BytePairs

_K3_NAMES = {
    584: "[BOS]",
    585: "[EOS]",
    586: "<|end_of_msg|>",
    587: "<|open|>",
    588: "<|close|>",
    589: "<|sep|>",
    590: "[start_header_id]",
    591: "[end_header_id]",
    593: "[EOT]",
    838: "[UNK]",
    839: "[PAD]",
}
_K3_FIRST = 584


def kimi_k3_pairs() -> BytePairs:
    """Give Kimi K3's vocabulary: K2's ranks where they are at hand, and its own control tokens."""
    folder = byte_pairs.kimi_folder()
    pairs = byte_pairs.installed() if folder is None else byte_pairs.kimi(folder)
    first = len(pairs.ranks)
    names = (_K3_NAMES.get(_K3_FIRST + at, f"<|reserved_token_{first + at}|>") for at in range(256))
    return replace(pairs, controls=dict.fromkeys(names, True))


def kimi_k3(folder: Path) -> None:
    """Write a model with Kimi K3's vocabulary, whose chats its own tokenizer class renders."""
    tokens = byte_pairs.fast_tokenizer(kimi_k3_pairs())
    random_model.write(folder, tokens, end="<|end_of_msg|>")
    code = Path(kimi_k3_tokenizer.__file__)
    shutil.copy(code, folder / code.name)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    del config["chat_template"]
    config["tokenizer_class"] = "KimiK3Tokenizer"
    config["auto_map"] = {"AutoTokenizer": [None, f"{code.stem}.KimiK3Tokenizer"]}
    file.write_text(json.dumps(config), encoding="utf-8")
