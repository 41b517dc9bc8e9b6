"""One trial, inside its network namespace: start every node, send the matrix, write a report."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from transformers import AutoTokenizer

import enforcer
from bench.demo.servers import MODEL_NAME, Server, ServerFailedError
from bench.matrix import cells
from bench.matrix.routes import Client, Route
from bench.scale import ray_head
from bench.scale.ways import PORT, WAYS, Way, is_headless
from enforcer.tools.doctor import CheckStatus
from enforcer.tools.doctor import server as doctor
from enforcer.tools.verify.client import Endpoint

if TYPE_CHECKING:
    from enforcer.judging.replies import ChatReply

_TINY = Path(__file__).resolve().parents[1] / "models" / "tiny-kimi"
_SMALL_CACHE = ("--kv-cache-memory-bytes", str(256 << 20))
_LOOKS = 4  # at `/metrics`, which any of several API servers may answer


class Split:
    """Sends each request to one server for its prompt, and to another for its reply."""

    def __init__(self, first: Client, second: Client) -> None:
        self._first, self._second = first, second

    async def send_all(
        self, jobs: list[tuple[Route, dict[str, Any]]], concurrency: int
    ) -> list[ChatReply]:
        """Send as `Client.send_all` does; the replies are the second server's."""
        longer = [(route, _longer(body)) for route, body in jobs]
        prompts = [(route, body | {"max_tokens": 1, "stream": False}) for route, body in longer]
        await self._first.send_all(prompts, concurrency)
        return await self._second.send_all(longer, concurrency)


def _longer(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request with several blocks (of 128 ids, on a CPU) of prompt to hand on."""
    first, *others = body["messages"]
    return body | {"messages": [{**first, "content": first["content"] * 30}, *others]}


def main() -> None:
    """Run the trial of the command line: the way, the folder of logs, the report, a stock node."""
    name, folder, report = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    stock = int(sys.argv[4]) if len(sys.argv) > 4 else None
    begun = time.monotonic()
    found: dict[str, Any] = {"way": name, "failed": "", "findings": [], "bad": [], "cells": []}
    with tempfile.TemporaryDirectory() as made:
        tempfile.tempdir = os.environ["TMPDIR"] = made
        try:
            found |= _tried(WAYS[name], folder, Path(made), stock)
        except (ServerFailedError, httpx.TransportError) as error:
            found["failed"] = str(error)
        found["left"] = [str(each) for each in Path(made).glob("enforcer-metrics-*")]
    found["seconds"] = round(time.monotonic() - begun)
    report.write_text(json.dumps(found), encoding="utf-8")


def _tried(way: Way, folder: Path, made: Path, stock: int | None) -> dict[str, Any]:
    """Start the nodes of a way and send it the matrix.

    Raises:
        ServerFailedError: a node did not start, or has ended.

    """
    with ExitStack() as running:
        if way.needs_ray:
            running.enter_context(ray_head.running(folder, made))
        servers: list[Server] = []
        for at, setting in enumerate(way.settings(made, stock)):
            log = folder / f"{way.name}-{at}.log"
            command = ("vllm.entrypoints.cli.main", "serve", str(_TINY))
            small = replace(setting, flags=(*_SMALL_CACHE, *setting.flags))
            servers.append(running.enter_context(Server(_TINY, small, log, command)))
        heads = [s for s, flags in zip(servers, way.nodes, strict=True) if not is_headless(flags)]
        for server in heads:
            server.wait_until_ready()
        ready = time.monotonic()
        results = asyncio.run(_matrix([server.url for server in heads], way))
        sent = time.monotonic() - ready
        last = heads[-1]
        for server in servers:
            server.check_alive()
        metrics = [httpx.get(f"{last.url}/metrics/").text for _ in range(_LOOKS)]
        shown = len(heads) < len(servers) and stock is None
        node = httpx.get(f"http://127.0.0.1:{PORT}/metrics").text if shown else ""
        checks = list(doctor.checks(Endpoint.at(last.url), model=MODEL_NAME, require_all=True))
        return {
            "seconds_sending": round(sent),
            "cells": [
                {
                    "route": result.cell.route.name,
                    "mode": result.cell.mode,
                    "stream": result.cell.stream,
                    "calls": result.calls,
                    "cut_off": result.cut_off,
                }
                for result in results
            ],
            "findings": [
                f"{result.cell}: {finding.fault.name}: {finding.message}"
                for result in results
                for finding in result.findings
            ],
            "checks": {check.name: check.found for check in checks},
            "bad": [check.name for check in checks if check.status is CheckStatus.BAD],
            "metrics": metrics,
            "node_metrics": node,
        }


async def _matrix(urls: list[str], way: Way) -> list[cells.Result]:
    tokenizer = AutoTokenizer.from_pretrained(_TINY)
    reader = enforcer.Enforcer(enforcer.Vocabulary.from_transformers(tokenizer))
    clients = [Client(url, MODEL_NAME, reader) for url in urls]
    client: Any = Split(clients[0], clients[1]) if way.is_split else clients[-1]
    results = await cells.run(client, repeats=1, max_tokens=100, temperature=1.0, concurrency=16)
    for each in clients:
        await each.close()
    return results


if __name__ == "__main__":
    main()
