"""Requests that bring a spec to a server with the plugin and a parser of vLLM's own.

They are prepared and read as on a server that enforces all; the others are vLLM's affair.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vllm

import enforcer
from bench.demo.servers import ENFORCED, FREE, Server
from bench.matrix import modes
from enforcer import Route
from enforcer.judging.replies import whole
from enforcer.tools.doctor import CheckStatus
from enforcer.tools.doctor import server as doctor
from enforcer.tools.verify.client import Endpoint
from tests.vllm_servers import TINY, post, refused, sample, serving

pytestmark = pytest.mark.vllm

TOOLS = modes.MODES["auto"]["tools"]
ASK = [{"role": "user", "content": "How far is it to Paris?"}]
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
COHERE = "/cohere/v2/chat"
ROUTES = (CHAT, RESPONSES, MESSAGES)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "beside.log"


@pytest.fixture(scope="module")
def server(log: Path) -> Iterator[Server]:
    # The first request of a test must find everything in place, whatever it asks for.
    own = {"ENFORCER_PREAMBLE_IDS": "0", "ENFORCER_FINISH_WITHIN_BUDGET": "on"}
    own |= {"VLLM_ENABLE_COHERE_API": "1"}
    with serving(TINY, replace(ENFORCED, flags=FREE.flags), log, **own) as started:
        yield started


def test_the_doctor_finds_such_a_server_well_but_on_request(server: Server) -> None:
    checks = list(doctor.checks(Endpoint.at(server.url)))
    assert [check.found for check in checks if check.status is CheckStatus.BAD] == []
    assert any("only those that ask for it" in check.found for check in checks)


def body_of(path: str, tools: list[dict[str, Any]], choice: str, **more: Any) -> dict[str, Any]:
    """Write a request in the form of its route; `choice` demands a call, or does not."""
    plain = [tool["function"] for tool in tools]
    if path == MESSAGES:
        flat = [{"name": x["name"], "input_schema": x["parameters"]} for x in plain]
        mode = {"auto": "auto", "required": "any", "none": "none"}[choice]
        return {"messages": ASK, "tools": flat, "tool_choice": {"type": mode}, **more}
    if path == RESPONSES:
        flat = [{"type": "function", **x} for x in plain]
        sent = {"input": ASK, "tools": flat, "tool_choice": choice, "max_output_tokens": 160}
        return {**sent, **more}
    if path == COHERE:
        named = {} if choice == "auto" else {"tool_choice": choice.upper()}
        return {"messages": ASK, "tools": tools, **named, **more}
    return {"messages": ASK, "tools": tools, "tool_choice": choice, **more}


def arguments_of(path: str, answer: Any) -> list[Any]:
    """Give the arguments of each call of a whole reply."""
    if path == MESSAGES:
        return [part["input"] for part in answer["content"] if part["type"] == "tool_use"]
    if path == RESPONSES:
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        return [json.loads(call["arguments"]) for call in calls]
    message = answer["message"] if path == COHERE else answer["choices"][0]["message"]
    return [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]]


def tool(schema: dict[str, Any], name: str = "get") -> dict[str, Any]:
    closed = {"type": "object", "additionalProperties": False, **schema}
    return {"type": "function", "function": {"name": name, "parameters": closed}}


COUNTS = {"properties": {"n": {"$ref": "#/$defs/n"}, "t": {"const": True}}, "required": ["n", "t"]}
REFERS = tool({"$defs": {"n": {"type": "integer", "enum": [3, 4]}}, **COUNTS})


@pytest.mark.parametrize("path", [*ROUTES, COHERE])
def test_arguments_are_what_the_model_wrote(server: Server, path: str) -> None:
    """vLLM's own parsers make strings of what has no `type` beside it."""
    spec = enforcer.extra_body([REFERS], "required", messages=ASK)
    answer = post(server, body_of(path, [REFERS], "required") | spec, path)
    (found,) = arguments_of(path, answer.json())
    assert found["n"] in (3, 4)
    assert found["t"] is True


def test_a_logits_processor_spec_is_refused_where_vllm_has_no_xargs(server: Server) -> None:
    spec = enforcer.extra_body([REFERS], "required", messages=ASK, via=Route.LOGITS_PROCESSOR)
    body = body_of(COHERE, [REFERS], "required") | spec
    assert "vllm_xargs" in refused(server, body, COHERE)


