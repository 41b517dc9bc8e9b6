"""Servers of which one runs at a time, the others being stopped.

Two engines at once wait for each other's spinning threads for half a second. Owns: stopping and
going on, and the processor time of a server. Must not know: what is sent.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager, ExitStack

    from bench.demo.servers import Server

_IDLE = 60  # ms of processor time in two seconds; clients' pools and statistics take less


def start(
    starts: Mapping[str, Callable[[], AbstractContextManager[Server]]], stack: ExitStack
) -> dict[str, Server]:
    """Start servers one after the other, and stop each; the stack ends them."""
    servers = {}
    for name, serving in starts.items():
        server = servers[name] = stack.enter_context(serving())
        server.wait_until_ready()
        _wait_until_idle(server)
        _signal(server, signal.SIGSTOP)
        stack.callback(_signal, server, signal.SIGCONT)  # a stopped process does not end
    return servers


@contextmanager
def running(server: Server) -> Iterator[None]:
    """Let a stopped server run until the block ends."""
    _signal(server, signal.SIGCONT)
    try:
        yield
    finally:
        _signal(server, signal.SIGSTOP)


def processor_ms(server: Server) -> float:
    """Return the processor time of a server's processes since they began, in milliseconds."""
    first = psutil.Process(server.pid)
    times = [one.cpu_times() for one in (first, *first.children(recursive=True))]
    return float(sum(one.user + one.system for one in times)) * 1e3


def _wait_until_idle(server: Server) -> None:
    """Block until a server has started what it starts behind its first answer."""
    before = -float(_IDLE)
    while (now := processor_ms(server)) - before >= _IDLE:
        before = now
        time.sleep(2)


def _signal(server: Server, number: signal.Signals) -> None:
    """Send a signal to a server and its engine, which are a process group."""
    os.killpg(server.pid, number)
