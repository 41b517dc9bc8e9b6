"""Tests of the official SDKs against a server: whole tool loops, and shortened calls."""

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import jsonschema
import openai
import pytest

from bench.demo.servers import MODEL_NAME, Server
from bench.demo.tiny_model.requests import generate
from bench.demo.tiny_model.scenes import Kind
from tests.vllm_servers import sample

pytestmark = pytest.mark.vllm

FINISH = {"vllm_xargs": {"enforcer": "finish"}, "temperature": 0}
FEW = 30  # tokens; the call that the model would make takes 38


def _request() -> tuple[Any, Any, dict[str, Any]]:
    request = next(iter(generate(1, seed=5, mix={Kind.SINGLE_CALL: 1})))
    schemas = {tool["function"]["name"]: tool["function"] for tool in request.body["tools"]}
    return request.body["messages"], request.body["tools"], schemas


def _shortened(server: Server) -> float:
    return sample(server.url, "enforcer_turns_shortened_total")


def _check_calls(calls: list[tuple[str, str]], schemas: Mapping[str, Any]) -> None:
    assert calls
    for name, arguments in calls:
        jsonschema.validate(json.loads(arguments), schemas[name].get("parameters", {}))


def _anthropic_tools(schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": f["name"], "input_schema": f.get("parameters") or {"type": "object"}}
        for f in schemas.values()
    ]


def _openai(server: Server) -> Any:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)


def _anthropic_answer(server: Server, sent: dict[str, Any], *, stream: bool) -> Any:
    messages = anthropic.Anthropic(base_url=server.url, api_key="-", max_retries=0).messages
    if not stream:
        return messages.create(**sent)
    with messages.stream(**sent) as events:
        return events.get_final_message()


@pytest.mark.parametrize("stream", [False, True])
def test_openai(tiny_server: Server, stream: bool) -> None:
    messages, tools, schemas = _request()
    create = _openai(tiny_server).chat.completions
    sent: Any = {"model": MODEL_NAME, "tools": tools, "temperature": 0, "max_tokens": 200}
    first = {"messages": messages, "tool_choice": "required", **sent}
    if stream:
        with create.stream(**first) as events:
            choice = events.get_final_completion().choices[0]
    else:
        choice = create.create(**first).choices[0]
    assert choice.finish_reason == "tool_calls"
    earlier = sum(len(message.get("tool_calls") or ()) for message in messages)
    made = choice.message.tool_calls
    for at, call in enumerate(made):
        assert call.id == f"functions.{call.function.name}:{earlier + at}"
    _check_calls([(call.function.name, call.function.arguments) for call in made], schemas)
    kept = {"role", "content", "tool_calls"}
    follow_up = [
        *messages,
        choice.message.model_dump(exclude_none=True, include=kept),
        *({"role": "tool", "tool_call_id": call.id, "content": "done"} for call in made),
    ]
    last = create.create(messages=follow_up, tool_choice="none", **sent)
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].message.content
    assert not last.choices[0].message.tool_calls


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic(tiny_server: Server, stream: bool) -> None:
    messages, _, schemas = _request()
    messages = [
        {"role": m["role"], "content": m["content"]}
        for m in messages
        if m["content"] and m["role"] in ("user", "assistant")
    ]
    tools = _anthropic_tools(schemas)
    sent: Any = {"model": MODEL_NAME, "max_tokens": 200, "tools": tools}
    sent["extra_body"] = {"temperature": 0}
    demanded = {"messages": messages, "tool_choice": {"type": "any"}, **sent}
    answer = _anthropic_answer(tiny_server, demanded, stream=stream)
    assert answer.stop_reason == "tool_use"
    calls = [block for block in answer.content if block.type == "tool_use"]
    _check_calls([(call.name, json.dumps(call.input)) for call in calls], schemas)
    kept = {"type", "text", "id", "name", "input"}
    said = [block.model_dump(include=kept, exclude_none=True) for block in answer.content]
    results = [{"type": "tool_result", "tool_use_id": x.id, "content": "done"} for x in calls]
    turns = [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
    free = {"messages": [*messages, *turns], "tool_choice": {"type": "none"}, **sent}
    last = _anthropic_answer(tiny_server, free, stream=False)
    assert last.stop_reason == "end_turn"
    assert not [block for block in last.content if block.type == "tool_use"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize(("most", "is_shortened"), [(FEW, True), (200, False)])
def test_openai_shows_whether_a_call_was_shortened(
    tiny_server: Server, stream: bool, choice: Any, most: int, is_shortened: bool
) -> None:
    messages, tools, schemas = _request()
    client = _openai(tiny_server)
    sent: dict[str, Any] = {"messages": messages, "tools": tools, "tool_choice": choice}
    sent |= {"model": MODEL_NAME, "max_tokens": most, "extra_body": FINISH}
    if stream:
        with client.chat.completions.stream(**sent) as events:
            # The SDK leaves fields that it does not know out of the final completion.
            chunks = [event.chunk for event in events if event.type == "chunk"]
            reply = events.get_final_completion().choices[0]
        (last,) = (each for chunk in chunks for each in chunk.choices if each.finish_reason)
        shown = last.model_extra
    else:
        reply = client.chat.completions.create(**sent).choices[0]
        shown = reply.model_extra
    # A whole turn may have the token id there that ended it.
    assert (shown["stop_reason"] == "finish_within_budget") is is_shortened
    assert reply.finish_reason == "tool_calls"
    made = [(each.function.name, each.function.arguments) for each in reply.message.tool_calls]
    _check_calls(made, schemas)


@pytest.mark.parametrize("stream", [False, True])
def test_openai_responses_take_a_shortened_call(tiny_server: Server, stream: bool) -> None:
    messages, _, schemas = _request()
    client = _openai(tiny_server)
    tools = [{"type": "function", **function} for function in schemas.values()]
    sent: dict[str, Any] = {"input": messages, "tools": tools, "tool_choice": "required"}
    sent |= {"model": MODEL_NAME, "max_output_tokens": FEW, "extra_body": FINISH}
    before = _shortened(tiny_server)
    if stream:
        with client.responses.stream(**sent) as events:
            events.until_done()
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**sent)
    assert _shortened(tiny_server) == before + 1
    assert answer.status == "completed"  # nothing shows that it was shortened
    calls = [item for item in answer.output if item.type == "function_call"]
    _check_calls([(call.name, call.arguments) for call in calls], schemas)


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_takes_a_shortened_call(tiny_server: Server, stream: bool) -> None:
    messages, _, schemas = _request()
    tools = _anthropic_tools(schemas)
    sent = {"messages": messages, "tools": tools, "tool_choice": {"type": "any"}}
    sent |= {"model": MODEL_NAME, "max_tokens": FEW, "extra_body": FINISH}
    before = _shortened(tiny_server)
    answer = _anthropic_answer(tiny_server, sent, stream=stream)
    assert _shortened(tiny_server) == before + 1
    assert answer.stop_reason == "tool_use"  # nothing shows that it was shortened
    assert answer.stop_sequence is None
    calls = [block for block in answer.content if block.type == "tool_use"]
    _check_calls([(call.name, json.dumps(call.input)) for call in calls], schemas)
