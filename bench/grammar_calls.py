"""vLLM's two calls for a token beside the kernel's own: `python -m bench.grammar_calls`.

Many turns stand inside arguments whose mask rows are kept, each text having been followed before.
A step calls `fill_bitmask` and `accept_tokens` of each `EnforcedGrammar`, and then `fill` and
`accept` of the kernel's text at the same place, for the same tokens. Times are of the thread's
processor; who comes first alternates.

Owns: the texts, what is timed, the ratio. Must not know: how masks are computed.
"""

from __future__ import annotations

import argparse
import gc
import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bench.arguments import drawn
from bench.first_mask import tools as tools_
from bench.first_mask.rivals import turn_ids
from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer import Enforcer, kernel
from enforcer.request import tools as request_tools
from enforcer.request.spec import Spec
from enforcer.vllm.engine.backend import EnforcedGrammar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOOLS, _TIMES = 60, 4  # each text is followed so often; the last time counts


class Pair:
    """One text, followed by vLLM's grammar object and by the kernel alone."""

    def __init__(self, enforcer: Enforcer, tool: dict[str, Any], ids: Sequence[int]) -> None:
        function, self.ids = tool["function"], ids
        declared = [{"type": "function", "function": function}]
        spec = Spec(request_tools.parse(declared, "auto", True), 0)
        enforcer.check(spec)
        before = turn_ids(enforcer.vocabulary, function["name"], {})
        matcher, beside = (enforcer.start(spec, None, rollback=1) for _ in range(2))
        for segment in ("open", "header", "begin"):
            for token_id in before[segment]:
                if not (matcher.accept(token_id) and beside.accept(token_id)):
                    raise RuntimeError(f"{token_id} of {segment} is refused")
        self.grammar, self._beside = EnforcedGrammar(matcher, "bench"), beside
        self.text: Any = beside.position.grammar


def _pairs(enforcer: Enforcer, tools: Sequence[dict[str, Any]]) -> Iterator[Pair]:
    """Yield a text of each tool that the machine holds."""
    for at, tool in enumerate(tools):
        parameters, example = tool["function"]["parameters"], tool["valid_arguments"][0]
        (value,) = drawn.texts(parameters, example, Random(f"calls {at}"), 1)
        pair = Pair(enforcer, tool, turn_ids(enforcer.vocabulary, "", value)["arguments"])
        if isinstance(pair.text, kernel.TextMatcher):
            yield pair


def measure(pairs: Sequence[Pair], rows: int, words: int) -> tuple[float, float]:
    """Follow all texts, so many at once; return the microseconds a token, vLLM's and kernel's."""
    mask = torch.zeros((rows, words), dtype=torch.int32)
    own = torch.zeros((rows, words), dtype=torch.int32).numpy()
    theirs = kernels = 0.0
    tokens = 0
    for start in range(0, len(pairs), rows):
        some = pairs[start : start + rows]
        for at in range(max(len(pair.ids) for pair in some)):
            step = [
                (row, own[row], pair, pair.ids[at])
                for row, pair in enumerate(some)
                if at < len(pair.ids)
            ]
            tokens += len(step)
            for which in ((0, 1), (1, 0))[at % 2]:
                begun = time.thread_time()
                if which:
                    for row, _, pair, _ in step:
                        pair.grammar.fill_bitmask(mask, row)
                    for _, _, pair, token_id in step:
                        pair.grammar.accept_tokens("bench", [token_id])
                    theirs += time.thread_time() - begun
                else:
                    for _, target, pair, _ in step:
                        pair.text.fill(target)
                    for _, _, pair, token_id in step:
                        pair.text.accept(token_id)
                    kernels += time.thread_time() - begun
            if any(not np.array_equal(mask[row].numpy(), own[row]) for row, *_ in step[:1]):
                raise RuntimeError("rows differ")
    return 1e6 * theirs / tokens, 1e6 * kernels / tokens


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=32)
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    enforcer = Enforcer(vocabulary)
    enforcer.warm()
    source, tools = tools_.load()
    chosen = tools[:: max(1, len(tools) // _TOOLS)]
    for _ in range(_TIMES):
        pairs = [*_pairs(enforcer, chosen)]
        gc.collect()
        gc.disable()
        theirs, kernels = measure(pairs, options.rows, vocabulary.words)
        gc.enable()
    print(f"{len(pairs)} {source} tools, {options.rows} rows, vocabulary: {name}")
    print(f"vLLM's calls {theirs:.2f} µs a token, the kernel's own {kernels:.2f}")
    print(f"ratio: {theirs / kernels:.2f}")


if __name__ == "__main__":
    main()
