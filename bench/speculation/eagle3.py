"""A draft head of EAGLE3's kind, with random weights.

Owns: the folder that vLLM loads it from. Must not know: servers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SPREAD = 0.02


def write(folder: Path, target: Path, *, seed: int = 0) -> None:
    """Write a head for a Llama; what it drafts has no sense, and is nearly any id.

    Args:
        folder: made if need be.
        target: the model's folder, of three layers or more.
        seed: of the weights.

    """
    import torch
    from safetensors.torch import save_file

    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    hidden, inner, size = (
        config[key] for key in ("hidden_size", "intermediate_size", "vocab_size")
    )
    wide = config["num_attention_heads"] * config["head_dim"]
    narrow = config["num_key_value_heads"] * config["head_dim"]
    shapes = {
        "fc": (hidden, 3 * hidden),
        "midlayer.self_attn.q_proj": (wide, 2 * hidden),
        "midlayer.self_attn.k_proj": (narrow, 2 * hidden),
        "midlayer.self_attn.v_proj": (narrow, 2 * hidden),
        "midlayer.self_attn.o_proj": (hidden, wide),
        "midlayer.mlp.gate_proj": (inner, hidden),
        "midlayer.mlp.up_proj": (inner, hidden),
        "midlayer.mlp.down_proj": (hidden, inner),
        "lm_head": (size, hidden),
    }
    norms = ("hidden_norm", "input_layernorm", "post_attention_layernorm")
    random = torch.Generator().manual_seed(seed)
    weights = {
        f"{name}.weight": torch.randn(shape, generator=random) * _SPREAD
        for name, shape in shapes.items()
    }
    weights |= {f"midlayer.{name}.weight": torch.ones(hidden) for name in norms}
    weights["norm.weight"] = torch.ones(hidden)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config |= {
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": size,
        "tie_word_embeddings": False,
        # Without it vLLM takes layers that a target of four does not have.
        "eagle_aux_hidden_state_layer_ids": [1, 2, 3],
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
