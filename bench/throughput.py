"""Ids a second from real vLLM on the CPU: without enforcement, in its strict mode, by ours.

`python -m bench.throughput [--rounds 5]`: three servers of one model of random
weights over Kimi's vocabulary stand side by side and take turns; the two that wait cost nothing.
The model is so small that the engine's own work is most of a step: what enforcing costs there is
more than it can be with a model worth serving. With `--stream` replies are streamed, and gaps
between ids are told as well. With `--shadow` the server beside vLLM is in shadow mode. Owns: the
requests, taking turns, the tables, what `bench.gpu` compares. Must not know: whether a reply is
right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from bench.demo import random_model
from bench.demo.servers import (
    ENFORCED,
    FREE,
    MODEL_NAME,
    STRICT,
    Server,
    Setting,
    with_a_worker_process,
)
from bench.matrix import workload
from bench.speculation import ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    # How each server is started, by the name that the table has for it; the first is the measure.
    Starts = Mapping[str, Callable[[], AbstractContextManager[Server]]]

IN_FLIGHT = (1, 8, 32)
SHADOW = replace(
    FREE, name="shadow mode", plugins="enforcer", environment=(("ENFORCER_SHADOW", "on"),)
)
CHOICES = ("auto", "required")
_IDS = 64  # of a reply, at most
_EACH = 2  # requests for each one that is in flight


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of some requests.

    Attributes:
        ids: how many came back.
        seconds: that it took.
        failed: requests that ended with an error.
        gaps: milliseconds between what came one after the other in one stream: an id, with drafts
            one or more. Empty where replies came whole.

    """

    ids: int
    seconds: float
    failed: int
    gaps: tuple[float, ...] = ()


async def send(
    url: str, bodies: Sequence[Mapping[str, Any]], in_flight: int, *, streamed: bool = False
) -> Sent:
    """Send chat requests, so many at a time."""
    free = asyncio.Semaphore(in_flight)
    limits = httpx.Limits(max_connections=in_flight)
    route = "/v1/chat/completions"

    def lost(error: httpx.TransportError) -> None:
        print(f"{url}: {type(error).__name__}: {error}", file=sys.stderr)

    async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:

        async def ask(body: Mapping[str, Any]) -> int | None:
            async with free:
                try:
                    answer = await client.post(route, json=body)
                except httpx.TransportError as error:
                    lost(error)
                    return None
            if not answer.is_success:
                return None
            ids: int = answer.json()["usage"]["completion_tokens"]
            return ids

        async def listen(body: Mapping[str, Any]) -> list[tuple[float, bytes]] | None:
            # With its ids each step is an event, also where a parser waits for more.
            wanted = {**body, "stream": True, "return_token_ids": True}
            try:
                async with free, client.stream("POST", route, json=wanted) as answer:
                    # Read later: whatever is done here makes the streams beside it wait.
                    came = [(time.perf_counter(), part) async for part in answer.aiter_raw()]
            except httpx.TransportError as error:
                lost(error)
                return None
            return came if answer.is_success else None

        begun = time.perf_counter()
        if not streamed:
            found = await asyncio.gather(*map(ask, bodies))
            seconds = time.perf_counter() - begun
            return Sent(sum(filter(None, found)), seconds, found.count(None))
        heard = await asyncio.gather(*map(listen, bodies))
        seconds = time.perf_counter() - begun
    steps = [None if each is None else read(each) for each in heard]
    well = [each for each in steps if each is not None]
    gaps = [1e3 * (b - a) for each in well for (a, _), (b, _) in pairwise(each)]
    ids = sum(count for each in well for _, count in each)
    return Sent(ids, seconds, len(steps) - len(well), tuple(gaps))


