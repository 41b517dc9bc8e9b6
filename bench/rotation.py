"""Masks of tool sets in rotation: `python -m bench.rotation [--sets N] [--budget MIB]`.

Each set has a schema of its own; of every set a call is written, then of every set another one.
Two caches serve the same calls by turns: one of the default budget, and one that drops nothing.
Prints the mean of their masks from the second round on, times of the thread's processor; exits
with 1 if those of the first cost more than 1.2 of those of the second.

Owns: the rotation, the ratio. Must not know: what a cache holds.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arguments import drawn
from bench.first_mask import tools as tools_
from bench.first_mask.rivals import turn_ids
from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer import Enforcer
from enforcer.api import CACHE_BYTES
from enforcer.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import Vocabulary

_ROUNDS = 4
_MOST = 1.2


def _sets(count: int) -> Iterator[dict[str, Any]]:
    """Yield tools, each with a schema of its own."""
    _, tools = tools_.load()
    for number in range(count):
        yield tools_.changed(tools[number % len(tools)], number)


def _masks(enforcer: Enforcer, tool: dict[str, Any], ids: list[int]) -> list[float]:
    """Return the microseconds of each mask of a call; none if an id is refused."""
    bitmask = np.zeros((1, enforcer.vocabulary.words), np.int32)
    matcher, found = enforcer.matcher([tool], "required"), []
    for token_id in ids:
        begun = time.thread_time_ns()
        matcher.fill(bitmask)
        found.append((time.thread_time_ns() - begun) / 1e3)
        if not matcher.accept(token_id):
            return []
    return found


def _ids(vocabulary: Vocabulary, tool: dict[str, Any], draw: str) -> list[int]:
    function, example = tool["function"], tool["valid_arguments"][0]
    (value,) = drawn.texts(function["parameters"], example, Random(draw), 1)
    parts = turn_ids(vocabulary, function["name"], value)
    return [token for part in parts.values() for token in part]


def main() -> int:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1_000)
    parser.add_argument("--budget", type=int, default=CACHE_BYTES >> 20, help="MiB")
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    served = [Enforcer(vocabulary, cache=Cache(each)) for each in (options.budget << 20, 1 << 40)]
    for enforcer in served:
        enforcer.warm()
    times: list[list[float]] = [[], []]
    gc.collect()
    gc.disable()
    for round_ in range(_ROUNDS):
        for at, tool in enumerate(_sets(options.sets)):
            ids = _ids(vocabulary, tool, f"{round_} {at}")
            declared = {"type": "function", "function": tool["function"]}
            for which in (at % 2, 1 - at % 2):
                found = _masks(served[which], declared, ids)
                times[which] += found if round_ else ()
        gc.collect()
    kept = [f"{each.cache.weight >> 20} MiB, {len(each.cache)} values" for each in served]
    print(json.dumps({"vocabulary": name, "sets": options.sets, "masks": len(times[0])}))
    means = [float(np.mean(each)) for each in times]
    for mean, what in zip(means, kept, strict=True):
        print(f"{mean:.2f} us a mask; {what}")
    print(f"ratio {means[0] / means[1]:.3f}, at most {_MOST}")
    return 0 if means[0] / means[1] <= _MOST else 1


if __name__ == "__main__":
    sys.exit(main())
