"""Taking in requests with tools, beside stock vLLM with the same bodies: `python -m bench.intake`.

Tools are seen or new, replies whole or streamed. `--in-process` starts no server, and takes less
than a minute with `--tools 128 --rounds 3`. `--without-tools V1` (or `V2`) measures whole
replies to requests that have none.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench import random_model
from bench.demo.servers import ENFORCED, FREE
from bench.intake import bodies, live, processes, without_tools
from bench.speculation import ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TINY = Path(__file__).resolve().parents[1] / "models" / "tiny-kimi"
_LENGTH = 1 << 17  # token ids of the model's context: 512 tools have some 80,000
_FLAGS = ("--max-model-len", str(_LENGTH), "--load-format", "dummy")
_WAYS = {
    name: replace(setting, flags=(*setting.flags, *_FLAGS))
    for name, setting in (("vLLM", FREE), ("Enforcer", ENFORCED))
}
_BATCH = 5  # requests to one way of serving before the other's turn
# What is timed in process, and the heading of its columns.
_PARTS = {"loop": "event loop", "engine": "engine"}
_LEAST = 0.05  # ms of a `json.loads`: below, a multiple of it says nothing

# Milliseconds by what is timed and by the way of serving.
Figures = dict[str, dict[str, float]]


def in_process(
    model: Path,
    logs: Path,
    loads: Sequence[bodies.Load],
    rounds: int,
    environment: Mapping[str, str] | None = None,
) -> list[Figures]:
    """Measure each load without a server; the two ways of serving take turns.

    The least of all times is taken: other work on the machine only adds to processor time.
    """
    found = []
    with ExitStack() as stack:
        pairs = {
            name: stack.enter_context(
                processes.Pair(
                    replace(setting, environment=tuple((environment or {}).items())),
                    model,
                    logs / f"{name}.txt",
                )
            )
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
                    heading: {
                        name: min(getattr(one, part) for one in each)
                        for name, each in spent.items()
                    }
                    for part, heading in _PARTS.items()
                }
            )
    return found


def table(loads: Sequence[bodies.Load], found: Sequence[Figures]) -> str:
    """Write the figures, and how many `json.loads` of the body the Enforcer adds."""
    columns = [
        column
        for part in found[0]
        for column in (f"{part}: vLLM", "Enforcer", "more", "by `json.loads`")
    ]
    lines = [
        f"| tools | seen | reply | body, KB | `json.loads` | {' | '.join(columns)} |",
        "|--:|---|---|--:|--:|" + "--:|" * len(columns),
    ]
    for load, figures in zip(loads, found, strict=True):
        unit = load.loads_ms()
        cells = [str(len(load.tools)), "yes" if load.seen else "no"]
        cells += ["streamed" if load.stream else "whole", f"{len(load.body()) / 1e3:.1f}"]
        cells.append(f"{unit:.3f}")
        for by_name in figures.values():
            stock, ours = by_name["vLLM"], by_name["Enforcer"]
            cells += [f"{stock:.2f}", f"{ours:.2f}", f"{ours - stock:.2f}"]
            cells.append(f"{(ours - stock) / unit:.1f}" if unit >= _LEAST else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _model(folder: Path) -> Path:
    """Write a model of random weights whose chat template can leave tools out."""
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


def _without_tools(runner: str, rounds: int) -> None:
    """Print what requests without tools cost by a runner.

    V2 is too slow on a CPU for a large vocabulary.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs, v2 = Path(folder), runner == "V2"
        model = _model(logs / "model")
        loads = bodies.loads([0])[1]
        environment = ways.INTERPRETED if v2 else {"VLLM_USE_V2_MODEL_RUNNER": "0"}
        found = in_process(model, logs, loads, rounds, environment)
        print(f"{table(loads, found)}\n", flush=True)
        model = TINY if v2 else model
        print(without_tools.table(without_tools.measure(model, logs, v2=v2, rounds=rounds)))


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.intake", description=__doc__)
    parser.add_argument("--in-process", action="store_true", help="start no server")
    parser.add_argument("--live", action="store_true", help="the servers alone")
    parser.add_argument("--without-tools", choices=["V1", "V2"], help="by this model runner")
    parser.add_argument("--tools", type=int, nargs="+", default=bodies.SIZES, help="how many")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write every figure")
    options = parser.parse_args()
    # A stopped server outlives one that is ended without leaving its blocks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.without_tools:
        _without_tools(options.without_tools, options.rounds)
        return
    source, loads = bodies.loads(options.tools)
    count = options.rounds * _BATCH
    print(f"tools: {source}; ms, the least of {count} requests; live, the median", flush=True)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder)
        model = _model(logs / "model")
        if not options.live:
            found = in_process(model, logs, loads, options.rounds)
            print(f"\n{table(loads, found)}", flush=True)
            figures["in process"] = found
        if not options.in_process:
            found = live.measure(_WAYS, model, logs, loads, options.rounds)
            print(f"\n{table(loads, found)}")
            figures["live"] = found
    if options.json:
        named = {
            part: [
                {"tools": len(load.tools), "seen": load.seen, "stream": load.stream} | each
                for load, each in zip(loads, found, strict=True)
            ]
            for part, found in figures.items()
        }
        options.json.write_text(json.dumps(named, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
