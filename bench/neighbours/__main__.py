"""`python -m bench.neighbours`: the largest gap of a stream beside hostile requests.

For each load, quiet stretches and stretches with the load take turns; the figure is the median
of the largest gaps. Beside it the same of vLLM's own strict constraint (`--beside`). Exits with
1 if a ratio is above 1.5, a neighbour had an error, or a hostile request ended with HTTP 500.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from tokenizers import Tokenizer

from bench import random_model
from bench.demo.servers import ENFORCED, STRICT, Server
from bench.neighbours import hostile
from bench.neighbours.hostile import Constraint
from bench.neighbours.stream import Window, observe

_MOST = 1.5


def main() -> int:
    """Serve, measure, print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6, help="of a stretch, at least")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[""], help="loads whose name has one of these")
    parser.add_argument("--beside", action="store_true", help="measure stock strict mode as well")
    parser.add_argument("--model", type=Path, help="a folder; random weights otherwise")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("ENFORCER_PREAMBLE_IDS", "3")  # the text of random weights says nothing
    servers = [(ENFORCED, Constraint.ENFORCER)] + [(STRICT, Constraint.VLLM)] * arguments.beside
    right = True
    record = []
    with tempfile.TemporaryDirectory() as folder:
        model = random_model.given_or_written(arguments.model, Path(folder))
        for setting, constraint in servers:
            loads = [
                load
                for load in hostile.loads(letters(model))
                if any(word in load.name for word in arguments.only)
            ]
            print(f"\n{setting.name}")
            print("| beside | quiet, ms | with, ms | ratio | neighbours' errors | outcomes |")
            print("|---|---:|---:|---:|---:|---|", flush=True)
            with Server(model, setting, Path(folder) / "server.log") as server:
                server.wait_until_ready()
                asyncio.run(observe(server.url, constraint, arguments.seconds))  # warm up
                for load in loads:
                    stretches = [
                        (
                            asyncio.run(observe(server.url, constraint, arguments.seconds)),
                            asyncio.run(
                                observe(server.url, constraint, arguments.seconds, load, f"{at}n")
                            ),
                        )
                        for at in range(arguments.repeats)
                    ]
                    server.check_alive()
                    record.append({"server": setting.name, **show(load.name, stretches)})
                    if constraint is Constraint.ENFORCER:
                        right = right and bool(record[-1]["right"])
    if arguments.json:
        arguments.json.write_text(json.dumps(record, indent=1))
    return 0 if right else 1


def letters(model: Path) -> dict[str, int]:
    """Give the ids of the letters a and b, and of the section's begin."""
    tokens = Tokenizer.from_file(str(model / "tokenizer.json"))
    names = ("a", "b", "<|tool_calls_section_begin|>")
    found = {text: tokens.token_to_id(text) for text in names}
    return {text: token_id for text, token_id in found.items() if token_id is not None}


def show(name: str, stretches: list[tuple[Window, Window]]) -> dict[str, object]:
    """Print a line, and give its figures."""
    quiet = median(one.largest() for one, _ in stretches)
    beside = median(other.largest() for _, other in stretches)
    errors = [error for pair in stretches for window in pair for error in window.errors]
    outcomes = sum((other.outcomes for _, other in stretches), start=stretches[0][0].outcomes)
    said = ", ".join(f"{count} of {what}" for what, count in sorted(outcomes.items()))
    ratio = beside / quiet
    print(
        f"| {name} | {quiet * 1e3:.0f} | {beside * 1e3:.0f} | {ratio:.2f} | {len(errors)} "
        f"| {said} |",
        flush=True,
    )
    for error in errors[:3]:
        print(f"  {error}")
    wrong = ratio > _MOST or errors or outcomes["500"] or outcomes["no answer"]
    return {
        "load": name,
        "quiet": [one.largest() for one, _ in stretches],
        "with": [other.largest() for _, other in stretches],
        "ratio": ratio,
        "errors": errors,
        "outcomes": dict(outcomes),
        "right": not wrong,
    }


if __name__ == "__main__":
    sys.exit(main())
