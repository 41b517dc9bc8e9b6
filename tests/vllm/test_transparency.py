"""Promise 2 in real vLLM: where the model was right by itself, nothing changes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bench.demo.servers import MODEL_NAME
from bench.tiny_model.requests import generate
from enforcer.verify.measure import judge
from enforcer.verify.replies import whole

pytestmark = pytest.mark.vllm


def _send(url, bodies):
    def one(body):
        sent = body | {"model": MODEL_NAME, "temperature": 0, "max_tokens": 160, "stream": False}
        sent["return_token_ids"] = True
        return whole(httpx.post(f"{url}/v1/chat/completions", json=sent, timeout=600).json())

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(one, bodies))


def test_a_valid_greedy_turn_is_the_same_token_for_token(free_server, tiny_server):
    bodies = [request.body | {"stream": False} for request in generate(150, seed=7)]
    free, enforced = _send(free_server.url, bodies), _send(tiny_server.url, bodies)
    judged = [judge(body, reply) for body, reply in zip(bodies, free, strict=True)]
    right = [at for at, verdict in enumerate(judged) if verdict.complete and not verdict.findings]
    assert len(right) > 40
    assert any(free[at].calls for at in right)
    changed = [
        json.dumps(bodies[at])[:2000]
        for at in right
        # A foreign id in the history is renamed before the prompt is rendered, so that the
        # model reads something else there.
        if not _has_foreign_ids(bodies[at]) and free[at].token_ids != enforced[at].token_ids
    ]
    assert not changed
    # And it is needed: the model is often wrong by itself, and never when enforced.
    assert len(right) < len(bodies) * 0.8
    assert not [
        finding
        for body, reply in zip(bodies, enforced, strict=True)
        for finding in judge(body, reply).findings
    ]


def _has_foreign_ids(body):
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return any(
        call["id"] != f"functions.{call['function']['name']}:{index}"
        for index, call in enumerate(calls)
    )
