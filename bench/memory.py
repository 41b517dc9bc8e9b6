"""`python -m bench.memory`: thousands of distinct large schemas, and what the processes keep.

Every request has a schema of its own, demands a call and begins it, so that each is checked,
compiled and put into a cache. Prints each process's memory along the way. Exits with 1 if one
of them has grown by more than the budget (`ENFORCER_CACHE_MIB`) and what one request may need.

With `--in-process` there is no server: what an engine does with each is done here, in half the
time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

import enforcer
from bench import processes, random_model
from bench.demo.servers import ENFORCED, MODEL_NAME, Server, with_a_worker_process
from bench.first_mask import run
from enforcer.cache import Cache

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKS = 10
_WARM = 2  # requests before the first look
_SLACK = 64  # MiB: what allocators keep, and requests under way
_AT_ONCE = 8
_OK = 200
_OPENING = (
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "functions.f:0",
    "<|tool_call_argument_begin|>",
)


def main() -> int:
    """Serve, send, print; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=int, default=10_000)
    parser.add_argument("--properties", type=int, default=100)
    parser.add_argument("--budget", type=int, default=256, help="MiB")
    parser.add_argument("--model", type=Path, help="a folder; random weights otherwise")
    parser.add_argument("--in-process", action="store_true", help="without a server")
    arguments = parser.parse_args()
    if arguments.in_process:
        return here(arguments.schemas, arguments.properties, arguments.budget)
    os.environ |= {"ENFORCER_CACHE_MIB": str(arguments.budget), "ENFORCER_PREAMBLE_IDS": "0"}
    setting = replace(ENFORCED, flags=(*ENFORCED.flags, "--max-num-seqs", str(_AT_ONCE)))
    with tempfile.TemporaryDirectory() as folder:
        model = random_model.given_or_written(arguments.model, Path(folder))
        with Server(model, with_a_worker_process(setting), Path(folder) / "server.log") as server:
            server.wait_until_ready()
            bodies = map(request, tools(arguments.properties))
            statuses = asyncio.run(send(server, itertools.islice(bodies, _WARM)))
            first = processes.memory(server.pid)
            show(0, first)
            for at in range(1, _LOOKS + 1):
                part = itertools.islice(bodies, arguments.schemas // _LOOKS)
                statuses += asyncio.run(send(server, part))
                last = processes.memory(server.pid)
                show(at * arguments.schemas // _LOOKS, last)
    # Those that check keep nothing between checks, and come and go.
    kept = last.keys() - {processes.CHECKS}
    grown = {name: last[name] - first.get(name, 0.0) for name in kept}
    print(f"grown by {max(grown.values()):.0f} MiB, budget {arguments.budget}; {dict(statuses)}")
    within = max(grown.values()) <= arguments.budget + _SLACK
    return 0 if within and set(statuses) == {_OK} else 1


def here(schemas: int, properties: int, budget: int) -> int:
    """Begin a call of each schema in this process; print; see the module."""
    name, vocabulary = run.vocabulary()
    print(name)
    served = enforcer.Enforcer(vocabulary, cache=Cache(budget << 20))
    served.warm()
    fresh = tools(properties)
    for tool in itertools.islice(fresh, _WARM):
        begin(served, tool)
    gc.collect()
    first = {"this": processes.resident(os.getpid())}
    show(0, first)
    for at in range(1, _LOOKS + 1):
        for tool in itertools.islice(fresh, schemas // _LOOKS):
            begin(served, tool)
        show(at * schemas // _LOOKS, {"this": processes.resident(os.getpid())})
    grown = processes.resident(os.getpid()) - first["this"]
    print(f"grown by {grown:.0f} MiB, budget {budget}; {len(served.cache)} kept")
    return 0 if grown <= budget + _SLACK else 1


def begin(served: enforcer.Enforcer, tool: dict[str, Any]) -> None:
    """Write the first argument of a call, with a mask before each id."""
    vocabulary = served.vocabulary
    bitmask = np.zeros((1, vocabulary.words), dtype=np.int32)
    (word, value), *_ = tool["function"]["parameters"]["properties"].items()
    matcher = served.matcher([tool], "required")
    for piece in (*_OPENING, json.dumps({word: value["enum"][0]})[:-1]):
        control = vocabulary.controls.get(piece)
        for token_id in vocabulary.encode(piece) if control is None else (control,):
            matcher.fill(bitmask)
            if not matcher.accept(token_id):
                raise RuntimeError(f"{piece!r} is refused")


def tools(count: int) -> Iterator[dict[str, Any]]:
    """Give tools without end, each with another schema of so many properties."""
    for number in itertools.count():
        words = [f"p{number}x{at}" for at in range(count)]
        properties = {word: {"enum": [f"{word}v{n}" for n in range(5)]} for word in words}
        schema = {
            "type": "object",
            "properties": properties,
            "required": words[:3],
            "additionalProperties": False,
        }
        yield {"type": "function", "function": {"name": "f", "parameters": schema}}


def request(tool: dict[str, Any]) -> dict[str, Any]:
    """Demand a call of it."""
    demanded = enforcer.extra_body([tool], "required")
    return {"model": MODEL_NAME, "prompt": "Hi", "max_tokens": 12, **demanded}


async def send(server: Server, bodies: Iterator[dict[str, Any]]) -> Counter[int]:
    """Send all, a few at a time; counts the statuses."""
    statuses: Counter[int] = Counter()
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as client:

        async def one() -> None:
            for body in bodies:
                answer = await client.post("/v1/completions", json=body)
                statuses[answer.status_code] += 1

        await asyncio.gather(*(one() for _ in range(_AT_ONCE)))
    server.check_alive()
    return statuses


def show(count: int, sizes: dict[str, float]) -> None:
    """Print a line."""
    said = ", ".join(f"{name} {size:,.0f}" for name, size in sizes.items())
    print(f"{count:>6} schemas, MiB: {said}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
