"""What the Enforcer adds to an engine's step: `python -m bench.step_thread [--rounds N]`.

vLLM as it is, its own strict mode and the Enforcer serve one model of random weights and are sent
the same requests, 32 in flight, each with tools that no server has seen. Of the steps that decode
so many rows, it tells the processor time of the engine's thread without the model, without
applying masks to logits and without sampling: the median, the mean, and the share that the mean
beyond vLLM's is of such a step of vLLM's on the clock; `--step-ms` tells that of another step.

Owns: the loads, which steps count, the table. Must not know: what a step does.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench import throughput
from bench.demo.servers import ENFORCED, FREE, STRICT, Server, Setting
from bench.step_thread import LOG_VARIABLE

_IN_FLIGHT = 32
_EACH = 3  # requests for each one that is in flight


def _setting(setting: Setting, log: Path) -> Setting:
    flags = ("--worker-cls", "bench.step_thread.timed_worker.TimedWorker")
    return replace(
        setting,
        flags=(*setting.flags, *flags, "--max-num-seqs", str(_IN_FLIGHT)),
        environment=(*setting.environment, (LOG_VARIABLE, str(log))),
    )


def steps(lines: list[str]) -> list[tuple[float, float]]:
    """Return microseconds of the thread and on the clock of the steps that decode all rows."""
    found = [[*map(int, line.split())] for line in lines]
    return [(own / 1e3, wall / 1e3) for rows, ids, own, wall in found if rows == ids == _IN_FLIGHT]


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.step_thread", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--step-ms", type=float, help="length of a step to compare with")
    options = parser.parse_args()
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        path = throughput.model(folder)
        logs = {
            each.name: folder / f"{at}.steps" for at, each in enumerate((FREE, STRICT, ENFORCED))
        }
        servers = {
            each.name: stack.enter_context(
                Server(path, _setting(each, logs[each.name]), folder / f"{at}.log")
            )
            for at, each in enumerate((FREE, STRICT, ENFORCED))
        }
        for server in servers.values():
            server.wait_until_ready()
            warm = throughput.bodies("auto", 8, seed=0)
            asyncio.run(throughput.send(server.url, warm, 8))
        for at in range(options.rounds):
            for choice in throughput.CHOICES:
                drawn = throughput.bodies(choice, _EACH * _IN_FLIGHT, seed=at + 1)
                for each, server in servers.items():
                    before = len(logs[each].read_text().splitlines())
                    asyncio.run(throughput.send(server.url, drawn, _IN_FLIGHT))
                    own = steps(logs[each].read_text().splitlines()[before:])
                    found.setdefault(choice, {}).setdefault(each, []).extend(own)
    for choice, by_server in found.items():
        print(table(choice, by_server, options.step_ms))


def table(choice: str, found: dict[str, list[tuple[float, float]]], step_ms: float | None) -> str:
    """Return the table of a tool choice."""
    means = {name: statistics.mean(own for own, _ in some) for name, some in found.items()}
    step = statistics.median(wall for _, wall in found[FREE.name]) / 1e3
    lengths = [step, *([step_ms] if step_ms else [])]
    shares = " | ".join(f"beyond vLLM's, of {length:.1f} ms" for length in lengths)
    lines = [
        f"| {_IN_FLIGHT} in flight, `{choice}` | steps | thread, µs p50 | mean | {shares} |",
        "|---|--:|--:|--:|" + "--:|" * len(lengths),
    ]
    for name, some in found.items():
        beyond = [(means[name] - means[FREE.name]) / (1e3 * length) for length in lengths]
        cells = " | ".join(f"{share:.1%}" for share in beyond)
        middle = statistics.median(own for own, _ in some)
        lines.append(f"| {name} | {len(some)} | {middle:.0f} | {means[name]:.0f} | {cells} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
