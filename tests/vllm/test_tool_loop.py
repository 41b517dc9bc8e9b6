"""The official clients go through a whole loop: ask, call, result, answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anthropic
import jsonschema
import openai
import pytest

from bench.demo.servers import MODEL_NAME
from bench.demo.tiny_model.requests import generate
from bench.demo.tiny_model.scenes import Kind

if TYPE_CHECKING:
    from bench.demo.servers import Server


pytestmark = pytest.mark.vllm


def _request() -> tuple[Any, Any, dict[str, Any]]:
    request = next(iter(generate(1, seed=5, mix={Kind.SINGLE_CALL: 1})))
    schemas = {tool["function"]["name"]: tool["function"] for tool in request.body["tools"]}
    return request.body["messages"], request.body["tools"], schemas


@pytest.mark.parametrize("stream", [False, True])
def test_openai(tiny_server: Server, stream: bool) -> None:
    messages, tools, schemas = _request()
    client = openai.OpenAI(base_url=f"{tiny_server.url}/v1", api_key="-", max_retries=0)
    sent = {"model": MODEL_NAME, "tools": tools, "temperature": 0, "max_tokens": 200}
    if stream:
        with client.chat.completions.stream(
            messages=messages, tool_choice="required", **sent
        ) as events:
            choice = events.get_final_completion().choices[0]
    else:
        answer = client.chat.completions.create(messages=messages, tool_choice="required", **sent)
        choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    earlier = sum(len(message.get("tool_calls") or ()) for message in messages)
    for at, call in enumerate(choice.message.tool_calls):
        assert call.id == f"functions.{call.function.name}:{earlier + at}"
        parameters = schemas[call.function.name].get("parameters", {})
        jsonschema.validate(json.loads(call.function.arguments), parameters)
    follow_up = [
        *messages,
        choice.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}),
        *(
            {"role": "tool", "tool_call_id": call.id, "content": "done"}
            for call in choice.message.tool_calls
        ),
    ]
    last = client.chat.completions.create(messages=follow_up, tool_choice="none", **sent)
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].message.content
    assert not last.choices[0].message.tool_calls


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic(tiny_server: Server, stream: bool) -> None:
    messages, _, schemas = _request()
    messages = [{"role": m["role"], "content": m["content"]} for m in messages if m["content"]]
    messages = [message for message in messages if message["role"] in ("user", "assistant")]
    client = anthropic.Anthropic(base_url=tiny_server.url, api_key="-", max_retries=0)
    sent: dict[str, Any] = {
        "model": MODEL_NAME,
        "max_tokens": 200,
        "extra_body": {"temperature": 0},
        "tools": [
            {"name": f["name"], "input_schema": f.get("parameters") or {"type": "object"}}
            for f in schemas.values()
        ],
    }
    choice: Any = {"type": "any"}
    if stream:
        with client.messages.stream(messages=messages, tool_choice=choice, **sent) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(messages=messages, tool_choice=choice, **sent)
    assert answer.stop_reason == "tool_use"
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert calls
    for call in calls:
        jsonschema.validate(call.input, schemas[call.name].get("parameters", {}))
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "done"} for call in calls
    ]
    said: list[Any] = [
        block.model_dump(include={"type", "text", "id", "name", "input"}, exclude_none=True)
        for block in answer.content
    ]
    dialog: list[Any] = [
        *messages,
        {"role": "assistant", "content": said},
        {"role": "user", "content": results},
    ]
    last = client.messages.create(
        messages=dialog,
        tool_choice={"type": "none"},
        **sent,
    )
    assert last.stop_reason == "end_turn"
    assert not [block for block in last.content if block.type == "tool_use"]
