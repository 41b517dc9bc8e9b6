"""Processor time of taking in requests with tools, beside stock vLLM: `python -m bench.intake`.

Tools are seen or new, replies whole or streamed. No server is started: API server and engine are
processes of their own, without a socket and a model. Less than a minute with
`--tools 128 --rounds 3`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.demo import random_model
from bench.demo.servers import ENFORCED, FREE
from bench.intake import bodies, processes

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH = 1 << 17  # token ids of the model's context: 512 tools have some 80,000
_FLAGS = ("--max-model-len", str(_LENGTH), "--load-format", "dummy")
_WAYS = {
    name: replace(setting, flags=(*setting.flags, *_FLAGS))
    for name, setting in (("vLLM", FREE), ("Enforcer", ENFORCED))
}
_BATCH = 5  # requests to one way of serving before the other's turn
# What is timed, and the heading of its columns.
_PARTS = {"loop": "event loop", "engine": "engine"}

# Milliseconds by what is timed and by the way of serving.
Figures = dict[str, dict[str, float]]


def measure(model: Path, logs: Path, loads: Sequence[bodies.Load], rounds: int) -> list[Figures]:
    """Measure each load; the two ways of serving take turns.

    The least of all times is taken: other work on the machine only adds to processor time.
    """
    found = []
    with ExitStack() as stack:
        pairs = {
            name: stack.enter_context(processes.Pair(setting, model, logs / f"{name}.txt"))
            for name, setting in _WAYS.items()
        }
        for pair in pairs.values():
            pair.wait_until_ready()
        for load in loads:
            spent: dict[str, list[processes.Spent]] = {name: [] for name in pairs}
            for at in range(-1, rounds):  # the first is a warm-up, in which tools become seen
                batch = [load.body() for _ in range(_BATCH)]
                for name in [*pairs][:: 1 if at % 2 else -1]:
                    figures = [pairs[name].send(body) for body in batch]
                    spent[name] += figures if at >= 0 else []
            found.append(
                {
                    part: {
                        name: min(getattr(one, part) for one in each)
                        for name, each in spent.items()
                    }
                    for part in _PARTS
                }
            )
    return found


def table(loads: Sequence[bodies.Load], found: Sequence[Figures]) -> str:
    """Write the figures, and what the Enforcer adds."""
    columns = [f"{part}: vLLM | the Enforcer adds" for part in _PARTS.values()]
    lines = [
        f"| tools | seen before | reply | body, KB | {' | '.join(columns)} |",
        "|--:|---|---|--:|--:|--:|--:|--:|",
    ]
    for load, figures in zip(loads, found, strict=True):
        cells = [str(len(load.tools)), "yes" if load.seen else "no"]
        cells += ["streamed" if load.stream else "whole", f"{len(load.body()) / 1e3:.1f}"]
        for by_name in figures.values():
            stock, ours = by_name["vLLM"], by_name["Enforcer"]
            cells += [f"{stock:.2f}", f"{ours - stock:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _model(folder: Path) -> Path:
    """Write a model without weights whose chat template can leave tools out."""
    tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, Path(".cache"))
    shape, none = random_model.Shape(max_length=_LENGTH), random_model.Weights.NONE
    random_model.write(folder, tokens, shape=shape, weights=none)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    condition = "{%- if tools -%}"
    if condition not in config["chat_template"]:
        raise ValueError(f"the chat template has no {condition}")
    hiding = f"{{%- if tools and not {bodies.HIDDEN} -%}}"
    config["chat_template"] = config["chat_template"].replace(condition, hiding, 1)
    file.write_text(json.dumps(config), encoding="utf-8")
    return folder


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.intake", description=__doc__)
    parser.add_argument("--tools", type=int, nargs="+", default=bodies.SIZES, help="how many")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    source, loads = bodies.loads(options.tools)
    print(f"tools: {source}; ms, the least of {options.rounds * _BATCH} requests\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        print(table(loads, measure(_model(logs / "model"), logs, loads, options.rounds)))


if __name__ == "__main__":
    main()
