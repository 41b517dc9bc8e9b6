"""Model folders whose weights hold which token follows which in a format's turns, and noise.

Owns: the weights, and the files from which vLLM loads them. Must not know: what the turns say,
how they are served.

Weights that are random outright never write a marker, and any server would look perfect. These
write calls of the format most of the time, slip at every step with a small chance into any
token of the vocabulary, and mix up what the turns have in common: names with other tools'
arguments, values with other keys.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from tokenizers import Tokenizer

_HEAD = 32  # what vLLM's CPU attention wants at least
_LENGTH = 4096


def write(
    folder: Path,
    tokens: Tokenizer,
    turns: Iterable[Sequence[int]],
    *,
    ends: Sequence[str],
    template: str,
    strength: float = 17.0,
) -> None:
    """Write a model folder that vLLM loads.

    Args:
        folder: made if need be; files of the same names are replaced.
        tokens: the tokenizer.
        turns: ids, each from the last of the prompt to the one that ends the turn.
        ends: names of the tokens that end a turn.
        template: the chat template, Jinja.
        strength: logit of what follows; everything else has 0. With 17, two tokens in a
            hundred are slips into a vocabulary of 150,000.

    """
    import torch
    from safetensors.torch import save_file

    followers: dict[int, Counter[int]] = defaultdict(Counter)
    for turn in turns:
        for before, after in pairwise(turn):
            followers[before][after] += 1
    width = max(64, 1 << math.ceil(math.log2(len(followers) + 1)))
    embedded, head = _weights(followers, tokens.get_vocab_size(), width, strength)
    heads = width // _HEAD
    tensors = {
        "model.embed_tokens.weight": torch.from_numpy(embedded),
        "lm_head.weight": torch.from_numpy(head),
        "model.norm.weight": torch.ones(width, dtype=torch.float16),
        **_idle_layer(width),
    }
    folder.mkdir(parents=True, exist_ok=True)
    end_ids = [tokens.token_to_id(name) for name in ends]
    settings = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokens.get_vocab_size(),
        "hidden_size": width,
        "intermediate_size": _HEAD,
        "num_hidden_layers": 1,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": _HEAD,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": _LENGTH,
        "tie_word_embeddings": False,
        "eos_token_id": end_ids,
        "torch_dtype": "float16",
    }
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": ends[0],
        "clean_up_tokenization_spaces": False,
        "model_max_length": _LENGTH,
        "chat_template": template,
    }
    _write_json(folder / "config.json", settings)
    _write_json(folder / "generation_config.json", {"eos_token_id": end_ids})
    _write_json(folder / "tokenizer_config.json", tokenizer)
    tokens.save(str(folder / "tokenizer.json"))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def _weights(
    followers: Mapping[int, Mapping[int, int]], size: int, width: int, strength: float
) -> tuple[npt.NDArray[np.float16], npt.NDArray[np.float16]]:
    """Give embeddings and output weights.

    Each token that something follows has a row of a Hadamard matrix, and all others share the
    first: no two of them are alike, so an output is the sum of what its own row asks for.
    """
    rows = np.ones((1, 1), dtype=np.float32)
    while len(rows) < width:
        rows = np.block([[rows, rows], [rows, -rows]])
    embedded = np.ones((size, width), dtype=np.float16)  # the first row
    head = np.zeros((size, width), dtype=np.float32)
    everything: Counter[int] = Counter()
    for row, (before, after) in zip(rows[1:], sorted(followers.items()), strict=False):
        embedded[before] = row
        everything.update(after.keys())
        _ask(head, row, after, strength)
    # After a slip anything of the turns may follow: else it would babble to the end.
    _ask(head, rows[0], everything, strength)
    return embedded, head.astype(np.float16)


def _ask(
    head: npt.NDArray[np.float32],
    row: npt.NDArray[np.float32],
    after: Mapping[int, int],
    strength: float,
) -> None:
    total = sum(after.values())
    for token, count in after.items():
        head[token] += row * ((strength + math.log(count / total)) / len(row))


def _idle_layer(width: int) -> dict[str, object]:
    """Give a layer that adds nothing to what it is given."""
    import torch

    shapes = {
        **{f"self_attn.{name}_proj": (width, width) for name in "qkvo"},
        "mlp.gate_proj": (_HEAD, width),
        "mlp.up_proj": (_HEAD, width),
        "mlp.down_proj": (width, _HEAD),
    }
    layer = {
        f"model.layers.0.{name}.weight": torch.zeros(shape, dtype=torch.float16)
        for name, shape in shapes.items()
    }
    for name in ("input_layernorm", "post_attention_layernorm"):
        layer[f"model.layers.0.{name}.weight"] = torch.ones(width, dtype=torch.float16)
    return dict(layer)


def _write_json(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
