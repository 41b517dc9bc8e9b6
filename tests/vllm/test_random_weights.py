"""Random weights are the hardest adversary: whatever the masks leave open is tried.

`LIVE_REQUESTS=2000 .venv/bin/python -m pytest tests/vllm/test_random_weights.py` sends more.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.demo.servers import MODEL_NAME, Server
from bench.matrix import workload
from bench.matrix.routes import Client, Route
from enforcer.judging.judge import judge
from tests.vllm_servers import post, reader

pytestmark = pytest.mark.vllm
REQUESTS = int(os.environ.get("LIVE_REQUESTS", "160"))


def test_concurrent_requests_have_valid_calls(random_server: Server, random_folder: Path) -> None:
    bodies = [body | {"max_tokens": 120} for body in workload.bodies(REQUESTS, seed=1)]
    # Random weights seldom come to an end by themselves, so every other call is brought to one.
    for body in bodies[::2]:
        body["vllm_xargs"] = {"enforcer": "finish"}
    client = Client(random_server.url, MODEL_NAME, reader(random_folder))
    replies = asyncio.run(client.send_all([(Route.CHAT, body) for body in bodies], concurrency=32))
    assert not [pair for pair in zip(bodies, replies, strict=True) if judge(*pair).findings]
    # The test would say nothing if hardly any call were completed.
    whole = [reply for reply in replies if reply.finish_reason != "length" and reply.calls]
    assert len(whole) > REQUESTS // 20


def test_flags_of_the_server_hold_for_texts_that_are_json(random_server: Server) -> None:
    properties = {name: {"enum": [True, None, 8]} for name in ("on", "lvl")}
    schema = {"type": "object", "properties": properties, "required": ["on"]}
    nested = {"type": "array", "items": schema, "minItems": 4, "maxItems": 4}
    in_json = {"type": "json_schema", "json_schema": {"name": "n", "schema": nested}}
    formats: Any = ({"response_format": in_json}, {"structured_outputs": {"json": nested}})
    for seed, wanted in enumerate(formats * 4):
        body = {"messages": [{"role": "user", "content": "Go"}], "temperature": 1.5, "seed": seed}
        own = {"max_tokens": 400, "vllm_xargs": {"enforcer": "open"}}
        answer = post(random_server, {**body, **own, **wanted})
        text = answer.json()["choices"][0]["message"]["content"]
        assert len(found := json.loads(text)) == 4
        assert all(each.keys() <= properties.keys() for each in found)
        assert not set(text) & set(" \t\r\n")
