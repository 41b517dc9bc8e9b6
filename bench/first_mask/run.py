"""Measures one rival: `python -m bench.first_mask.run RIVAL`; prints JSON lines.

Owns: what is timed and how often. Must not know: tables.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.demo import byte_pairs
from bench.first_mask import rivals
from bench.first_mask import tools as tools_
from bench.first_mask.rivals import RIVALS, turn_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.first_mask.rivals import Rival, Turn
    from enforcer import Vocabulary

SIZES = (1, 32, 128, 512)
_ROUNDS = 5, 25  # at least and at most
_SECONDS = 1.0  # for more rounds than the least
_CALLS = 40


def vocabulary() -> tuple[str, Vocabulary]:
    """Return a name and Kimi's vocabulary, else an installed one of realistic size."""
    from enforcer import Vocabulary

    folder = byte_pairs.kimi_folder()
    if folder is not None:
        found = Vocabulary.from_tiktoken(
            folder / "tiktoken.model", folder / "tokenizer_config.json"
        )
        return "kimi", found
    from transformers import PreTrainedTokenizerFast

    from bench.demo import random_model

    tokens = random_model.tokenizer(random_model.Vocabulary.INSTALLED, Path(".cache"))
    return "installed", Vocabulary.from_transformers(
        PreTrainedTokenizerFast(tokenizer_object=tokens)
    )


def _plain(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": tool["type"], "function": tool["function"]} for tool in tools]


def _first_mask(
    rival: Rival, tools: list[dict[str, Any]], ready: Callable[[], None]
) -> dict[str, float]:
    """Return the medians in milliseconds of the stages and of their sum."""
    stages: list[dict[str, float]] = []
    least, most = _ROUNDS
    begun = time.perf_counter()
    while len(stages) < least or (len(stages) < most and time.perf_counter() - begun < _SECONDS):
        ready()
        gc.collect()
        gc.disable()
        stages.append(rival.begin(tools)[1])
        gc.enable()
    found = {key: _milliseconds([s[key] for s in stages]) for key in stages[0]}
    found["total"] = _milliseconds([sum(s.values()) for s in stages])
    return found


def _milliseconds(seconds: Sequence[float]) -> float:
    return round(statistics.median(seconds) * 1e3, 4)


def measure(rival: Rival, pool: list[dict[str, Any]], vocabulary: Vocabulary) -> None:
    """Print a line for each measurement."""
    # Warm up with tools that no measurement uses: pages, regular expressions, imports.
    rival.begin(_plain(pool[-3:]))
    taken = (tool for tool in pool[:-3] if _is_taken(rival, tool))
    usable = list(islice(taken, max(SIZES)))
    for count in SIZES:
        tools = _plain(usable[:count])
        if len(tools) < count:
            continue
        unseen = _first_mask(rival, tools, rival.forget)
        _print(rival, "first mask", tools=count, seen="none", **unseen)
        rival.begin(tools)
        _print(rival, "first mask", tools=count, seen="all", **_first_mask(rival, tools, _nothing))
        marks = iter(range(_ROUNDS[1]))

        def change(tools: list[dict[str, Any]] = tools, marks: Any = marks) -> None:
            tools[0] = tools_.changed(tools[0], next(marks))

        _print(
            rival,
            "first mask",
            tools=count,
            seen="all but one",
            **_first_mask(rival, tools, change),
        )
    _masks(rival, usable[:128], vocabulary)


def _nothing() -> None:
    """Leave everything as it is."""


def _is_taken(rival: Rival, tool: dict[str, Any]) -> bool:
    """Tell whether a rival takes a tool; what it refuses is left out, and counted."""
    try:
        rival.begin(_plain([tool]))
    except Exception as error:  # noqa: BLE001 - rivals refuse with errors of their own
        _print(rival, "refused", tool=tool["function"]["name"], reason=str(error)[:200])
        return False
    return True


def _masks(rival: Rival, pool: list[dict[str, Any]], vocabulary: Vocabulary) -> None:
    """Walk calls with all tools declared; time each mask by its segment."""
    rival.forget()
    turn, _ = rival.begin(_plain(pool))
    times: dict[str, list[float]] = {"text": [], "header": [], "arguments": [], "call begins": []}
    strays = 0
    for tool in pool[:_CALLS]:
        turn, _ = rival.begin(_plain(pool))
        arguments = tool["valid_arguments"][0]
        for segment, ids in turn_ids(vocabulary, tool["function"]["name"], arguments).items():
            if not _walk(turn, segment, ids, times):
                strays += 1
                break
    for segment, taken in times.items():
        if taken:
            taken.sort()
            _print(
                rival,
                "mask",
                segment=segment,
                masks=len(taken),
                mean=round(statistics.fmean(taken) * 1e6, 2),
                p50=round(taken[len(taken) // 2] * 1e6, 2),
                p99=round(taken[min(len(taken) - 1, len(taken) * 99 // 100)] * 1e6, 2),
                longest=round(taken[-1] * 1e6, 2),
            )
    _print(rival, "blocked", calls=strays, of=min(_CALLS, len(pool)))


def _walk(turn: Turn, segment: str, ids: Sequence[int], times: dict[str, list[float]]) -> bool:
    for token_id in ids:
        start = time.perf_counter()
        turn.fill()
        filled = time.perf_counter()
        if segment in times:
            times[segment].append(filled - start)
        if not turn.accept(token_id):
            return False
        if segment == "begin":
            # The schema is compiled here, where that is put off until a call needs it.
            turn.fill()
            times["call begins"].append(time.perf_counter() - filled)
    return True


def _print(rival: Rival, what: str, **values: Any) -> None:
    print(json.dumps({"rival": rival.name, "what": what, **values}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rival", choices=sorted(RIVALS))
    parser.add_argument("--processor", action="store_true", help="first masks by processor time")
    options = parser.parse_args()
    if options.processor:
        rivals.clock = time.process_time
    name, words = vocabulary()
    source, pool = tools_.load()
    rival: Any = RIVALS[options.rival](words)
    _print(rival, "inputs", vocabulary=name, size=words.size, declarations=source, pool=len(pool))
    measure(rival, pool, words)


if __name__ == "__main__":
    main()
