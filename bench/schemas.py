"""Compile and mask times of schemas, beside llguidance's own JSON Schema compiler.

`python -m bench.schemas [--most N] [--json FILE]`: over the collected function-call schemas
where they are at hand, else over generated ones, along valid arguments in compact form.

Both write for the same engine, so what differs is the grammar. Ours is compiled as servers do
when a call begins: small and plain schemas at once; with others, texts to the edge of each
value are tried too, lest their masks be slow when they are needed. llguidance's is taken with
its own default options (any white space) and once more for compact text only; the ratios that
count are those to the defaults. It permits properties only in the order of their declaration,
and undeclared ones only after them; ours permits any order, so where an object is open every
place of a name permits nearly all ids. Masks are therefore also compared where both permit few
ids, or both permit many.

A grammar finds out the states of its lexer as texts reach them. So each text is walked twice:
`first` is what the first call of a tool costs, `again` what every later one does.

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
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import llguidance
import numpy as np

from bench.first_mask import tools as tools_
from bench.first_mask.run import vocabulary as find_vocabulary
from enforcer.cache import Cache
from enforcer.compiling import Grammars
from enforcer.engines.llguidance.engine import LLGuidanceEngine
from enforcer.errors import EnforcerError
from enforcer.layouts import BoundLayout, Layout
from enforcer.request.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer import Vocabulary
    from enforcer.engines.llguidance.grammar import LLGuidanceGrammar

_ROUNDS = 3
_GOALS = {"compile": 2.0, "mask": 1.3}
_PAIR = ("ours", "theirs")
_WALKS = ("mask, first", "mask, again")
_KINDS = {  # whether ours permits many, and theirs
    "both permit few ids": (False, False),
    "both permit many": (True, True),
    "ours many, theirs few": (True, False),
}
_MANY = 0.5  # share of the ids from which on a mask is said to permit many
COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


class Compilers:
    """Ours and theirs over the same vocabulary, each giving a fresh matcher."""

    names = ("ours", "theirs", "theirs, compact")

    def __init__(self, vocabulary: Vocabulary) -> None:
        engine = LLGuidanceEngine(vocabulary)
        self._tokenizer = engine._any_text.tokenizer  # noqa: SLF001 - as it comes
        self._options = Options()
        nothing_kept = Cache(0)
        self._grammars = Grammars(vocabulary, engine, BoundLayout(Layout()), cache=nothing_kept)

    def ours(self, schema: Any) -> Any:
        """Compile with the schema compiler of this project, as when a call begins."""
        return cast(
            "LLGuidanceGrammar", self._grammars.arguments(json.dumps(schema), self._options)
        ).start()

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
        return self.theirs(schema, COMPACT)


def timed(compile_one: Callable[[Any], Any], schema: Any) -> tuple[float, Any]:
    """Give the seconds that compiling takes, and the matcher."""
    start = time.perf_counter()
    matcher = compile_one(schema)
    return time.perf_counter() - start, matcher


def masks_along(matcher: Any, ids: Sequence[int], row: Any) -> list[tuple[float, bool]] | None:
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

    `compile` holds a time for each schema; `mask, first` and `mask, again` hold for each mask
    its time and whether it permits many ids. All list only what all compilers take.
    """
    compilers = Compilers(vocabulary).all()
    row = np.zeros(vocabulary.words, dtype=np.int32)
    times: dict[str, list[float]] = {name: [] for name in compilers}
    masks: dict[str, dict[str, list[tuple[float, bool]]]] = {
        walk: {name: [] for name in compilers} for walk in _WALKS
    }
    refused, blocked = dict.fromkeys(compilers, 0), dict.fromkeys(compilers, 0)
    for tool in tools:
        schema = tool["function"]["parameters"]
        taken: dict[str, list[float]] = {name: [] for name in compilers}
        matchers = {}
        for _ in range(_ROUNDS):
            for name, compile_one in compilers.items():
                try:
                    seconds, matchers[name] = timed(compile_one, schema)
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
            for walk, found in masks.items():
                walked = {
                    name: masks_along(matcher.deep_copy(), ids, row)
                    for name, matcher in matchers.items()
                }
                for name, each in walked.items():
                    blocked[name] += each is None and walk == _WALKS[0]
                if all(walked.values()):
                    for name, each in walked.items():
                        found[name] += each or []
    return {"compile": times, **masks, "refused": refused, "blocked": blocked}


def report(found: dict[str, Any]) -> str:
    """Write the medians with their ratios, and what those should be at most."""
    out = [_line("compile", found["compile"], goal=_GOALS["compile"])]
    for walk in _WALKS:
        masks = found[walk]
        kinds = [(ours[1], theirs[1]) for ours, theirs in zip(*map(masks.get, _PAIR), strict=True)]
        everything = _seconds(masks)
        out.append(_line(walk, everything, goal=_GOALS["mask"]))
        out.append(_line("  means", everything, statistics.mean))
        for label, kind in _KINDS.items():
            chosen = _seconds(masks, [each == kind for each in kinds])
            if chosen["ours"]:
                out.append(_line(f"  {label}", chosen))
    out.append(f"refused schemas: {found['refused']}; valid arguments blocked: {found['blocked']}")
    return "\n".join(out)


def _seconds(
    masks: dict[str, list[tuple[float, bool]]], chosen: Sequence[bool] | None = None
) -> dict[str, list[float]]:
    return {
        name: [
            seconds
            for (seconds, _), take in zip(listed, chosen or repeat(True), strict=False)
            if take
        ]
        for name, listed in masks.items()
    }


def _line(
    what: str,
    times: dict[str, list[float]],
    average: Callable[[list[float]], float] = statistics.median,
    goal: float | None = None,
) -> str:
    ours, *others = (average(times[name]) * 1e6 for name in Compilers.names)
    compared = "; ".join(
        f"{name} {other:.1f} µs, ratio {ours / other:.2f}"
        for name, other in zip(Compilers.names[1:], others, strict=True)
    )
    wanted = f" (at most {goal})" if goal else ""
    return f"{what:<26}{len(times['ours']):>6}: ours {ours:.1f} µs; {compared}{wanted}"


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
            what: {name: statistics.median(x) for name, x in times.items()}
            for what, times in (
                ("compile", found["compile"]),
                *((walk, _seconds(found[walk])) for walk in _WALKS),
            )
        }
        options.json.write_text(json.dumps(medians) + "\n")


if __name__ == "__main__":
    main()
