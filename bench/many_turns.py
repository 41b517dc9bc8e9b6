"""Steps of many turns at once beside xgrammar: `python -m bench.many_turns [--rows N]`.

Each row is a whole turn: text, the header of a call, its arguments, the end. Turns begin one after
another, so that a step has rows in every part of a turn; one that has ended makes room for the next
of other tools, with arguments drawn anew. A step fills a row for every turn and accepts a token for
each, ours through the library's `Matcher`, xgrammar's through its `kimi` structural tag. Engines
take turns, step by step; times are of the thread's processor.

Owns: the turns, what is timed, the ratio. Must not know: how masks are computed.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arguments import drawn
from bench.first_mask import tools as tools_
from bench.first_mask.rivals import RIVALS, turn_ids
from bench.first_mask.run import vocabulary as find_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer import Vocabulary

_STEPS = 400
_TOOLS = 120  # of them each turn declares one


def _turns(
    vocabulary: Vocabulary, tools: Sequence[dict[str, Any]], seed: int
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield tools, and the token ids of a turn that calls each, without end."""
    control = vocabulary.control
    close = ["<|tool_call_end|>", "<|tool_calls_section_end|>", "<|im_end|>"]
    number = 0
    while True:
        for tool in tools:
            function, random = tool["function"], Random(f"{seed} {number}")
            number += 1
            example = tool["valid_arguments"][0]
            (value,) = drawn.texts(function["parameters"], example, random, 1)
            ordered = drawn.in_order(value, function["parameters"])
            parts = turn_ids(vocabulary, function["name"], ordered).values()
            ids = [token for part in parts for token in part] + [control(name) for name in close]
            yield {"type": tool["type"], "function": function}, ids


class Batch:
    """The turns that one engine follows at once."""

    def __init__(self, rival: Any, turns: Iterator[tuple[dict[str, Any], list[int]]]) -> None:
        self._rival, self._turns = rival, turns
        self._rows: list[tuple[Any, list[int], int]] = []

    def begin(self) -> None:
        """Begin one more turn."""
        tool, ids = next(self._turns)
        self._rows.append((self._rival.begin([tool])[0], ids, 0))

    def step(self) -> float:
        """Fill and accept for each turn; return the seconds. Turns that end are replaced."""
        begun = time.thread_time()
        for turn, _, _ in self._rows:
            turn.fill()
        for turn, ids, at in self._rows:
            if not turn.accept(ids[at]):
                raise RuntimeError(f"{ids[at]} is refused")
        spent = time.thread_time() - begun
        rows = [(turn, ids, at + 1) for turn, ids, at in self._rows]
        self._rows = [row for row in rows if row[2] < len(row[1])]
        for _ in range(len(rows) - len(self._rows)):
            self.begin()
        return spent


def _taken(rivals: dict[str, Any], tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools that both take, with a whole turn of each followed once."""
    found = []
    vocabulary = rivals["enforcer"]._enforcer.vocabulary  # noqa: SLF001 - the one of all
    for tool in tools:
        declared, ids = next(_turns(vocabulary, [tool], 0))
        try:
            turns = [rival.begin([declared])[0] for rival in rivals.values()]
        except Exception:  # noqa: BLE001, S112 - rivals refuse with errors of their own
            continue
        if all(all(turn.accept(token) for token in ids) for turn in turns):
            found.append(tool)
    return found


def main() -> None:
    """Measure and print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--steps", type=int, default=_STEPS)
    options = parser.parse_args()
    name, vocabulary = find_vocabulary()
    source, tools = tools_.load()
    rivals = {name: kind(vocabulary) for name, kind in RIVALS.items()}
    chosen = _taken(rivals, tools[:: max(1, len(tools) // _TOOLS)])
    batches = {name: Batch(rival, _turns(vocabulary, chosen, 1)) for name, rival in rivals.items()}
    gc.collect()
    gc.disable()
    steps: dict[str, list[float]] = {name: [] for name in batches}
    for at in range(options.rows + options.steps):
        for each, batch in batches.items():
            if at < options.rows:
                batch.begin()
            spent = batch.step()
            if at >= options.rows:
                steps[each].append(spent)
        if at % 50 == 0:
            gc.collect()
    print(json.dumps({"vocabulary": name, "tools": len(chosen), "source": source}))
    for each, found in steps.items():
        shown = " / ".join(
            f"{1e3 * x:.2f}" for x in (np.mean(found), *np.percentile(found, [50, 99]))
        )
        print(f"{each:<12}{shown} ms a step of {options.rows} rows, mean / p50 / p99")
    ours, theirs = (np.array(found) for found in steps.values())
    p50 = np.median(ours) / np.median(theirs)
    print(f"ratio: mean {ours.mean() / theirs.mean():.2f}, p50 {p50:.2f}")


if __name__ == "__main__":
    main()
