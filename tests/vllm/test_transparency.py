"""Promise 2 in real vLLM: where the model was right by itself, nothing changes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bench.demo.servers import Server
from bench.demo.tiny_model.requests import generate
from enforcer import Enforcer
from enforcer.judging.judge import judge
from enforcer.judging.replies import ChatCall, ChatReply
from tests.vllm_servers import TINY, greedy, reader

pytestmark = pytest.mark.vllm


def test_a_valid_greedy_turn_has_equal_tokens(free_server: Server, tiny_server: Server) -> None:
    bodies = [request.body | {"stream": False} for request in generate(150, seed=7)]
    # Stock vLLM constrains some requests by itself (a demanded call, a strict tool, one call
    # only). With "none" it constrains nothing, and the prompt is the same.
    unforced = [body | {"tool_choice": "none"} if "tools" in body else body for body in bodies]
    free, enforced = greedy(free_server, unforced), greedy(tiny_server, bodies)
    turns = reader(TINY)
    right = [at for at, body in enumerate(bodies) if _is_right(turns, body, free[at])]
    assert len(right) > 40
    assert sum(bool(enforced[at].calls) for at in right) > 10
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


def _is_right(turns: Enforcer, body: dict[str, Any], reply: ChatReply) -> bool:
    """Judge what the model generated; stock vLLM's parser leaves out what it does not like."""
    turn = turns.parse(reply.token_ids)
    if not turn.ended or turn.stray is not None:
        return False
    said = replace(
        reply,
        finish_reason="tool_calls" if turn.calls else "stop",
        content=turn.content,
        calls=tuple(ChatCall(call.id, call.name, call.arguments) for call in turn.calls),
    )
    return not judge(body, said).findings and not _has_undeclared(body, said)


def _has_undeclared(body: dict[str, Any], reply: ChatReply) -> bool:
    """Return whether a call has properties that a server's reading of its tool closes out."""
    declared = {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())
    }
    silent = {name: x for name, x in declared.items() if "additionalProperties" not in x}
    return any(
        not set(json.loads(call.arguments)) <= set(silent[call.name]["properties"])
        for call in reply.calls
        if call.name in silent and "properties" in silent[call.name]
    )


def _has_foreign_ids(body: dict[str, Any]) -> bool:
    calls = [call for message in body["messages"] for call in message.get("tool_calls") or ()]
    return any(
        call["id"] != f"functions.{call['function']['name']}:{index}"
        for index, call in enumerate(calls)
    )
