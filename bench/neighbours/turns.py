"""`python -m bench.neighbours.turns`: what turns on the event loop cost those that take them.

Bodies of 20 KB arrive beside streams whose tokens come all at once, and each takes three turns
(`enforcer.vllm.server.pacing`); then the same without turns. No server: the loop does nothing else.

Owns: the load on a loop, and how long bodies are on their way. Must not know: how turns are taken.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from statistics import median

from enforcer.vllm.server import pacing

_SIZE = 20_000  # bytes
_TURNS = 3
_READING = 0.0005  # seconds of each turn
_STEP = 0.03  # seconds between two tokens of a stream


def _work(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


async def _stream(token: asyncio.Event, seconds: float) -> None:
    while True:
        await token.wait()
        token.clear()
        _work(seconds)


async def _body(took: list[float], *, turns: bool) -> None:
    begun = time.perf_counter()
    for _ in range(_TURNS):
        await (pacing.turn(_SIZE) if turns else asyncio.sleep(0))
        _work(_READING)
    took.append(time.perf_counter() - begun)


async def _measure(options: argparse.Namespace, *, turns: bool) -> None:
    tokens = [asyncio.Event() for _ in range(options.streams)]
    tasks = [asyncio.create_task(_stream(token, options.token / 1e6)) for token in tokens]

    async def generate() -> None:
        while True:
            await asyncio.sleep(_STEP)
            for token in tokens:
                token.set()

    tasks.append(asyncio.create_task(generate()))
    took: list[float] = []
    begun, sent = time.perf_counter(), 0
    while (passed := time.perf_counter() - begun) < options.seconds:
        while sent < passed * options.rate:
            tasks.append(asyncio.create_task(_body(took, turns=turns)))
            sent += 1
        await asyncio.sleep(0.5 / options.rate)
    middle, longest = 1000 * median(took), 1000 * max(took)
    way = "with turns" if turns else "without"
    print(
        f"{way}: {len(took)} of {sent} read, {middle:.0f} ms in the median, {longest:.0f} at most"
    )
    for task in tasks:
        task.cancel()


def main() -> None:
    """Measure and print both ways; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=60, help="bodies a second (%(default)g)")
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--token", type=float, default=100, help="µs of the loop (%(default)g)")
    parser.add_argument("--seconds", type=float, default=12)
    options = parser.parse_args()
    for turns in (True, False):
        asyncio.run(_measure(options, turns=turns))


if __name__ == "__main__":
    main()