def read(came: Sequence[tuple[float, bytes]]) -> list[tuple[float, int]] | None:
    """Read a stream from its parts and when they came.

    Returns:
        When ids came, and how many; None for a stream with an error, or one that has no end.

    """
    steps: list[tuple[float, int]] = []
    rest = b""
    for at, part in came:
        *whole, rest = (rest + part).split(b"\n\n")
        for event in whole:
            data = event.removeprefix(b"data: ")
            if data == b"[DONE]":
                return steps
            said = json.loads(data)
            if "error" in said:
                return None
            ids = sum(len(choice.get("token_ids") or ()) for choice in said["choices"])
            if ids:
                steps.append((at, ids))
    return None


def bodies(choice: str, count: int, seed: int, known: int | None = None) -> list[dict[str, Any]]:
    """Draw requests with a tool choice; those of another seed have other tools.

    Args:
        choice: of OpenAI's request.
        count: of requests, at most: those without tools are left out.
        seed: of the draw.
        known: so many of them are drawn, and come again and again.

    """
    options = {"model": MODEL_NAME, "max_tokens": _IDS, "tool_choice": choice, "stream": False}
    drawn = [body | options for body in workload.bodies(known or count, seed) if body.get("tools")]
    return list(islice(cycle(drawn), count)) if known else drawn


def model(folder: Path) -> Path:
    """Write the model: random weights, of the four layers that a draft head asks for."""
    tokens = random_model.tokenizer(random_model.Vocabulary.AUTO, folder)
    random_model.write(folder / "model", tokens, shape=random_model.Shape(layers=4))
    return folder / "model"


@contextmanager
def _serving(setting: Setting, model: Path, log: Path) -> Iterator[Server]:
    flags = (*setting.flags, "--max-num-seqs", str(max(IN_FLIGHT)))
    # As vLLM serves on a CPU, with threads on all cores: what is measured is how fast that is.
    served = with_a_worker_process(replace(setting, flags=flags))
    with Server(model, served, log) as server:
        server.wait_until_ready()
        yield server


def accelerated(
    folder: Path, path: Path, most: int, names: Sequence[str], flags: tuple[str, ...]
) -> Iterator[tuple[str, Starts]]:
    """Give what is compared on an accelerator: title, and servers without and with the Enforcer.

    Args:
        folder: for draft heads and logs.
        path: the model's folder.
        most: sequences in an engine.
        names: of the ways to serve.
        flags: more of vLLM's.

    """
    for at, way in enumerate(each for each in ways.WAYS if each.name in names):
        starts = {}
        for enforced in (False, True):
            own = folder / f"{at}-{enforced}"
            own.mkdir()
            starts["Enforcer" if enforced else "vLLM"] = partial(
                ways.serving,
                replace(way, enforced=enforced, most=most, flags=flags),
                path,
                own,
                interpreted=False,
            )
        yield way.name, starts


def measure(
    starts: Starts,
    in_flights: Sequence[int],
    rounds: int,
    *,
    streamed: bool = False,
    known: int | None = None,
) -> dict[str, dict[str, list[Sent]]]:
    """Send the same to each server in turn: by load, by server, once a round.

    Args:
        starts: the servers, by their names.
        in_flights: how many requests at a time.
        rounds: of all loads.
        streamed: whether replies are.
        known: so many requests are sent before, and each load repeats those; each has its own
            otherwise, with tools that no server has seen.

    """
    found: dict[str, dict[str, list[Sent]]] = {}
    with ExitStack() as stack:
        servers = _started(starts, stack)
        for server in servers.values():
            asyncio.run(send(server.url, bodies("auto", 8, seed=0), 8))  # nobody's first request
            for choice in CHOICES if known else ():
                asyncio.run(send(server.url, bodies(choice, known or 0, seed=1), 8))
        for at in range(rounds):
            for choice in CHOICES:
                for in_flight in in_flights:
                    load = f"{choice}, {in_flight} in flight"
                    seed = 1 if known else at + 1
                    drawn = bodies(choice, _EACH * max(in_flight, 4), seed, known)
                    # Each goes first as often as the others.
                    order = [*servers][at % len(servers) :] + [*servers][: at % len(servers)]
                    for name in order:
                        work = send(servers[name].url, drawn, in_flight, streamed=streamed)
                        sent = asyncio.run(work)
                        found.setdefault(load, {}).setdefault(name, []).append(sent)
    return found


