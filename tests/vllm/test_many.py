"""Hundreds of requests in one engine, so many that vLLM fills masks on threads."""

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.demo.servers import MODEL_NAME
from bench.matrix import workload
from bench.matrix.routes import Client, Route
from enforcer.judging.judge import judge
from tests.vllm_servers import TINY, enforced_with, reader, sample, serving

pytestmark = pytest.mark.vllm

AT_ONCE = 300
MANY = enforced_with("--max-num-seqs", "512")


def test_three_hundred_requests_at_once_are_enforced_and_answered(tmp_path: Path) -> None:
    bodies = [body | {"max_tokens": 100} for body in workload.bodies(AT_ONCE, seed=41)]
    # The developers' routes let the engine stand still until it has them all.
    with serving(TINY, MANY, tmp_path / "server.log", VLLM_SERVER_DEV_MODE="1") as server:
        client = Client(server.url, MODEL_NAME, reader(TINY))
        replies, running = asyncio.run(_send(server.url, client, bodies))
        failed = sample(server.url, "enforcer_turns_failed_total")
    assert [pair for pair in zip(bodies, replies, strict=True) if judge(*pair).findings] == []
    assert sum(bool(reply.calls) for reply in replies) > AT_ONCE // 4
    assert running > 128  # else vLLM fills on one thread
    assert failed == 0


def _wait_until_checked(url: str, count: int) -> None:
    while sample(url, "enforcer_requests_total") < count:
        time.sleep(0.2)


async def _send(url: str, client: Any, bodies: list[dict[str, Any]]) -> tuple[list[Any], float]:
    """Send all at once; gives the replies, and how many ran at once at most."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as engine:
        (await engine.post("/pause", params={"mode": "keep"})).raise_for_status()
        sending = asyncio.create_task(
            client.send_all([(Route.CHAT, body) for body in bodies], concurrency=len(bodies))
        )
        await asyncio.to_thread(_wait_until_checked, url, len(bodies))
        (await engine.post("/resume")).raise_for_status()
    running = 0.0
    while not sending.done():
        running = max(running, await asyncio.to_thread(sample, url, "vllm:num_requests_running"))
        await asyncio.sleep(0.2)
    replies = await sending
    await client.close()
    return replies, running
