"""The neighbours: streams, plain and enforced, and the gaps between their tokens.

Owns: keeping streams going for a while, and timing them beside a load. Must not know: what is in
a load, how it is sent, how figures are shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

import enforcer
from bench.demo.servers import MODEL_NAME
from bench.neighbours.hostile import Constraint
from bench.neighbours.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.neighbours.hostile import Load

_STREAMS = 2  # of each kind
_BEFORE = 0.75  # seconds of streaming before a load arrives
_WORDS = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 60}},
    "required": ["words"],
    "additionalProperties": False,
}


@dataclass(slots=True)
class Window:
    """What was seen in one stretch of time.

    Attributes:
        gaps: seconds between the tokens of a stream, by kind of stream.
        errors: of the neighbours.
        outcomes: of the load's requests, by HTTP status or what else became of them.

    """

    gaps: dict[str, list[float]] = field(default_factory=lambda: {"plain": [], "enforced": []})
    errors: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def largest(self) -> float:
        """Give the largest gap of any stream."""
        return max(max(gaps, default=0.0) for gaps in self.gaps.values())


def _bodies(constraint: Constraint) -> dict[str, dict[str, Any]]:
    shared = {"model": MODEL_NAME, "stream": True, "max_tokens": 400, "temperature": 1}
    if constraint is Constraint.VLLM:
        own: dict[str, Any] = {"structured_outputs": {"json": _WORDS}}
    else:
        tool = {"type": "function", "function": {"name": "f", "parameters": _WORDS}}
        own = enforcer.extra_body([tool], "required")
    return {
        "plain": {**shared, "prompt": "Once upon a time", "ignore_eos": True},
        "enforced": {**shared, "prompt": "Words:", **own},
    }


@contextmanager
def _urgent() -> Iterator[None]:
    """Run before all else, where that is allowed: gaps are to be the server's, not ours."""
    try:
        # Not for the children: the process that sends the load would come before the server.
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


async def observe(
    url: str, constraint: Constraint, seconds: float, load: Load | None = None, salt: str = ""
) -> Window:
    """Stream for so long, and send a load meanwhile.

    Args:
        url: the server's, without `/v1`.
        constraint: whose, for the neighbours and for the load.
        seconds: for which the neighbours stream at least; they go on until the load's
            requests have been answered.
        load: None for a quiet stretch.
        salt: makes the load's requests unlike those of other calls.

    """
    with _urgent():
        return await _observe(url, constraint, seconds, load, salt)


async def _observe(
    url: str, constraint: Constraint, seconds: float, load: Load | None, salt: str
) -> Window:
    window = Window()
    done = asyncio.Event()
    sender = nullcontext() if load is None else _sender(url, load, salt, constraint)
    # A kept connection may be closed by the server just as the next request is written.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    client = httpx.AsyncClient(base_url=url, timeout=None, limits=limits)  # noqa: S113 - a stream goes on
    with sender as loaded:
        async with client:
            streams = [
                asyncio.create_task(_stream(client, kind, body, window, done))
                for kind, body in _bodies(constraint).items()
                for _ in range(_STREAMS)
            ]
            begun = time.monotonic()
            await asyncio.sleep(_BEFORE)
            if loaded is not None:
                window.outcomes = await loaded.send()
            await asyncio.sleep(max(0.0, seconds - (time.monotonic() - begun)))
            done.set()
            await asyncio.gather(*streams)
    return window


async def _stream(
    client: httpx.AsyncClient, kind: str, body: dict[str, Any], window: Window, done: asyncio.Event
) -> None:
    while not done.is_set():
        last = None
        async with client.stream("POST", "/v1/completions", json=body) as answer:
            if not answer.is_success:
                window.errors.append(f"{kind}: HTTP {answer.status_code}")
                await asyncio.sleep(0.1)
                continue
            async for line in answer.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                now = time.monotonic()
                if "error" in json.loads(line.removeprefix("data: ")):
                    window.errors.append(f"{kind}: {line[:200]}")
                if last is not None:
                    window.gaps[kind].append(now - last)
                last = now
                if done.is_set():
                    break


def _sender(url: str, load: Load, salt: str, constraint: Constraint) -> Sender:
    built = (load.build(f"{salt}w{at}", constraint) for at in range(load.count))
    requests = [(route, json.dumps(body).encode()) for route, body in built]
    return Sender(url, requests, load.patience)
