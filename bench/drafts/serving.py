"""`python -m bench.drafts.serving`: tokens a second of a real small model, with and without drafts.

SmolLM2-135M-Instruct on vLLM's CPU build, served one way after the other: vLLM as it comes, which
schedules asynchronously; vLLM with n-gram drafts; the Enforcer; the Enforcer with drafts
by the grammar. vLLM writes to the same prompts whatever its model does; of the Enforcer a call is
demanded (`tool_choice: required`). In the last load half of the requests have no tools, and what
these get is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.demo.real_model import weights, workload
from bench.demo.real_model.__main__ import SETTINGS
from bench.demo.servers import Server, with_a_worker_process
from bench.speculation.ways import GRAMMAR
from bench.throughput import Sent, send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.demo.servers import Setting

_EACH = 2  # requests for each one that is in flight
_TOKENS = 96
_NGRAM = {"method": "ngram", "prompt_lookup_max": 4, "num_speculative_tokens": 8}


def drafting(setting: Setting, name: str, how: object = GRAMMAR) -> Setting:
    """Return a way to serve with draft tokens, by the grammar by default."""
    flags = (*setting.flags, "--speculative-config", json.dumps(how))
    return replace(setting, name=name, flags=flags)


def settings() -> list[Setting]:
    """Return the servers that are compared; the first is the measure."""
    stock, *_, enforced = SETTINGS
    return [
        stock,
        drafting(stock, "vLLM, n-gram", _NGRAM),
        enforced,
        drafting(enforced, "Enforcer, drafts"),
    ]


def bodies(count: int, choice: str, first: int) -> list[dict[str, Any]]:
    """Return greedy requests; those of `choice` none have no tools."""
    greedy = [each.body for each in workload.requests(200) if each.greedy]
    found = []
    for body in islice(cycle(greedy), first, first + count):
        own = {**body, "tool_choice": choice, "max_tokens": _TOKENS}
        if choice == "none":
            del own["tools"], own["tool_choice"]
        found.append(own)
    return found


async def both(url: str, count: int, choice: str, first: int) -> Sent:
    """Send requests with and without tools at once; return what came of those without."""
    plain, _ = await asyncio.gather(
        send(url, bodies(2 * count, "none", first), count, streamed=True),
        send(url, bodies(2 * count, choice, first), count, streamed=True),
    )
    return plain


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, nargs="+", default=(1, 8, 32))
    options = parser.parse_args()
    found: dict[str, dict[str, list[Sent]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for setting in settings():
            _measure(setting, Path(folder), options.in_flight, options.rounds, found)
    print(table(found))


def _measure(
    setting: Setting,
    folder: Path,
    in_flights: Sequence[int],
    rounds: int,
    found: dict[str, dict[str, list[Sent]]],
) -> None:
    """Serve in one way, and note what came by load."""
    choice = "required" if setting.plugins else "auto"
    flags = (*setting.flags, "--max-num-seqs", str(2 * max(in_flights)))
    served = with_a_worker_process(replace(setting, flags=flags))
    with Server(weights.model(), served, folder / f"{setting.name}.log") as server:
        server.wait_until_ready()
        asyncio.run(both(server.url, 4, choice, 0))  # nobody's first requests
        for at in range(rounds):
            for in_flight in in_flights:
                first = at * _EACH * in_flight
                count = _EACH * max(in_flight, 4)
                asked = bodies(count, choice, first)
                sent = asyncio.run(send(server.url, asked, in_flight, streamed=True))
                mixed = asyncio.run(both(server.url, in_flight, choice, first))
                for load, each in ((f"{in_flight}", sent), (f"{in_flight} beside", mixed)):
                    found.setdefault(load, {}).setdefault(setting.name, []).append(each)


def table(found: dict[str, dict[str, list[Sent]]]) -> str:
    """Write tokens a second by load and server, and beside the first; then ms between tokens."""
    names = [*next(iter(found.values()))]
    names.sort(key=[each.name for each in settings()].index)
    lines = [f"| in flight | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for load, by_name in found.items():
        rates = {name: [_rate(each) for each in by_name[name]] for name in names}
        cells = []
        for name in names:
            beside = [a / b for a, b in zip(rates[name], rates[names[0]], strict=True)]
            lost = sum(each.failed for each in by_name[name])
            cells.append(
                f"{statistics.median(rates[name]):.0f} ({statistics.median(beside):.2f})"
                + (f", {lost} failed" if lost else "")
            )
        lines.append(f"| {load} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _rate(sent: Sent) -> float:
    """Return tokens a second of the streams, from the first token of each on."""
    return 1e3 * sent.ids / max(sum(sent.gaps), 1e-9)


if __name__ == "__main__":
    main()
