"""The time to a reply of one token from two servers of vLLM's CPU build.

Owns: the requests' way to the servers, and what is timed. Must not know: tables.
"""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import httpx

from bench.demo.servers import Server
from bench.intake import turns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.demo.servers import Setting
    from bench.intake.bodies import Load

ROUTE = "/v1/chat/completions"
_BATCH = 10  # requests to one server before the other's turn


def measure(
    settings: Mapping[str, Setting], model: Path, logs: Path, loads: Sequence[Load], rounds: int
) -> list[dict[str, dict[str, float]]]:
    """Return milliseconds for each load, by what is timed and by the names of the servers."""
    starts = {
        name: partial(Server, model, setting, logs / f"{name}.log")
        for name, setting in settings.items()
    }
    found = []
    with ExitStack() as stack:
        servers = turns.start(starts, stack)
        for load in loads:
            replies: dict[str, list[float]] = {name: [] for name in servers}
            spent = dict.fromkeys(servers, 0.0)
            for at in range(-1, rounds):  # the first is a warm-up, in which tools become seen
                batch = [load.body() for _ in range(_BATCH)]
                for name in [*servers][:: 1 if at % 2 else -1]:
                    server = servers[name]
                    with turns.running(server), httpx.Client(timeout=600) as client:
                        _ask(client, server, load.body())  # wakes it up
                        before = turns.processor_ms(server)
                        times = [_ask(client, server, body) for body in batch]
                        taken = turns.processor_ms(server) - before
                    if at >= 0:
                        replies[name] += times
                        spent[name] += taken / (rounds * _BATCH)
            medians = {name: statistics.median(each) for name, each in replies.items()}
            found.append({"reply": medians, "processors": spent})
    return found


def _ask(client: httpx.Client, server: Server, body: bytes) -> float:
    """Return the milliseconds to the end of a reply.

    Raises:
        httpx.HTTPStatusError: the request was refused.

    """
    headers = {"content-type": "application/json"}
    begun = time.perf_counter()
    answer = client.post(f"{server.url}{ROUTE}", content=body, headers=headers)
    spent = time.perf_counter() - begun
    answer.raise_for_status()
    return spent * 1e3
