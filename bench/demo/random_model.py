"""Model folders with random weights: `python -m bench.demo.random_model FOLDER`.

Owns: the folder of a small `LlamaForCausalLM` with any vocabulary, weights or none.
Must not know: what is done with it.

A model with random weights is the hardest adversary of an enforcer: everything that
the masks leave open is tried sooner or later. Without weights the folder is for
vLLM's `--load-format dummy`.
"""

from __future__ import annotations

import argparse
import enum
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from bench.demo import byte_pairs
from bench.demo.tiny_model import chat

if TYPE_CHECKING:
    from collections.abc import Mapping

_END = "<|im_end|>"


class Vocabulary(enum.Enum):
    """Where the vocabulary comes from."""

    AUTO = "auto"  # Kimi's if its files are found, else the installed one
    KIMI = "kimi"
    INSTALLED = "installed"


class Weights(enum.Enum):
    """Whether the folder has weights."""

    RANDOM = "random"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of the network; vLLM's CPU attention wants a head dimension of 32 or more.

    Attributes:
        kv_heads: fewer than heads where those share keys and values; as many by default.
        inner: the width between a layer's projections; twice `hidden` by default.

    """

    hidden: int = 64
    layers: int = 2
    head_dim: int = 32
    max_length: int = 4096
    kv_heads: int | None = None
    inner: int | None = None


def tokenizer(vocabulary: Vocabulary, cache: Path) -> Tokenizer:
    """Build a tokenizer with Kimi's control tokens, or take it from the cache.

    Args:
        vocabulary: whose byte pairs.
        cache: a folder; finding the merges of a large vocabulary takes some seconds.

    Raises:
        FileNotFoundError: the files of that vocabulary are not there.

    """
    folder = byte_pairs.kimi_folder()
    if vocabulary is Vocabulary.KIMI and folder is None:
        raise FileNotFoundError("Kimi's tokenizer files are not there; set $KIMI_TOKENIZER")
    if vocabulary is Vocabulary.INSTALLED or folder is None:
        pairs = byte_pairs.installed()
    else:
        pairs = byte_pairs.kimi(folder)
    known = hashlib.sha256(repr((pairs.pattern, pairs.controls)).encode())
    for data, rank in pairs.ranks.items():
        known.update(b"%d %b\n" % (rank, data))
    file = cache / f"tokenizer-{known.hexdigest()[:16]}.json"
    return byte_pairs.kept(file, lambda: byte_pairs.fast_tokenizer(pairs))


def config(tokens: Tokenizer, shape: Shape, end: str = _END) -> Mapping[str, object]:
    """Return what stands in `config.json`."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokens.get_vocab_size(),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner or 2 * shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.hidden // shape.head_dim,
        "num_key_value_heads": shape.kv_heads or shape.hidden // shape.head_dim,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": shape.max_length,
        "tie_word_embeddings": True,
        "bos_token_id": tokens.token_to_id("[BOS]"),
        "eos_token_id": tokens.token_to_id(end),
        "pad_token_id": tokens.token_to_id("[PAD]"),
        "torch_dtype": "float32",
    }


def write(
    folder: Path,
    tokens: Tokenizer,
    *,
    shape: Shape | None = None,
    weights: Weights = Weights.RANDOM,
    seed: int = 0,
    end: str = _END,
) -> None:
    """Write a model folder that transformers and vLLM load.

    Args:
        folder: made if need be; files of the same names are replaced.
        tokens: a tokenizer that has `end`.
        shape: the network's size.
        weights: random (float32, `model.safetensors`) or none.
        seed: of the weights.
        end: the token that ends a turn.

    Raises:
        ValueError: the tokenizer has no such token, or the hidden size is not a multiple
            of the head dimension.

    """
    shape = shape or Shape()
    if tokens.token_to_id(end) is None:
        raise ValueError(f"the tokenizer has no {end}, and so the model could not end a turn")
    if shape.hidden % shape.head_dim:
        raise ValueError(f"hidden size {shape.hidden} is no multiple of {shape.head_dim}")
    folder.mkdir(parents=True, exist_ok=True)
    settings = config(tokens, shape, end)
    _write_json(folder / "config.json", settings)
    ids = {key: settings[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    _write_json(folder / "generation_config.json", ids)
    chat.save(tokens, folder, max_length=shape.max_length)
    if weights is Weights.RANDOM:
        _write_weights(folder, seed)


def given_or_written(given: Path | None, folder: Path) -> Path:
    """Give the model that a measurement serves: the one given, or one written into a folder.

    That one has random weights, and Kimi's vocabulary if it is at hand.
    """
    if given is not None:
        return given.resolve()
    model = folder / "model"
    write(model, tokenizer(Vocabulary.AUTO, folder / "cache"))
    return model


def _write_json(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _write_weights(folder: Path, seed: int) -> None:
    import torch
    from transformers import AutoConfig, LlamaForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(AutoConfig.from_pretrained(folder))
    model.save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--vocabulary", choices=[v.value for v in Vocabulary], default="auto")
    source.add_argument("--tokenizer", type=Path, help="a tokenizer.json to use instead")
    parser.add_argument("--cache", type=Path, default=Path(".cache"))
    parser.add_argument("--weights", choices=[w.value for w in Weights], default="random")
    parser.add_argument("--hidden", type=int, default=Shape().hidden)
    parser.add_argument("--layers", type=int, default=Shape().layers)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.tokenizer:
        tokens = Tokenizer.from_file(str(options.tokenizer))
    else:
        tokens = tokenizer(Vocabulary(options.vocabulary), options.cache)
    shape = Shape(hidden=options.hidden, layers=options.layers)
    weights = Weights(options.weights)
    write(options.folder, tokens, shape=shape, weights=weights, seed=options.seed)
    print(f"{options.folder}: {tokens.get_vocab_size():,} entries, weights: {weights.value}")


if __name__ == "__main__":
    main()
