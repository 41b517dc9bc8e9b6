"""Compile and mask times of schemas, beside llguidance's own JSON Schema compiler.

`python -m bench.schemas [--most N] [--json FILE]`: over the collected function-call schemas
where they are at hand, else over generated ones, along valid arguments in compact form.

Both write for the same engine, so what differs is the grammar. llguidance's is taken with
its own default options (any white space) and once more for compact text only; the ratios
that count are those to the defaults. It permits properties only in the order of their
declaration, and undeclared ones only after them; ours permits any order, so where an object
is open every place of a name permits nearly all ids. Masks are therefore also compared
where both permit few ids, or both permit many.

Owns: the compilers behind one interface, what is timed, the ratios. Times of one schema are
taken in turns, so that a machine that is slow now and then is so to all. Must not know:
requests.
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
_PAIR = ("ours", "theirs")
_MANY = 0.5  # share of the ids from which on a mask is said to permit many
_COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


class Compilers:
    """Ours and theirs over one tokenizer table, each giving a fresh matcher."""

    names = ("ours", "theirs", "theirs, compact")

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._engine = LLGuidanceEngine(vocabulary)
        self._tokenizer = self._engine._any_text.tokenizer  # noqa: SLF001 - as it comes

    def ours(self, schema: Any) -> Any:
        """Compile with the schema compiler of this project."""
        return self._engine.compile(compile_schema(schema))._matcher  # noqa: SLF001

    def theirs(self, schema: Any, options: dict[str, Any] | None = None) -> Any:
        """Compile with llguidance's; raises ValueError where it refuses."""
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema, defaults=options)
        matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def all(self) -> dict[str, Callable[[Any], Any]]:
        """Return the compilers by name."""
        return dict(zip(self.names, (self.ours, self.theirs, self._compact), strict=True))

    def _compact(self, schema: Any) -> Any:
        return self.theirs(schema, _COMPACT)


def _timed(compile_one: Callable[[Any], Any], schema: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    matcher = compile_one(schema)
    return time.perf_counter() - start, matcher


def _masks(matcher: Any, ids: Sequence[int], row: Any) -> list[tuple[float, bool]] | None:
    """Time the mask before each id, and tell if it permits many; None if an id is refused."""
    found = []
    for token_id in ids:
        start = time.perf_counter()
        matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        seconds = time.perf_counter() - start
        permitted = int(np.bitwise_count(row.view(np.uint32)).sum())
        found.append((seconds, permitted > _MANY * 32 * row.size))
        if matcher.try_consume_tokens([token_id]) != 1:
            return None
    return found


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
    """Give what was found: times in seconds by compiler, and what each refuses.

    `compile` holds a time for each schema; `mask` holds for each mask its time and whether
    it permits many ids. Both list only what all compilers take.
    """
    compilers = Compilers(vocabulary).all()
    row = np.zeros(vocabulary.words, dtype=np.int32)
    times: dict[str, list[float]] = {name: [] for name in compilers}
    masks: dict[str, list[tuple[float, bool]]] = {name: [] for name in compilers}
    refused, blocked = dict.fromkeys(compilers, 0), dict.fromkeys(compilers, 0)
    for tool in tools:
        schema = tool["function"]["parameters"]
        taken: dict[str, list[float]] = {name: [] for name in compilers}
        matchers = {}
        for _ in range(_ROUNDS):
            for name, compile_one in compilers.items():
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
            times[name].append(min(seconds_taken))
        for value in tool["valid_arguments"][:1]:
            text = json.dumps(
                _declared_order(value, schema), ensure_ascii=False, separators=(",", ":")
            )
            ids = vocabulary.encode(text)
            walked = {
                name: _masks(matcher.deep_copy(), ids, row) for name, matcher in matchers.items()
            }
            for name, found in walked.items():
                blocked[name] += found is None
            if all(walked.values()):
                for name, found in walked.items():
                    masks[name] += found or []
    return {"compile": times, "mask": masks, "refused": refused, "blocked": blocked}


def report(found: dict[str, Any]) -> str:
    """Write the medians with their ratios, and what those should be at most."""
    masks = found["mask"]
    kinds = [(ours[1], theirs[1]) for ours, theirs in zip(*map(masks.get, _PAIR), strict=True)]
    out = [_line("compile", found["compile"], _GOALS["compile"])]
    out.append(_line("mask", _seconds(masks, [True] * len(kinds)), _GOALS["mask"]))
    for label, kind in (
        ("both permit few ids", (False, False)),
        ("both permit many", (True, True)),
        ("ours many, theirs few", (True, False)),
    ):
        chosen = _seconds(masks, [each == kind for each in kinds])
        if chosen["ours"]:
            out.append(_line(f"  {label}", chosen))
    out.append(f"refused schemas: {found['refused']}; valid arguments blocked: {found['blocked']}")
    return "\n".join(out)


def _seconds(
    masks: dict[str, list[tuple[float, bool]]], chosen: Sequence[bool]
) -> dict[str, list[float]]:
    return {
        name: [mask[0] for mask, take in zip(listed, chosen, strict=True) if take]
        for name, listed in masks.items()
    }


def _line(what: str, times: dict[str, list[float]], goal: float | None = None) -> str:
    ours, *others = (statistics.median(times[name]) * 1e6 for name in Compilers.names)
    compared = "; ".join(
        f"{name} {median:.1f} µs, ratio {ours / median:.2f}"
        for name, median in zip(Compilers.names[1:], others, strict=True)
    )
    wanted = f" (at most {goal})" if goal else ""
    return f"{what:<24} median of {len(times['ours'])}: ours {ours:.1f} µs; {compared}{wanted}"


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
            "compile": {key: statistics.median(x) for key, x in found["compile"].items()},
            "mask": {key: statistics.median(t for t, _ in x) for key, x in found["mask"].items()},
        }
        options.json.write_text(json.dumps(medians) + "\n")


if __name__ == "__main__":
    main()
