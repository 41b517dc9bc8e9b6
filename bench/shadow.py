"""Shadow mode beside vLLM without the plugin: the same replies, and the judge's counts of them.

`python -m bench.shadow [--real]`: the demo's requests, or those of `bench.real_model`, go to one
server after the other. Exits with 1 if a greedy reply has other token ids, a reply was not judged,
or a count differs from that of `enforcer verify` over the replies of the same server. Owns: the
comparison. Must not know: how replies are judged, or what the requests are.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from bench.demo import workload
from bench.demo.__main__ import MODEL, until_interrupted
from bench.demo.servers import FREE, Server, Setting
from bench.real_model import __main__ as real_model
from bench.real_model import weights
from bench.real_model import workload as real_workload
from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import rules_of
from enforcer.tools.verify import client, report
from enforcer.turn import dialects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.judging.replies import ChatReply

_WAIT = 300  # seconds until all replies are judged
_FAULTS = ("undeclared", "schema", "id", "choice", "finish", "leak")


def shadowed(setting: Setting) -> Setting:
    """Return a way to serve vLLM without the plugin, in shadow mode."""
    own = (*setting.environment, ("ENFORCER_SHADOW", "on"))
    return replace(setting, name="shadow mode", plugins="enforcer", environment=own)


def ask(
    model: Path, setting: Setting, bodies: Sequence[Mapping[str, Any]], log: Path
) -> tuple[list[ChatReply], dict[str, float]]:
    """Serve the model, send the requests; return the replies, and shadow mode's counts."""
    with Server(model, setting, log) as server:
        server.wait_until_ready()
        endpoint = client.Endpoint.at(server.url, concurrency=32, timeout=3600)
        replies = asyncio.run(client.send_all(endpoint, bodies))
        deadline = time.monotonic() + (_WAIT if setting.plugins else 0)
        while True:
            found = counts(httpx.get(f"{server.url}/metrics/", timeout=60).text)
            told = sum(count for name, count in found.items() if name.startswith("replies"))
            if told + found.get("dropped", 0) >= len(bodies) or time.monotonic() > deadline:
                return replies, found


def counts(text: str) -> dict[str, float]:
    """Return the counts of shadow mode, by family and label."""
    found = {}
    for family, label in (("replies", "outcome"), ("would_change", "kind")):
        for labels, count in client.samples(text, f"enforcer_shadow_{family}_total"):
            found[f"{family} {labels[label]}"] = count
    lines = [line for line in text.splitlines() if line.startswith("enforcer_shadow_dropped_total")]
    found["dropped"] = sum(float(line.split()[1]) for line in lines)
    return found


def judged(
    bodies: Sequence[Mapping[str, Any]], replies: Sequence[ChatReply], dialect: str
) -> dict[str, float]:
    """Return the same counts as `enforcer verify` has them."""
    known = rules_of(dialects.load(dialect))
    row = report.count([judge(*pair, known) for pair in zip(bodies, replies, strict=True)])
    found: dict[str, float] = {
        "replies complete": row.complete,
        "replies cut_off": row.cut_off,
        "replies refused": row.faults[Fault.REFUSED],
        "replies failed": row.faults[Fault.FAILED],
        "would_change empty": row.empty,
    }
    return found | {f"would_change {name}": row.faults[Fault[name.upper()]] for name in _FAULTS}


def main() -> int:
    """Run it; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.shadow", description=__doc__)
    parser.add_argument("--real", action="store_true", help="the small model and its requests")
    options = parser.parse_args()
    return until_interrupted(lambda: _run(real=options.real))


def _run(*, real: bool) -> int:
    model, setting, dialect = MODEL, FREE, "kimi_k2"
    bodies: Sequence[Mapping[str, Any]] = workload.bodies(260)
    if real:
        model, setting, dialect = weights.model(), real_model.STOCK, "hermes"
        bodies = [request.body for request in real_workload.requests(200)]
    with tempfile.TemporaryDirectory() as folder:
        free, _ = ask(model, setting, bodies, Path(folder) / "free.log")
        shadow, told = ask(model, shadowed(setting), bodies, Path(folder) / "shadow.log")
    greedy = [at for at, body in enumerate(bodies) if not body.get("temperature")]
    same = [at for at in greedy if free[at].token_ids == shadow[at].token_ids]
    print(f"greedy replies with the same token ids: {len(same)} of {len(greedy)}")
    wanted = judged(bodies, shadow, dialect)
    print(f"\n| of {len(bodies)} replies | shadow mode | judge |\n|---|--:|--:|")
    for name in sorted(wanted | told):
        print(f"| {name} | {told.get(name, 0):.0f} | {wanted.get(name, 0):.0f} |")
    differ = [name for name in wanted if told.get(name, 0) != wanted[name]]
    return int(bool(differ) or len(same) < len(greedy) or bool(told.get("dropped")))


if __name__ == "__main__":
    sys.exit(main())
