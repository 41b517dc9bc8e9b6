"""Compile and mask times of `oneOf` over open objects that have no `kind` to tell them apart.

`python -m bench.unions`: exactly one branch has to hold, so a text that fits one must fail
all others by some property, whatever the order. llguidance's own compiler takes such a schema
only as `anyOf` (`coerce_one_of`), in the order of declaration; that is what the ratios are to.

Owns: the schemas, and walking one object along the masks. Must not know: how they compile.
"""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.first_mask.run import vocabulary as find_vocabulary
from bench.peers.engines import llguidance
from enforcer import engines
from enforcer.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

# Branches, and names that all share: each has as many of its own besides.
_SIZES = ((2, 0), (4, 0), (8, 0), (4, 1), (8, 1), (3, 2), (5, 2))
_TEXTS = 4
COMPACT = {
    "whitespace_flexible": False,
    "item_separator": ",",
    "key_separator": ":",
    "coerce_one_of": True,
}


def union(branches: int, shared: int) -> dict[str, Any]:
    """Build a list of objects, each of which has to fit exactly one branch."""
    return {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {"oneOf": [_branch(i, shared) for i in range(branches)]},
            }
        },
        "required": ["items"],
        "additionalProperties": False,
    }


def _branch(number: int, shared: int) -> dict[str, Any]:
    """Declare a required name of its own, and shared names that others say otherwise."""
    kinds: list[dict[str, Any]] = [
        {"type": "integer"},
        {"type": "array", "items": {"type": "string"}},
    ]
    properties: dict[str, Any] = {"name": {"type": "string"}, f"kind{number}": {"type": "string"}}
    properties |= {f"shared{i}": kinds[(number + i) % 2] for i in range(shared)}
    properties |= {f"own{number}_{i}": {"type": "integer"} for i in range(shared)}
    return {
        "type": "object",
        "properties": properties,
        "required": ["name", f"kind{number}"],
    }


def masks_along(matcher: Any, ids: Sequence[int], row: npt.NDArray[np.int32]) -> float:
    """Return the mean of the seconds of the masks before each token id of a text."""
    seconds = []
    for token_id in ids:
        begun = time.perf_counter()
        matcher.fill(row)
        seconds.append(time.perf_counter() - begun)
        if not matcher.accept(token_id):
            raise SystemExit("a valid text is blocked")
    return statistics.mean(seconds)


def main() -> None:
    name, vocabulary = find_vocabulary()
    ours, theirs = engines.load("machine", vocabulary), llguidance.LLGuidance.of(vocabulary)
    row = np.zeros(vocabulary.words, dtype=np.int32)
    ours.compile(compile_schema(union(3, 0)))  # warm up: tables, regular expressions
    print(f"vocabulary: {name}; each time ours, theirs, ratio")
    for branches, shared in _SIZES:
        schema = union(branches, shared)
        item = {"name": "a", "kind0": "x"} | ({"shared0": 3} if shared else {}) | {"more": [1, 2]}
        ids = vocabulary.encode(json.dumps({"items": [item] * 3}, separators=(",", ":")))
        first, again, compiled = [], [], []
        for compile_one in (
            lambda each: ours.compile(compile_schema(each)),
            lambda each: theirs.compile(each, COMPACT),
        ):
            begun = time.perf_counter()
            grammar = compile_one(schema)
            compiled.append((time.perf_counter() - begun) * 1e3)
            means = [masks_along(grammar.matcher(), ids, row) for _ in range(_TEXTS)]
            first.append(means[0] * 1e6)
            again.append(min(means) * 1e6)
        print(
            f"{branches} branches, {shared} shared: "
            f"compile {_pair(compiled)} ms, first masks {_pair(first)} µs, later {_pair(again)} µs"
        )


def _pair(times: list[float]) -> str:
    ours, theirs = times
    return f"{ours:.1f}, {theirs:.1f}, {ours / theirs:.2f}"


if __name__ == "__main__":
    main()
