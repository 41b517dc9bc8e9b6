"""`python -m bench.soak`: clients of all kinds at one server, every reply judged.

Exits with 1 if a reply was wrong, a turn failed, or the server was not as well at the end as at
the beginning. The server runs random weights, the hardest adversary, unless a model is given.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import httpx
from prometheus_client.parser import text_string_to_metric_families
from transformers import AutoTokenizer

import enforcer
from bench import processes
from bench.demo import random_model
from bench.demo.servers import ENFORCED, Server, with_a_worker_process
from bench.neighbours import hostile
from bench.neighbours.__main__ import letters
from bench.soak.clients import Crowd

if TYPE_CHECKING:
    from bench.soak.clients import Tally

_EVERY = 5.0  # seconds between two looks at the memory
_SETTLED = 0.1  # of the time, after which memory is compared


def main() -> int:
    """Serve, soak, print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", type=Path, help="a folder; random weights otherwise")
    parser.add_argument("--flags", default="", help="more of vLLM's, quoted as in a shell")
    arguments = parser.parse_args()
    os.environ.setdefault("ENFORCER_PREAMBLE_IDS", "3")  # the text of random weights says nothing
    flags = (*ENFORCED.flags, "--max-num-seqs", str(arguments.clients))
    setting = replace(ENFORCED, flags=(*flags, *shlex.split(arguments.flags)))
    with tempfile.TemporaryDirectory() as folder:
        model = random_model.given_or_written(arguments.model, Path(folder))
        reader = enforcer.Enforcer(
            enforcer.Vocabulary.from_transformers(AutoTokenizer.from_pretrained(model))
        )
        with Server(model, with_a_worker_process(setting), Path(folder) / "server.log") as server:
            server.wait_until_ready()
            loads = hostile.loads(letters(model))
            crowd = Crowd(server.url, reader, loads, Random(arguments.seed))
            sizes = asyncio.run(soak(crowd, server, arguments))
            server.check_alive()
            well = httpx.get(f"{server.url}/health", timeout=60).is_success
            numbers = metrics(server.url)
    failed = show(crowd.tally, sizes, numbers, arguments.minutes)
    return 0 if well and not failed and not crowd.tally.faults else 1


async def soak(
    crowd: Crowd, server: Server, arguments: argparse.Namespace
) -> list[dict[str, float]]:
    """Let the crowd go on for so long; gives the memory of each process at every look."""
    sizes = []
    clients = asyncio.create_task(crowd.run(arguments.clients))
    until = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < until and not clients.done():
        sizes.append(processes.memory(server.pid))
        server.check_alive()
        await asyncio.sleep(_EVERY)
    crowd.done.set()
    await clients
    sizes.append(processes.memory(server.pid))
    return sizes


def metrics(url: str) -> dict[str, float]:
    """Read the enforcer's counters."""
    text = httpx.get(f"{url}/metrics/", timeout=60).text
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("enforcer_") and sample.name.endswith("_total") and sample.value
    }


def show(
    tally: Tally, sizes: list[dict[str, float]], numbers: dict[str, float], minutes: float
) -> float:
    """Print the tables; gives the number of turns that failed."""
    print(f"\n{minutes:g} minutes, {tally.sent.total()} requests, {tally.calls} whole calls")
    print("\n| kind | sent | outcomes |\n|---|---:|---|")
    for kind, count in tally.sent.items():
        outcomes = {what: n for (of, what), n in tally.outcomes.items() if of == kind}
        said = ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items()))
        print(f"| {kind} | {count} | {said} |")
    print("\n| MiB | start | settled | middle | end | most |\n|---|---:|---:|---:|---:|---:|")
    for name in sizes[-1]:
        series = [size.get(name, 0.0) for size in sizes]
        settled = series[int(_SETTLED * len(series))]
        parts = (series[0], settled, series[len(series) // 2], series[-1], max(series))
        print(f"| {name} | " + " | ".join(f"{part:,.0f}" for part in parts) + " |")
    print()
    for name, value in sorted(numbers.items()):
        print(f"{name} {value:g}")
    failed = sum(n for name, n in numbers.items() if name.startswith("enforcer_turns_failed"))
    print(f"\nwrong: {tally.faults}; turns failed: {failed:g}")
    for line in tally.wrong:
        print(f"  {line}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
