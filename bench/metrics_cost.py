"""What recording a mask time costs, beside the mask: `python -m bench.metrics_cost`.

Owns: the measurement. Must not know: vLLM, how numbers are kept.
"""

from __future__ import annotations

import json
import tempfile
import timeit
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from enforcer import Enforcer, Vocabulary
from enforcer.vllm.observe import metric_defs, stats

_REPEAT, _NUMBER = 9, 20_000


def _best(statement: object) -> float:
    times = timeit.repeat(statement, repeat=_REPEAT, number=_NUMBER)  # type: ignore[arg-type]
    return min(times) / _NUMBER * 1e9


def main() -> None:
    tokens = [bytes([byte]) for byte in range(256)] * 640  # of about the size of Kimi's
    names = [
        *("<|im_assistant|>", "<|im_middle|>", "<|im_end|>", "[EOS]", "<think>", "</think>"),
        *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
        *("<|tool_call_argument_begin|>", "<|tool_call_end|>", "[BOS]", "[PAD]"),
        *("<|im_user|>", "<|im_system|>"),
    ]
    controls = {name: len(tokens) + at for at, name in enumerate(names)}
    e = Enforcer(Vocabulary([*tokens, *(name.encode() for name in names)], controls))
    matcher = e.matcher([{"type": "function", "function": {"name": "f"}}])
    bitmask = np.zeros((1, e.vocabulary.words), dtype=np.int32)
    with tempfile.TemporaryDirectory() as folder:
        observe = stats.Recorder(metric_defs.LAYOUT, Path(folder)).observer(metric_defs.MASK)

        def record() -> None:
            begun = perf_counter_ns()
            observe(perf_counter_ns() - begun)

        result = {
            "ids": e.vocabulary.size,
            "record_ns": round(_best(record)),
            "text_mask_ns": round(_best(lambda: matcher.fill(bitmask))),
            "empty_call_ns": round(_best(lambda: None)),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
