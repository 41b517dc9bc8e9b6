"""What is right about a tool loop: from what a relay has seen of it, and what the program says.

Owns: reading requests and answers of Chat Completions and Responses as one form, and what has to
hold of a loop. Must not know: which library asked, how a server is started.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from enforcer.judging.judge import judge
from enforcer.judging.replies import OK, ChatCall, ChatReply, joined, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bench.agents.relay import Exchange

Json = dict[str, Any]


def findings(seen: Sequence[Exchange], told: Mapping[str, Any], *, streamed: bool) -> Iterator[str]:
    """Say what is wrong with loops; nothing, if nothing is.

    Args:
        seen: their requests, in order.
        told: by the program: `ran`, what functions were called with and gave; `said`, the last
            text of each loop; `pieces`, in which streams came.
        streamed: whether every answer should have been.

    """
    called: list[tuple[str, Json]] = []
    for at, one in enumerate(seen):
        body, answer = chat_body(one), reply(one)
        if not one.answered or not answer.answered:
            yield f"request {at}: {one.status}, no answer: {answer.error or one.text[-600:]}"
            continue
        if bool(one.body.get("stream")) is not streamed:
            yield f"request {at}: streamed is {not streamed}"
        yield from (f"request {at}: {found}" for found in judge(body, answer).findings)
        made = [(call, _given(body, call)) for call in answer.calls if _is_run(call, told)]
        called += [(call.name, given) for call, given in made]
        back = _results(seen[at + 1]) if at + 1 < len(seen) else {}
        results = {run["name"]: run["result"] for run in told["ran"]}
        for call, _ in made:
            if back.get(call.id) != results[call.name]:
                yield f"request {at + 1}: the result of {call.id} did not come back"
    ran = [(run["name"], run["arguments"]) for run in told["ran"]]
    if not ran or sorted(map(repr, map(_plain, ran))) != sorted(map(repr, map(_plain, called))):
        yield f"called: {called}; functions that ran: {ran}"
    if not all(told["said"]):
        yield f"a loop ended without an answer: {told['said']}"
    if streamed and told["pieces"] <= len(seen):
        yield f"{told['pieces']} pieces of {len(seen)} streams"


def _is_run(call: ChatCall, told: Mapping[str, Any]) -> bool:
    """Tell a function from a handoff and from a form for the answer, which nobody calls."""
    return call.name in {run["name"] for run in told["ran"]}


def _plain(run: tuple[str, Json]) -> tuple[str, str]:
    return run[0], json.dumps(run[1], sort_keys=True)


def _given(body: Json, call: ChatCall) -> Json:
    """Give what a function gets: the arguments, and the defaults that its schema tells."""
    tool = next(t["function"] for t in body["tools"] if t["function"]["name"] == call.name)
    properties = tool["parameters"]["properties"]
    defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
    given: Json = {**defaults, **json.loads(call.arguments)}
    return given


def chat_body(one: Exchange) -> Json:
    """Give a request as Chat Completions has it."""
    body = dict(one.body)
    if not _is_response(one):
        return body
    flat = [{key: tool[key] for key in tool if key != "type"} for tool in body.get("tools") or ()]
    body["tools"] = [{"type": "function", "function": tool} for tool in flat]
    if isinstance(choice := body.get("tool_choice"), dict):
        body["tool_choice"] = {"type": "function", "function": {"name": choice["name"]}}
    body["messages"] = [_message(item) for item in _items(one)]
    return body


def _is_response(one: Exchange) -> bool:
    return one.path.endswith("/responses")


def _items(one: Exchange) -> list[Json]:
    given = one.body["input"]
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _message(item: Json) -> Json:
    if item.get("type") == "function_call":
        function = {"name": item["name"], "arguments": item["arguments"]}
        called = {"id": item["call_id"], "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [called]}
    if item.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
    return {"role": item["role"], "content": item["content"]}


def _results(one: Exchange) -> dict[str, str]:
    """Give the results in a request, by the ids of the calls."""
    messages = chat_body(one)["messages"]
    return {
        message["tool_call_id"]: message["content"]
        for message in messages
        if message["role"] == "tool"
    }


def reply(one: Exchange) -> ChatReply:
    """Read an answer, streamed or not."""
    if one.status != OK:
        return ChatReply(one.status, "no answer")
    if not one.body.get("stream"):
        answer = json.loads(one.text)
        return _from_response(answer) if _is_response(one) else whole(answer)
    events = [json.loads(line[6:]) for line in one.text.splitlines() if line.startswith("data: {")]
    if _is_response(one):
        ended = [e["response"] for e in events if e["type"] == "response.completed"]
        return _from_response(ended[0]) if ended else ChatReply(OK, "the stream has no end")
    return joined(events)


def _from_response(response: Json) -> ChatReply:
    if response.get("status") != "completed":
        return ChatReply(OK, f"a response that is {response.get('status')}")
    items = response["output"]
    calls = tuple(
        ChatCall(item["call_id"], item["name"], item["arguments"])
        for item in items
        if item["type"] == "function_call"
    )
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    text = "".join(part["text"] for part in parts)
    return ChatReply(OK, "", "tool_calls" if calls else "stop", text, calls)
