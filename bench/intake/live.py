"""The time to a reply of one token from two servers of vLLM's CPU build, one of them stopped.

Owns: the servers and their turns. Must not know: tables, which requests there are.
"""

from __future__ import annotations

import os
import signal
import statistics
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx

from bench.demo.servers import Server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bench.demo.servers import Setting
    from bench.intake.bodies import Load

_BATCH = 10  # requests to one server before the other's turn
_ROUTE = "/v1/chat/completions"


def measure(
    settings: Mapping[str, Setting], model: Path, logs: Path, loads: Sequence[Load], rounds: int
) -> list[dict[str, dict[str, float]]]:
    """Return the medians in milliseconds for each load, by the names of the servers."""
    found = []
    with ExitStack() as stack:
        servers = {}
        for name, setting in settings.items():
            server = stack.enter_context(Server(model, setting, logs / f"{name}.log"))
            server.wait_until_ready()
            _signal(server, signal.SIGSTOP)
            stack.callback(_signal, server, signal.SIGCONT)  # a stopped process does not end
            servers[name] = server
        for load in loads:
            spent: dict[str, list[float]] = {name: [] for name in servers}
            for at in range(-1, rounds):  # the first is a warm-up, in which tools become seen
                batch = [load.body() for _ in range(_BATCH)]
                for name in [*servers][:: 1 if at % 2 else -1]:
                    with _running(servers[name]), httpx.Client(timeout=600) as client:
                        _ask(client, servers[name], load.body())  # wakes it up
                        times = [_ask(client, servers[name], body) for body in batch]
                    spent[name] += times if at >= 0 else []
            found.append({"reply": {name: statistics.median(each) for name, each in spent.items()}})
    return found


def _ask(client: httpx.Client, server: Server, body: bytes) -> float:
    """Return the milliseconds to the end of a reply.

    Raises:
        httpx.HTTPStatusError: the request was refused.

    """
    headers = {"content-type": "application/json"}
    begun = time.perf_counter()
    answer = client.post(f"{server.url}{_ROUTE}", content=body, headers=headers)
    spent = time.perf_counter() - begun
    answer.raise_for_status()
    return spent * 1e3


@contextmanager
def _running(server: Server) -> Iterator[None]:
    """Let a stopped server run until the block ends."""
    _signal(server, signal.SIGCONT)
    try:
        yield
    finally:
        _signal(server, signal.SIGSTOP)


def _signal(server: Server, number: signal.Signals) -> None:
    """Send a signal to a server and its engine, which are a process group."""
    os.killpg(server.pid, number)
