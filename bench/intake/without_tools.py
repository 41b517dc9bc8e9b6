"""What requests without tools cost beside stock vLLM, a token id: both model runners.

Model Runner V2 bans the ids that begin calls; V1 has a grammar, and fills a mask a step. On the CPU
V2 runs by Triton's interpreter, so that its ids a second say nothing but that they are the same.
Owns: the servers and the requests. Must not know: tables.
"""

from __future__ import annotations

import asyncio
import statistics
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.demo.servers import MODEL_NAME
from bench.intake import turns
from bench.speculation import ways
from bench.throughput import send

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

IN_FLIGHT = (1, 8)
_EACH = 2  # requests for each that is in flight
_IDS = {False: 64, True: 16}  # of a reply, by whether it is V2's


@dataclass(frozen=True, slots=True)
class Row:
    """What one load came to, by the names of the servers.

    Attributes:
        processors: milliseconds of processor time for a token id, of all of a server's processes.
        speed: token ids a second, the medians.

    """

    runner: str
    in_flight: int
    processors: dict[str, float]
    speed: dict[str, float]


def measure(model: Path, logs: Path, *, v2: bool, rounds: int) -> list[Row]:
    """Measure one of the runners; the two servers take turns."""
    way = ways.Way("V2" if v2 else "V1", v2=v2, flags=("--load-format", "dummy"))
    starts = {}
    for name in ("vLLM", "Enforcer"):
        folder = logs / f"{way.name}-{name}"
        folder.mkdir()
        chosen = replace(way, enforced=name == "Enforcer")
        starts[name] = partial(ways.serving, chosen, model, folder)
    found = []
    with ExitStack() as stack:
        servers = turns.start(starts, stack)
        for in_flight in IN_FLIGHT:
            spent, speed = dict.fromkeys(servers, 0.0), {name: [0.0] * rounds for name in servers}
            for at in range(-1, rounds):  # the first is a warm-up
                bodies = _bodies(in_flight * _EACH, _IDS[v2])
                for name in [*servers][:: 1 if at % 2 else -1]:
                    with turns.running(servers[name]):
                        before = turns.processor_ms(servers[name])
                        sent = asyncio.run(send(servers[name].url, bodies, in_flight))
                        taken = turns.processor_ms(servers[name]) - before
                    if sent.failed:
                        raise RuntimeError(f"{way.name}, {name}: {sent.failed} requests failed")
                    if at >= 0:
                        spent[name] += taken / sent.ids / rounds
                        speed[name][at] = sent.ids / sent.seconds
            medians = {name: statistics.median(each) for name, each in speed.items()}
            found.append(Row(way.name, in_flight, spent, medians))
    return found


def _bodies(count: int, ids: int) -> Sequence[dict[str, Any]]:
    return [
        {
            "model": MODEL_NAME,
            "messages": [{"role": "user", "content": f"Tell me story number {at}."}],
            "max_tokens": ids,
            "ignore_eos": True,
            "temperature": 0,
        }
        for at in range(count)
    ]


def table(rows: Sequence[Row]) -> str:
    """Write the figures, and the Enforcer's beside stock vLLM's."""
    lines = [
        "| runner | in flight | ms an id: vLLM | Enforcer | more | ids/s: vLLM | ours | ratio |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        stock, ours = row.processors["vLLM"], row.processors["Enforcer"]
        slow, fast = row.speed["vLLM"], row.speed["Enforcer"]
        cells = [row.runner, str(row.in_flight), f"{stock:.2f}", f"{ours:.2f}"]
        cells += [f"{ours - stock:.2f}", f"{slow:.0f}", f"{fast:.0f}", f"{fast / slow:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
