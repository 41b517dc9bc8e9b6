"""Runs the demo: `python -m bench.demo`.

Owns: the order of things, what is printed, and the exit status: 0 if the
Enforcer's row is perfect, 1 if it is not or a server failed, 130 after Ctrl-C.
Must not know: how any of the steps is done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.demo import servers, table, transparency, workload
from bench.demo.servers import ENFORCED, FREE, STRICT
from enforcer.judging.judge import ReplyVerdict, judge
from enforcer.tools.verify import client, report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from enforcer.judging.replies import ChatReply

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "bench" / "models" / "tiny-kimi"
SETTINGS = (FREE, STRICT, ENFORCED)
IN_FLIGHT = 32
_SILENCE = 3600  # seconds: on a machine with other work a long reply took more than 300
WIDTH = 120  # what the table needs; a narrower terminal folds it, but nothing is left out


def main() -> int:
    """Run the demo and return the exit status."""
    arguments = _arguments()
    return until_interrupted(lambda: _run(arguments))


def until_interrupted(run: Callable[[], int]) -> int:
    """Return the exit status of `run`: 1 if a server fails, 130 after Ctrl-C or SIGTERM."""
    # A plain `kill` ends the servers too, as Ctrl-C does; so does Ctrl-C where a shell that
    # runs this in the background has it ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return run()
    except servers.ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the servers have been ended")
        return 130


def _run(arguments: argparse.Namespace) -> int:
    bodies = workload.bodies(arguments.requests)
    replies: dict[servers.Setting, list[ChatReply]] = {}
    try:
        serve_all(arguments.model, SETTINGS, bodies, replies)
    except KeyboardInterrupt:
        if replies:  # of the servers that have answered everything
            _show(_judged(bodies, replies))
        raise
    return _report(arguments.model, bodies, replies)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.demo", description=__doc__)
    parser.add_argument("--requests", type=int, default=260, help="how many to send (%(default)s)")
    parser.add_argument("--model", type=Path, default=MODEL, help="folder of the model to serve")
    return parser.parse_args()


def serve_all(
    model: Path,
    settings: Sequence[servers.Setting],
    bodies: Sequence[Mapping[str, Any]],
    replies: dict[servers.Setting, list[ChatReply]],
    *,
    in_flight: int = IN_FLIGHT,
) -> None:
    """Send all the bodies to one server after the other, and put in what each has replied."""
    logs = ROOT / ".demo" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    logs.mkdir(parents=True)
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn())
    begun = time.monotonic()

    def tell(setting: servers.Setting, what: str) -> None:
        # A bar is drawn on a terminal alone: elsewhere a log would be silent for minutes.
        if not progress.console.is_terminal:
            print(f"{time.monotonic() - begun:4.0f} s  {setting.name}: {what}", flush=True)

    with Progress(*columns, TextColumn("{task.fields[state]:9}"), TimeElapsedColumn()) as progress:
        for number, setting in enumerate(settings):
            task = progress.add_task(setting.name, total=len(bodies), state="starting")
            tell(setting, "the server is started, which takes a minute or so")
            with servers.Server(model, setting, logs / f"server-{number}.log") as server:
                server.wait_until_ready()
                progress.update(task, state="answering")
                tell(setting, f"it is ready, and is sent {len(bodies)} requests")
                replies[setting] = asyncio.run(
                    client.send_all(
                        client.Endpoint.at(server.url, concurrency=in_flight, timeout=_SILENCE),
                        bodies,
                        lambda _at, _reply: progress.advance(task),  # noqa: B023
                    )
                )
                server.check_alive()
            progress.update(task, state="done")
            tell(setting, "all its requests are answered")


def _judged(
    bodies: Sequence[Mapping[str, Any]], replies: Mapping[servers.Setting, Sequence[ChatReply]]
) -> dict[servers.Setting, list[ReplyVerdict]]:
    return {
        setting: [judge(*pair) for pair in zip(bodies, got, strict=True)]
        for setting, got in replies.items()
    }


def _show(verdicts: Mapping[servers.Setting, Sequence[ReplyVerdict]]) -> Console:
    """Print a row for each server, and how it was started."""
    rows = {setting.name: report.count(judged) for setting, judged in verdicts.items()}
    console = Console(width=max(Console().width, WIDTH), highlight=False)
    console.print(table.render(rows))
    for setting in verdicts:
        console.print(f"{setting.name + ':':14}{' '.join(setting.flags)}")
    return console


def _report(
    model: Path,
    bodies: Sequence[Mapping[str, Any]],
    replies: Mapping[servers.Setting, Sequence[ChatReply]],
) -> int:
    verdicts = _judged(bodies, replies)
    console = _show(verdicts)
    markers = transparency.Markers.of_model(model)
    strict, enforced = (
        transparency.compare(bodies, replies[FREE], replies[other], markers)
        for other in (STRICT, ENFORCED)
    )
    console.print(
        f"identical: {enforced.identical} of {enforced.valid} valid turns "
        f"({STRICT.name}: {strict.identical} of {strict.valid})"
    )
    for body, reply, verdict in zip(bodies, replies[ENFORCED], verdicts[ENFORCED], strict=True):
        if verdict.findings:
            faults = "; ".join(finding.message for finding in verdict.findings)
            print(f"{faults}: {reply} for {json.dumps(body)}", file=sys.stderr)
    ours = report.count(verdicts[ENFORCED])
    return 0 if ours.with_calls and ours.right == ours.requests else 1


if __name__ == "__main__":
    sys.exit(main())
