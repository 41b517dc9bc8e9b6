"""Compile and mask times of schemas, beside llguidance's own JSON Schema compiler.

`python -m bench.schemas [--most N] [--json FILE]`: over the collected function-call schemas
where they are at hand, else over generated ones, along valid arguments in compact form.

Owns: the two compilers behind one interface, what is timed, the two ratios. Both write
into the same engine, so what differs is the grammar. Times of one schema are taken in
turns, so that a machine that is slow now and then is so to both. Must not know: requests.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llguidance
import numpy as np

from bench.first_mask import tools as tools_
from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer.engines.llguidance import LLGuidanceEngine
from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer import Vocabulary

_ROUNDS = 3
_GOALS = {"compile": 2.0, "mask": 1.3}
# What their compiler needs to write the same compact text as ours is given.
_THEIR_OPTIONS = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


class Compilers:
    """Ours and theirs over one tokenizer table, each giving a fresh matcher."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._engine = LLGuidanceEngine(vocabulary)
        self._tokenizer = self._engine._tokenizer  # noqa: SLF001 - the same table for both

    def ours(self, schema: Any) -> Any:
        """Compile with the schema compiler of this project."""
        return self._engine.compile(compile_schema(schema))._matcher  # noqa: SLF001

    def theirs(self, schema: Any) -> Any:
        """Compile with llguidance's; raises ValueError where it refuses."""
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema, defaults=_THEIR_OPTIONS)
        matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher


def _timed(compile_one: Callable[[Any], Any], schema: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    matcher = compile_one(schema)
    return time.perf_counter() - start, matcher


def _masks(matcher: Any, ids: Sequence[int], row: Any) -> list[float] | None:
    """Time the mask before each id; None if an id is refused."""
    times = []
    for token_id in ids:
        start = time.perf_counter()
        matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        times.append(time.perf_counter() - start)
        if matcher.try_consume_tokens([token_id]) != 1:
            return None
    return times


def _declared_order(value: Any, schema: Any) -> Any:
    """Put properties in the order of their declaration, the only one that theirs takes."""
    if isinstance(value, list):
        return [_declared_order(each, schema.get("items", {})) for each in value]
    if not isinstance(value, dict) or not isinstance(schema, dict):
        return value
    declared = schema.get("properties", {})
    names = [name for name in declared if name in value]
    names += [name for name in value if name not in declared]
    return {name: _declared_order(value[name], declared.get(name, {})) for name in names}


def measure(vocabulary: Vocabulary, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give the times in seconds of both, by what is timed, and what each one refuses."""
    compilers = Compilers(vocabulary)
    both = {"ours": compilers.ours, "theirs": compilers.theirs}
    row = np.zeros(vocabulary.words, dtype=np.int32)
    found: dict[str, dict[str, list[float]]] = {
        what: {name: [] for name in both} for what in ("compile", "mask")
    }
    refused, blocked = dict.fromkeys(both, 0), dict.fromkeys(both, 0)
    for tool in tools:
        schema = tool["function"]["parameters"]
        taken: dict[str, list[float]] = {name: [] for name in both}
        matchers = {}
        for _ in range(_ROUNDS):
            for name, compile_one in both.items():
                try:
                    seconds, matchers[name] = _timed(compile_one, schema)
                except (ValueError, EnforcerError):
                    continue  # refused, and counted below
                taken[name].append(seconds)
        for name, seconds_taken in taken.items():
            refused[name] += not seconds_taken
        if not all(taken.values()):
            continue
        for name, seconds_taken in taken.items():
            found["compile"][name].append(min(seconds_taken))
        for value in tool["valid_arguments"][:1]:
            text = json.dumps(
                _declared_order(value, schema), ensure_ascii=False, separators=(",", ":")
            )
            ids = vocabulary.encode(text)
            walked = {
                name: _masks(matcher.deep_copy(), ids, row) for name, matcher in matchers.items()
            }
            for name, times in walked.items():
                blocked[name] += times is None
            if all(walked.values()):
                for name, times in walked.items():
                    found["mask"][name] += times or []
    return {**found, "refused": refused, "blocked": blocked}


def report(found: dict[str, Any]) -> str:
    """Write the two ratios of medians, with what they should be at most."""
    out = []
    for what, goal in _GOALS.items():
        ours, theirs = (statistics.median(found[what][name]) * 1e6 for name in ("ours", "theirs"))
        count = len(found[what]["ours"])
        out.append(
            f"{what:<8} median of {count}: {ours:9.1f} µs, llguidance's own {theirs:9.1f} µs, "
            f"ratio {ours / theirs:.2f} (at most {goal})"
        )
    out.append(f"refused schemas: {found['refused']}; valid arguments blocked: {found['blocked']}")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=10_000, help="take so many tools")
    parser.add_argument("--json", type=Path, help="also write the medians, in seconds")
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    source, tools = tools_.load()
    measure(vocabulary, tools[:20])  # warm up: pages, tables, regular expressions
    gc.collect()
    gc.disable()
    found = measure(vocabulary, tools[: options.most])
    print(f"tools: {source}, vocabulary: {name}")
    print(report(found))
    if options.json is not None:
        medians = {
            what: {key: statistics.median(times) for key, times in found[what].items()}
            for what in _GOALS
        }
        options.json.write_text(json.dumps(medians) + "\n")


if __name__ == "__main__":
    main()