def _started(starts: Starts, stack: ExitStack) -> dict[str, Server]:
    """Start servers, all at once; the stack ends them."""
    with ThreadPoolExecutor(len(starts)) as pool:
        started = {
            name: pool.submit(stack.enter_context, start()) for name, start in starts.items()
        }
    return {name: each.result() for name, each in started.items()}


def failures(found: Mapping[str, Mapping[str, Sequence[Sent]]], name: str) -> int:
    """Count the requests to a server that ended with an error."""
    return sum(each.failed for by_name in found.values() for each in by_name[name])


def table(found: Mapping[str, Mapping[str, Sequence[Sent]]]) -> str:
    """Write the medians, and how the others stand beside the first in the same round."""
    first, *others = next(iter(found.values()))
    names = [first, *others, *(f"{name} / {first}" for name in others)]
    lines = [f"| ids a second | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for load, sent in found.items():
        by_name = {name: [one.ids / one.seconds for one in each] for name, each in sent.items()}
        cells = [f"{statistics.median(by_name[name]):,.0f}" for name in (first, *others)]
        for name in others:
            ratios = [a / b for a, b in zip(by_name[name], by_name[first], strict=True)]
            middle = statistics.median(ratios)
            cells.append(f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        lines.append(f"| {load} | {' | '.join(cells)} |")
    lost = [f"{name} {lost}" for name in (first, *others) if (lost := failures(found, name))]
    if lost:
        lines += ["", f"Requests that ended with an error: {', '.join(lost)}."]
    return "\n".join(lines)


def gaps(found: Mapping[str, Mapping[str, Sequence[Sent]]]) -> str:
    """Write how long a stream waits for its next id, and what that is beside the first server."""
    first, *others = next(iter(found.values()))
    names = [first, *others, *(f"{name} / {first}" for name in others)]
    lines = [
        f"| ms to the next id, p50 and p99 | {' | '.join(names)} |",
        "|---|" + "--:|" * len(names),
    ]
    for load, sent in found.items():
        marks = {
            name: percentiles(gap for one in each for gap in one.gaps)
            for name, each in sent.items()
        }
        cells = [f"{marks[name][0]:.1f}, {marks[name][1]:.1f}" for name in (first, *others)]
        for name in others:
            middle, late = (a / b for a, b in zip(marks[name], marks[first], strict=True))
            cells.append(f"{middle:.2f}, {late:.2f}")
        lines.append(f"| {load} | {' | '.join(cells)} |")
    return "\n".join(lines)


def percentiles(values: Iterable[float]) -> tuple[float, float]:
    """Give the median, and what one of a hundred values exceeds; NaN where there are none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan, math.nan
    return statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.throughput", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stream", action="store_true", help="stream, and tell gaps as well")
    parser.add_argument(
        "--known",
        type=int,
        help="draw so many requests, and repeat them; the servers have seen their tools before",
    )
    parser.add_argument("--shadow", action="store_true", help="compare vLLM with shadow mode")
    parser.add_argument(
        "--in-flight", type=int, nargs="+", default=IN_FLIGHT, help="requests at a time"
    )
    options = parser.parse_args()
    settings = (FREE, SHADOW) if options.shadow else (FREE, STRICT, ENFORCED)
    with tempfile.TemporaryDirectory() as folder:
        path = model(Path(folder))
        starts = {
            setting.name: partial(_serving, setting, path, Path(folder) / f"{at}.log")
            for at, setting in enumerate(settings)
        }
        found = measure(
            starts, options.in_flight, options.rounds, streamed=options.stream, known=options.known
        )
    print(table(found))
    if options.stream:
        print(f"\n{gaps(found)}")


if __name__ == "__main__":
    main()
