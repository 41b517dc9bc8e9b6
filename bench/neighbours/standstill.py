"""`python -m bench.neighbours.standstill`: how long a load keeps the API server's event loop busy.

A heartbeat in the server's own loop measures it, so a crowded machine and its scheduler count less
than in the gaps of a stream. Beside each load the same bytes under a name that vLLM does not know,
sent to a server of vLLM's alone: what it takes to receive them. Printed is the median, over all
repeats but the first, of the longest standstill in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import httpx

from bench.demo import random_model
from bench.demo.servers import ENFORCED, FREE, Server, with_a_worker_process
from bench.neighbours import hostile
from bench.neighbours.__main__ import letters
from bench.neighbours.heartbeat import PATH, Heartbeat
from bench.neighbours.hostile import Constraint
from bench.neighbours.sender import Sender

if TYPE_CHECKING:
    from bench.neighbours.hostile import Load


def main() -> None:
    """Serve, measure, print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="at least two")
    parser.add_argument("--only", nargs="*", default=[""], help="loads whose name has one of these")
    arguments = parser.parse_args()
    middleware = ("--middleware", f"{Heartbeat.__module__}.{Heartbeat.__name__}")
    longest: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = random_model.given_or_written(None, Path(folder))
        loads = hostile.loads(letters(model), arguments.only)
        for setting in (ENFORCED, FREE):
            # The API server alone is watched, beside an engine as vLLM's CPU build has it.
            watched = with_a_worker_process(replace(setting, flags=(*setting.flags, *middleware)))
            with Server(model, watched, Path(folder) / "server.log") as server:
                server.wait_until_ready()
                for load in loads:
                    sent = hostile.unconstrained(load) if setting is FREE else load
                    found = [
                        _measure(server.url, sent, f"{at}n") for at in range(arguments.repeats)
                    ]
                    longest.setdefault(load.name, []).append(1e3 * median(found[1:]))
    print("| load | enforced | the same bytes, vLLM alone |\n|---|---:|---:|")
    for name, (mine, plain) in longest.items():
        print(f"| {name} | {mine:.0f} | {plain:.0f} |")


def _measure(url: str, load: Load, salt: str) -> float:
    requests = []
    for at in range(load.count):
        route, body = load.build(f"{salt}w{at}", Constraint.ENFORCER)
        requests.append((route, json.dumps(body).encode()))
    with Sender(url, requests, load.patience) as sender:
        httpx.get(url + PATH)
        asyncio.run(sender.send())
        seconds: float = httpx.get(url + PATH).json()
    return seconds


if __name__ == "__main__":
    main()
