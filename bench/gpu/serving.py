"""Servers on a machine with an accelerator: their share of it, and a model of production's size.

Owns: the flags of both, that model's folder. Must not know: what is sent to a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from bench.demo import random_model

if TYPE_CHECKING:
    from pathlib import Path

# Several share an accelerator, and vLLM wants most of it for each; and that many sequences need
# more of a cache than the few that other benchmarks run. The later of two flags counts.
SHARING: tuple[str, ...] = (
    "--gpu-memory-utilization",
    "0.1",
    "--kv-cache-memory-bytes",
    str(2 << 30),
)
# Eight billion weights, the shape of Qwen3-8B, so that a step takes an accelerator as long as one
# of a model that somebody serves. vLLM makes them up: all are near zero, and any id is as likely
# as any other.
_LARGE = random_model.Shape(hidden=4096, layers=36, head_dim=128, kv_heads=8, inner=12288)
LARGE: tuple[str, ...] = (
    *("--load-format", "dummy", "--dtype", "bfloat16", "--no-enforce-eager"),
    # Graphs of the kernels that vLLM brings; what Inductor would compile takes minutes more.
    *("--compilation-config", '{"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}'),
    *("--gpu-memory-utilization", "0.35", "--kv-cache-memory-bytes", str(32 << 30)),
)


def is_here() -> bool:
    """Tell whether the machine has an accelerator that torch can use."""
    found: bool = torch.cuda.is_available()
    return found


def write_large(folder: Path) -> Path:
    """Write the folder of the large model, for `LARGE`; its weights are made as it is loaded."""
    tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, folder)
    model = folder / "large"
    random_model.write(model, tokens, shape=_LARGE, weights=random_model.Weights.NONE)
    return model
