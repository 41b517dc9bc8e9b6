"""What `bench.tool_loops` finds wrong with a loop, of exchanges that a library might have had."""

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("httpx")

from bench.agents.relay import Exchange
from bench.tool_loops.judged import findings
from bench.tool_loops.programs import WAYS

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["c", "f"], "default": "c"}},
    "required": ["city"],
}
FUNCTION = {"name": "get_weather", "parameters": PARAMETERS}
CALL = ("functions.get_weather:0", "get_weather", '{"city": "Oslo"}')
RAN = {"name": "get_weather", "arguments": {"city": "Oslo", "unit": "c"}, "result": "sunny"}
TOLD = {"ran": [RAN], "said": ["Sunny."], "pieces": 9}


def _chat(messages: list[Any], answer: dict[str, Any], stream: bool) -> Exchange:
    tools = [{"type": "function", "function": FUNCTION}]
    body = {"messages": messages, "tools": tools, "stream": stream}
    reason = "tool_calls" if "tool_calls" in answer else "stop"
    if not stream:
        text = json.dumps({"choices": [{"message": answer, "finish_reason": reason}]})
        return Exchange(CHAT, body, 200, text)
    if "tool_calls" in answer:
        calls = [{"index": n, **call} for n, call in enumerate(answer["tool_calls"])]
        answer = answer | {"tool_calls": calls}
    event = {"choices": [{"index": 0, "delta": answer, "finish_reason": reason}]}
    return Exchange(CHAT, body, 200, f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n")


def _by_chat(call: tuple[str, str, str], result: str, stream: bool) -> list[Exchange]:
    user = {"role": "user", "content": "Weather?"}
    function = {"name": call[1], "arguments": call[2]}
    called: dict[str, Any] = {"role": "assistant", "content": None}
    called |= {"tool_calls": [{"id": call[0], "type": "function", "function": function}]}
    back = {"role": "tool", "tool_call_id": call[0], "content": result}
    said = {"role": "assistant", "content": "Sunny."}
    return [_chat([user], called, stream), _chat([user, called, back], said, stream)]


def _response(given: list[Any], item: dict[str, Any], stream: bool) -> Exchange:
    body = {"input": given, "tools": [{"type": "function", **FUNCTION}], "stream": stream}
    response = {"status": "completed", "output": [item]}
    if not stream:
        return Exchange(RESPONSES, body, 200, json.dumps(response))
    event = {"type": "response.completed", "response": response}
    return Exchange(RESPONSES, body, 200, f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")


def _by_responses(call: tuple[str, str, str], result: str, stream: bool) -> list[Exchange]:
    user = {"role": "user", "content": "Weather?"}
    called = {"type": "function_call", "call_id": call[0], "name": call[1], "arguments": call[2]}
    back = {"type": "function_call_output", "call_id": call[0], "output": result}
    parts = [{"type": "output_text", "text": "Sunny."}]
    said = {"type": "message", "role": "assistant", "content": parts}
    return [_response([user], called, stream), _response([user, called, back], said, stream)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("by", [_by_chat, _by_responses])
def test_a_loop_that_is_right(by: Any, stream: bool) -> None:
    assert not list(findings(by(CALL, "sunny", stream), TOLD, streamed=stream))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("by", [_by_chat, _by_responses])
@pytest.mark.parametrize(
    ("call", "result", "told", "found"),
    [
        ((CALL[0], CALL[1], "{}"), "sunny", {}, "'city' is a required property"),
        ((CALL[0], "img_gen", CALL[2]), "sunny", {}, "img_gen"),
        (("call_1", *CALL[1:]), "sunny", {}, "call_1"),
        (CALL, "rainy", {}, "did not come back"),
        (CALL, "sunny", {"ran": []}, "functions that ran"),
        (CALL, "sunny", {"ran": [RAN, RAN]}, "functions that ran"),
        (CALL, "sunny", {"ran": [RAN | {"arguments": {"city": "Rome"}}]}, "functions that ran"),
        (CALL, "sunny", {"said": [""]}, "without an answer"),
    ],
)
def test_what_is_wrong_is_told(  # noqa: PLR0917
    by: Any, stream: bool, call: Any, result: str, told: dict[str, Any], found: str
) -> None:
    assert found in "\n".join(findings(by(call, result, stream), TOLD | told, streamed=stream))


def test_a_request_without_an_answer_and_a_stream_that_is_none() -> None:
    first, last = _by_chat(CALL, "sunny", False)
    assert any(
        "503" in each for each in findings([replace(first, status=503), last], TOLD, streamed=False)
    )
    assert any("streamed is False" in each for each in findings([first, last], TOLD, streamed=True))
    streams = _by_chat(CALL, "sunny", True)
    assert any(
        "2 pieces" in each for each in findings(streams, TOLD | {"pieces": 2}, streamed=True)
    )


def test_each_way_says_whether_it_streams() -> None:
    assert all(way.endswith((", whole", ", streamed")) for ways in WAYS.values() for way in ways)
