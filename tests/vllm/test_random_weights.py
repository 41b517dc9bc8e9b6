"""Random weights are the hardest adversary: whatever the masks leave open is tried.

`LIVE_REQUESTS=2000 .venv/bin/python -m pytest tests/vllm/test_random_weights.py` sends more.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from bench.demo.servers import MODEL_NAME
from bench.matrix import workload
from bench.matrix.routes import Client, Route
from enforcer.verify.measure import judge
from tests.vllm_servers import reader

if TYPE_CHECKING:
    from pathlib import Path

    from bench.demo.servers import Server


pytestmark = pytest.mark.vllm
REQUESTS = int(os.environ.get("LIVE_REQUESTS", "160"))


def test_concurrent_requests_leave_only_declared_and_valid_calls(
    random_server: Server, random_folder: Path
) -> None:
    bodies = [body | {"max_tokens": 120} for body in workload.bodies(REQUESTS, seed=1)]
    # Random weights seldom come to an end by themselves, so every other call is brought to one.
    for body in bodies[::2]:
        body["vllm_xargs"] = {"enforcer": "finish"}
    client = Client(random_server.url, MODEL_NAME, reader(random_folder))
    replies = asyncio.run(client.send_all([(Route.CHAT, body) for body in bodies], concurrency=32))
    wrong = [
        (body, reply, finding)
        for body, reply in zip(bodies, replies, strict=True)
        for finding in judge(body, reply).findings
    ]
    assert not wrong
    # The test would say nothing if hardly any call were completed.
    assert (
        sum(reply.finish_reason != "length" and bool(reply.calls) for reply in replies)
        > REQUESTS // 20
    )
