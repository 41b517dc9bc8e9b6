"""`python -m bench.neighbours`: the largest gap of a stream beside hostile requests.

For each load, three stretches take turns: a quiet one, one with the same bytes under a name that
vLLM does not know (so many requests, and nothing to enforce), one with the load. The figure is the
median of the largest gaps. With `--step` there is the longest time as well that masks took of a
step, which they delay by what is beyond its length. Beside it the same of vLLM's own strict
constraint (`--beside`). Exits with 1 if the load's gap is above 1.5 times that of the other two, a
neighbour had an error, or a hostile request ended with HTTP 500.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

from tokenizers import Tokenizer

from bench.demo import random_model
from bench.demo.servers import ENFORCED, STRICT, Server, Setting, with_a_worker_process
from bench.gpu import serving
from bench.neighbours import MASKS_VARIABLE, STEP_VARIABLE, hostile
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
    parser.add_argument(
        "--worker-process", action="store_true", help="the worker in a process of its own"
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--step", type=float, default=0.0, help="milliseconds of a step, as on a device"
    )
    steps.add_argument(
        "--large", action="store_true", help="on an accelerator: a model of eight billion weights"
    )
    parser.add_argument("--flags", default="", help="more of vLLM's, in one word: --flags='-x -y'")
    parser.add_argument("--model", type=Path, help="a folder; random weights otherwise")
    arguments = parser.parse_args()
    os.environ.setdefault("ENFORCER_PREAMBLE_IDS", "3")  # the text of random weights says nothing
    servers = [(ENFORCED, Constraint.ENFORCER)] + [(STRICT, Constraint.VLLM)] * arguments.beside
    right = True
    with tempfile.TemporaryDirectory() as folder:
        flags = tuple(arguments.flags.split())
        if arguments.large:
            model, flags = serving.write_large(Path(folder)), serving.LARGE + flags
        else:
            model = random_model.given_or_written(arguments.model, Path(folder))
        for setting, constraint in servers:
            loads = hostile.loads(letters(model), arguments.only)
            print(f"\n{setting.name}")
            heads = "quiet, ms | unconstrained | with | to quiet | masks | errors | outcomes"
            print(f"| beside | {heads} |")
            print("|---|---:|---:|---:|---:|---:|---:|---|", flush=True)
            served = replace(setting, flags=(*setting.flags, *flags))
            if arguments.worker_process:
                served = with_a_worker_process(served)
            masks = Path(folder) / "masks"
            masks.write_bytes(b"")
            if arguments.step:
                served = on_device(served, arguments.step / 1e3, masks)
            with Server(model, served, Path(folder) / "server.log") as server:
                server.wait_until_ready()
                asyncio.run(observe(server.url, constraint, arguments.seconds))  # warm up
                for load in loads:
                    masks.write_bytes(b"")
                    kinds = (None, hostile.unconstrained(load), load)
                    stretches = [
                        [
                            asyncio.run(
                                observe(server.url, constraint, arguments.seconds, kind, f"{at}n")
                            )
                            for kind in kinds
                        ]
                        for at in range(arguments.repeats)
                    ]
                    server.check_alive()
                    took = max(map(float, masks.read_text().split()), default=None)
                    well = show(load.name, stretches, took)
                    right = right and (well or constraint is not Constraint.ENFORCER)
    return 0 if right else 1


def on_device(setting: Setting, seconds: float, masks: Path) -> Setting:
    """Serve in this way with steps as long as a device's, masks timed; see `device_step`."""
    flags = (*setting.flags, "--worker-cls", "bench.neighbours.device_step.DeviceWorker")
    environment = (
        *setting.environment,
        (STEP_VARIABLE, str(seconds)),
        (MASKS_VARIABLE, str(masks)),
    )
    return replace(setting, flags=flags, environment=environment)


def letters(model: Path) -> dict[str, int]:
    """Give the ids of the letters a and b, and of the section's begin."""
    tokens = Tokenizer.from_file(str(model / "tokenizer.json"))
    names = ("a", "b", "<|tool_calls_section_begin|>")
    found = {text: tokens.token_to_id(text) for text in names}
    return {text: token_id for text, token_id in found.items() if token_id is not None}


def show(name: str, stretches: list[list[Window]], masks: float | None) -> bool:
    """Print a line; return whether the load did no harm."""
    kinds = list(zip(*stretches, strict=True))
    quiet, plain, beside = (median(window.largest() for window in kind) for kind in kinds)
    errors = [error for turn in stretches for window in turn for error in window.errors]
    outcomes = sum((window.outcomes for window in kinds[-1]), start=Counter[str]())
    said = ", ".join(f"{count} of {what}" for what, count in sorted(outcomes.items()))
    took = "-" if masks is None else f"{masks * 1e3:.0f}"
    print(
        f"| {name} | {quiet * 1e3:.0f} | {plain * 1e3:.0f} | {beside * 1e3:.0f} "
        f"| {beside / quiet:.2f} | {took} | {len(errors)} | {said} |",
        flush=True,
    )
    for error in errors[:3]:
        print(f"  {error}")
    slow = beside > _MOST * max(quiet, plain)
    return not (slow or errors or outcomes["500"] or outcomes["no answer"])


if __name__ == "__main__":
    sys.exit(main())
