"""Masks and accepts of call arguments beside xgrammar: `python -m bench.arguments`.

Every text of a tool is drawn anew by a fixed seed: the collected tools have one example each, and
a replay of it would time what is kept of the first. Ours are walked through the library's own
`Matcher`; xgrammar compiles the schema itself, which takes properties only in the order of their
declaration, so that all texts have them in it. With `--format hermes`, or another tool-call format,
whole turns of its calls instead: `bench/arguments/whole_turns.py`.
Times are of the thread's processor, less than what reading that clock takes; engines take turns.

Owns: following the texts, what is timed, the table. Must not know: how masks are computed.
"""

from __future__ import annotations

import argparse
import gc
import json
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import xgrammar

from bench.arguments import drawn
from bench.arguments.walks import Walk, clock_cost, follow, statistics
from bench.first_mask import tools as tools_
from bench.first_mask.rivals import turn_ids
from bench.first_mask.run import vocabulary as find_vocabulary
from bench.formats.catalogue import FORMATS
from enforcer import Enforcer
from enforcer.errors import EnforcerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer import Vocabulary

_TEXTS = 14
# Texts of one tool that a column has: the first, the second, the eleventh and later.
_COLUMNS = {"first": range(1), "second": range(1, 2), "11th on": range(10, _TEXTS)}


class Ours:
    """The library's matcher."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._enforcer = Enforcer(vocabulary)
        self._enforcer.warm()
        self._vocabulary = vocabulary
        self._bitmask = np.zeros((1, vocabulary.words), np.int32)

    def compile(self, tool: dict[str, Any]) -> Callable[[], Walk]:
        """Return what starts a text; raises `EnforcerError`."""
        function = tool["function"]
        declared = [{"type": "function", "function": function}]
        self._enforcer.matcher(declared)  # checked once, as a server does
        before = turn_ids(self._vocabulary, function["name"], {})

        def begin() -> Walk:
            matcher = self._enforcer.matcher(declared)
            for segment in ("open", "header", "begin"):
                for token_id in before[segment]:
                    if not matcher.accept(token_id):
                        raise RuntimeError(f"{token_id} of {segment} is refused")
            return Walk(lambda: matcher.fill(self._bitmask), matcher.accept)

        return begin


class XGrammar:
    """xgrammar's own compiler, as vLLM calls it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        end = vocabulary.control("<|im_end|>")
        info = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=[end]
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self._bitmask = xgrammar.allocate_token_bitmask(1, vocabulary.size)

    def compile(self, tool: dict[str, Any]) -> Callable[[], Walk]:
        """Return what starts a text; raises RuntimeError where it refuses."""
        schema = json.dumps(tool["function"]["parameters"])
        compiled = self._compiler.compile_json_schema(schema)

        def begin() -> Walk:
            matcher = xgrammar.GrammarMatcher(compiled)
            return Walk(
                lambda: matcher.fill_next_token_bitmask(self._bitmask), matcher.accept_token
            )

        return begin


@dataclass(slots=True)
class Times:
    """Microseconds of masks by column, and of accepts."""

    masks: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _COLUMNS})
    accepts: list[float] = field(default_factory=list)


def measure(
    vocabulary: Vocabulary, tools: Sequence[dict[str, Any]], seed: int
) -> tuple[dict[str, Times], int]:
    """Return the times of each engine, and how many tools one of them refused or blocked."""
    engines: dict[str, Any] = {
        "ours": Ours(vocabulary),
        "xgrammar": XGrammar(vocabulary),
    }
    times = {name: Times() for name in engines}
    left_out = 0
    clock = clock_cost()
    for at, tool in enumerate(tools):
        parameters = tool["function"]["parameters"]
        random = Random(f"{seed} {at}")
        values = drawn.texts(parameters, tool["valid_arguments"][0], random, _TEXTS)
        spelled = [
            vocabulary.encode(json.dumps(drawn.in_order(value, parameters), ensure_ascii=False))
            for value in values
        ]
        try:
            begins = {name: engine.compile(tool) for name, engine in engines.items()}
        except (EnforcerError, RuntimeError):
            left_out += 1
            continue
        found: dict[str, list[Any]] = {name: [] for name in engines}
        for ids in spelled:
            for name, begin in begins.items():
                found[name].append(follow(begin(), ids, clock))
        if any(each is None for listed in found.values() for each in listed):
            left_out += 1
            continue
        for name, listed in found.items():
            for column, which in _COLUMNS.items():
                for text in which:
                    times[name].masks[column] += listed[text][0]
            times[name].accepts += [each for _, accepts in listed for each in accepts]
        if at % 20 == 0:
            gc.collect()
    return times, left_out


def report(times: dict[str, Times]) -> str:
    """Write a line for each engine, and the ratios of ours to the others."""
    lines = [f"{'us: mean / p50 / p99':<24}" + "".join(f"{c:>24}" for c in (*_COLUMNS, "accept"))]
    rows = {name: [*each.masks.values(), each.accepts] for name, each in times.items()}
    for name, columns in rows.items():
        lines.append(f"{name:<24}" + "".join(f"{statistics(column):>24}" for column in columns))
    ours, *others = rows
    for name in others:
        cells = (
            f"{np.mean(a) / np.mean(b):.2f} / {np.median(a) / np.median(b):.2f} / "
            f"{np.percentile(a, 99) / np.percentile(b, 99):.2f}"
            for a, b in zip(rows[ours], rows[name], strict=True)
        )
        lines.append(f"{'ratio to ' + name:<24}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines)


def _whole_turns(names: Sequence[str], tools: Sequence[dict[str, Any]], seed: int) -> str:
    """Measure whole turns of these formats, of Hermes too if one has no peer; see `turn_report`."""
    from bench.arguments import turn_report, whole_turns

    chosen = list(FORMATS) if "all" in names else list(dict.fromkeys(names))
    peers = [whole_turns.structural_tag_model(FORMATS[name]) for name in chosen]
    if None in peers and turn_report.BASE not in chosen:
        chosen.insert(0, turn_report.BASE)
    whole_turns.measure(chosen[0], tools[:2], seed)  # warm up
    gc.collect()
    gc.disable()
    return turn_report.report([whole_turns.measure(name, tools, seed) for name in chosen])


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tools", type=int, help="how many tools, spread over all; 150, or 60 with --format"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--format",
        nargs="+",
        metavar="NAME",
        choices=("all", *FORMATS),
        help="whole turns of these tool-call formats, or of `all`, instead of arguments alone",
    )
    options = parser.parse_args()
    source, tools = tools_.load()
    count = options.tools or (60 if options.format else 150)
    chosen = tools[:: max(1, len(tools) // count)][:count]
    if options.format:
        print(f"tools: {len(chosen)} {source}")
        print(_whole_turns(options.format, chosen, options.seed))
        return
    name, vocabulary = find_vocabulary()
    measure(vocabulary, chosen[:2], options.seed)  # warm up
    gc.collect()
    gc.disable()
    times, left_out = measure(vocabulary, chosen, options.seed)
    print(f"tools: {len(chosen)} {source}, {left_out} left out; vocabulary: {name}")
    print(report(times))


if __name__ == "__main__":
    main()