def test_a_tool_that_does_not_say_that_it_is_an_object_is_the_same(server: Server) -> None:
    """vLLM says so of the Messages API's tools, and of no others."""
    bare = {"type": "function", "function": {"name": "get", "parameters": {"required": ["n"]}}}
    for path in ROUTES:
        spec = enforcer.extra_body([bare], "auto", messages=ASK)
        assert post(server, body_of(path, [bare], "auto") | spec, path).status_code == 200
        function = {"name": "get", "parameters": {"required": ["m"]}}
        changed = [{"type": "function", "function": function}]
        said = refused(server, body_of(path, changed, "auto") | spec, path)
        assert "another tool 'get'" in said


LOOSE = [tool({"properties": {"n": {"type": "integer"}}})]
STRICT = [tool({"properties": {"n": {"type": "integer", "maximum": 3}}, "required": ["n"]})]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ((LOOSE, "required"), "another tool 'get'"),
        (([tool({}, "other"), *STRICT], "required"), "another tool 'other'"),
        (([], "none"), "another tool 'get'"),
        ((STRICT, "auto"), "another `tool_choice`"),
        ((STRICT, "none"), "another `tool_choice`"),
    ],
)
def test_a_spec_of_another_request_is_refused(
    server: Server, path: str, spec: tuple[list[dict[str, Any]], str], says: str, stream: bool
) -> None:
    own = enforcer.extra_body(spec[0], spec[1], messages=ASK)
    body = body_of(path, STRICT, "required", stream=stream) | own
    assert says in refused(server, body, path)


@pytest.mark.parametrize("path", ROUTES)
def test_errors_lead_into_the_body_that_was_sent(server: Server, path: str) -> None:
    bad = [tool({"properties": {"a": {"type": "string", "pattern": "(a|b)\\1"}}})]
    spec = enforcer.extra_body(bad, "auto", messages=ASK)
    said = refused(server, body_of(path, bad, "auto") | spec, path)
    at = {CHAT: "function.parameters", RESPONSES: "parameters", MESSAGES: "input_schema"}[path]
    assert f"$.tools[0].{at}.properties.a.pattern" in said
    assert "backreferences" in said
    spec = enforcer.extra_body(STRICT, "required", messages=ASK)
    limit = "max_output_tokens" if path == RESPONSES else "max_tokens"
    body = body_of(path, STRICT, "required", **{limit: 5}) | spec
    assert f"`$.{limit}`" in refused(server, body, path)


def test_a_format_stands_beside_a_spec(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    spec = enforcer.extra_body(TOOLS, "none", messages=ASK, response_format=wanted)
    answer = post(server, body_of(CHAT, TOOLS, "none", response_format=wanted) | spec).json()
    assert json.loads(answer["choices"][0]["message"]["content"])["a"] == 1


def test_the_index_goes_on_where_vllms_own_tag_would_take_the_specs_place(server: Server) -> None:
    tools = [{**tool, "function": {**tool["function"], "strict": True}} for tool in TOOLS]
    history = modes.body("auto", "-", stream=False)["messages"]
    for choice in ("auto", "required"):
        body = {"messages": history, "tools": tools, "tool_choice": choice, "temperature": 1}
        extra = enforcer.extra_body(tools, choice, messages=history)
        replies = [whole(post(server, body | extra).json()) for _ in range(10)]
        for reply in replies:
            # The index continues the dialog's counter, which only our matcher knows.
            for at, call in enumerate(reply.calls, 1):
                assert call.id == f"functions.{call.name}:{at}"
        assert choice == "auto" or all(reply.calls for reply in replies)


def test_vllms_own_tag_is_enforced_as_well_or_refused(server: Server, log: Path) -> None:
    demanded = {"messages": ASK, "tools": [*TOOLS, TOOLS[0]], "tool_choice": "required"}
    for stream in (False, True):
        twice = post(server, demanded | {"stream": stream})
        assert "declared twice" in twice.text
        assert stream or twice.status_code == 400
    nothing = {"properties": {"n": {"enum": [1], "not": {"const": 1}}}, "required": ["n"]}
    function = {"name": "a", "parameters": nothing, "strict": True}
    empty = [{"type": "function", "function": function}]  # to vLLM, which has no `not`, it is 1
    # What an engine refuses is a 500 of vLLM 0.32, and a 400 from 0.33 on.
    status = 500 if vllm.__version__.startswith("0.32") else 400
    assert post(server, demanded | {"tools": empty}).status_code == status
    told = log.read_text()
    assert told.count("enforcer: turn failed") == 1
    path = "$.tools[0].function.parameters.properties.n"
    assert 'turn failed reason="refused"' in told
    assert f'error="UnsatisfiableSchema" path="{path}" tool="a"' in told
    assert sample(server.url, "enforcer_turns_failed_total", reason="refused") == 1
    assert sample(server.url, "enforcer_turns_failed_total", reason="start") == 0
