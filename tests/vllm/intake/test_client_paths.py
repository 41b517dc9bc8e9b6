"""Errors are told in the paths of the body that the client sent, whatever the route."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.exceptions import VLLMValidationError

from bench.demo.servers import MODEL_NAME
from enforcer.client.body import Route, extra_body
from enforcer.errors import IllegalPrefix, RequestError
from enforcer.vllm.intake import checks, client_paths, dialogs, rejections, requests
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.demo.servers import Server


GOOD = {"type": "object", "properties": {}}
BAD = {"type": "object", "properties": {"n": {"$ref": "https://elsewhere.example/n"}}}
ASK = [{"role": "user", "content": "Hello."}]
CHAT = {"type": "function", "function": {"name": "good", "parameters": GOOD}}
FLAT = {"type": "function", "name": "good", "parameters": GOOD}
SMALL = {"name": "good", "input_schema": GOOD}
CODEX: list[dict[str, Any]] = [
    FLAT,
    {"type": "web_search", "external_web_access": False},
    {
        "type": "namespace",
        "name": "mcp__files",
        "description": "Files.",
        "tools": [
            {"type": "function", "name": "read", "parameters": GOOD},
            {"type": "custom", "name": "patch", "description": "-"},
            {"type": "function", "name": "write", "parameters": BAD},
        ],
    },
]


def _chat(**body: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(messages=body.pop("messages", ASK), **body)


def _responses(**body: Any) -> ResponsesRequest:
    return ResponsesRequest(input="Hello.", **body)


def _messages(**body: Any) -> ChatCompletionRequest:
    sent = AnthropicMessagesRequest(**{"model": "m", "max_tokens": 9, "messages": ASK, **body})
    convert = partial(
        client_paths.to_chat_completion_request,
        AnthropicServingMessages.to_chat_completion_request.__func__,
    )
    return convert(AnthropicServingMessages, sent)


def _refused(request: ChatCompletionRequest | ResponsesRequest) -> str:
    """Give the message with which a request is refused."""
    try:
        checks.run(checks.schemas(requests.write_spec(request).spec()))
    except RequestError as error:
        return str(rejections.rejection(error))
    except (ValueError, VLLMValidationError) as error:  # vLLM's, which the spec's writer raises
        return str(error)
    return ""


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "f", "schema": schema}}


BAD_CHAT = {"type": "function", "function": {"name": "bad", "parameters": BAD}}
BAD_NAME = "a:b"
CASES: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (_chat, {"tools": [CHAT, BAD_CHAT]}, "$.tools[1].function.parameters.properties.n"),
    (_chat, {"tools": [CHAT, CHAT]}, "$.tools[1].function.name"),
    (_chat, {"response_format": _format(BAD)}, "$.response_format.json_schema.schema.properties.n"),
    (_chat, {"structured_outputs": {"json": BAD}}, "$.structured_outputs.json.properties.n"),
    (_chat, {"structured_outputs": {"regex": "("}}, "$.structured_outputs.regex"),
    (_responses, {"tools": [FLAT, FLAT]}, "$.tools[1].name"),
    (
        _responses,
        {"tools": [FLAT, FLAT | {"name": "b", "parameters": BAD}]},
        "$.tools[1].parameters.properties.n",
    ),
    (_responses, {"tools": CODEX}, "$.tools[2].tools[2].parameters.properties.n"),
    (
        _responses,
        {"text": {"format": {"type": "json_schema", "name": "f", "schema": BAD}}},
        "$.text.format.schema.properties.n",
    ),
    (_responses, {"structured_outputs": {"json": BAD}}, "$.structured_outputs.json.properties.n"),
    (
        _responses,
        {
            "tools": [FLAT],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "mcp", "server_label": "x"}, {"type": "function", "name": "c"}],
            },
        },
        "$.tool_choice.tools[1].name",
    ),
    (
        _messages,
        {"tools": [SMALL, {"name": "b", "input_schema": BAD}]},
        "$.tools[1].input_schema.properties.n",
    ),
    (_messages, {"tools": [SMALL, {"name": "a:b", "input_schema": GOOD}]}, "$.tools[1].name"),
    (
        _messages,
        {"tools": [SMALL], "tool_choice": {"type": "tool", "name": "other"}},
        "$.tool_choice.name",
    ),
    (
        _messages,
        {"output_config": {"format": {"type": "json_schema", "schema": BAD}}},
        "$.output_config.format.schema.properties.n",
    ),
]


@pytest.mark.parametrize(
    ("make", "body", "path"), CASES, ids=[f"{c[0].__name__[1:]} {c[2]}" for c in CASES]
)
def test_a_refusal_names_the_path_in_the_clients_body(
    make: Any, body: dict[str, Any], path: str
) -> None:
    assert f"`{path}" in _refused(make(**body))


HUGE = GOOD | {"maxProperties": float("inf")}  # as `1e999` is read


@pytest.mark.parametrize(
    ("make", "body", "path"),
    [
        (
            _chat,
            {"tools": [CHAT, {"type": "function", "function": {"name": "b", "parameters": HUGE}}]},
            "$.tools[1].function.parameters",
        ),
        (
            _responses,
            {"tools": [CODEX[1], FLAT, FLAT | {"name": "b", "parameters": HUGE}]},
            "$.tools[2].parameters",
        ),
        (
            _messages,
            {"tools": [SMALL, {"name": "b", "input_schema": HUGE}]},
            "$.tools[1].input_schema",
        ),
        (_chat, {"response_format": _format(HUGE)}, "$.response_format.json_schema.schema"),
        (_chat, {"structured_outputs": {"json": HUGE}}, "$.structured_outputs.json"),
        (
            _responses,
            {"text": {"format": {"type": "json_schema", "name": "f", "schema": HUGE}}},
            "$.text.format.schema",
        ),
    ],
)
def test_what_is_no_json_is_named_in_the_clients_body(
    make: Any, body: dict[str, Any], path: str
) -> None:
    said = _refused(make(**body))
    assert said.startswith("InvalidTools: it is not JSON: ")
    assert said.endswith(f"(at `{path}`)")


@pytest.mark.parametrize(("make", "path"), [(_chat, "$.messages"), (_responses, "$.input")])
def test_a_prompt_that_the_client_did_not_write_is_its_dialog(make: Any, path: str) -> None:
    requests.write_spec(make(tools=[CHAT if make is _chat else FLAT]))
    error = rejections.rejection(
        IllegalPrefix("$.prompt_token_ids[72]", "the prompt ends in a call")
    )
    assert str(error).endswith(f"(at `{path}`)")


def test_tools_that_a_message_declares_are_named_where_they_stand() -> None:
    dialog = [{"role": "user", "content": "Hi."}, {"role": "system", "tools": [CHAT, BAD_CHAT]}]
    within = dialogs.declared(_chat(), dialog)
    request = _chat(tools=[CHAT | {"function": {"name": "own"}}])
    notes(request).within = within
    dialogs.adopt(request)
    assert "`$.messages[1].tools[1].function.parameters.properties.n" in _refused(request)


def test_a_later_request_of_the_same_task_has_its_own_paths() -> None:
    assert "input_schema" in _refused(_messages(tools=[{"name": "b", "input_schema": BAD}]))
    assert "$.tools[0].function.parameters" in _refused(_chat(tools=[BAD_CHAT]))


def test_tools_that_vllm_does_not_show_the_model_are_not_declared() -> None:
    good = [CODEX[0], CODEX[1], CODEX[2] | {"tools": CODEX[2]["tools"][:2]}]
    request = _responses(tools=[*good, {"type": "custom", "name": "shell"}], tool_choice="auto")
    spec = requests.write_spec(request).spec()
    assert list(spec.toolset.tools) == ["good", "mcp__files__read", "shell"]
    assert {*requests.callable_tools(request)[0]} == {"good", "mcp__files__read", "shell"}
    assert _refused(request) == ""


def test_with_only_such_tools_nothing_can_be_called() -> None:
    request = _responses(tools=[CODEX[1]], tool_choice="auto")
    assert requests.write_spec(request).spec().toolset.allowed == ()


@pytest.mark.vllm
def test_over_http(tiny_server: Server) -> None:
    sent: list[tuple[str, dict[str, Any], str]] = [
        ("chat/completions", {"messages": ASK, "tools": [CHAT, BAD_CHAT]}, CASES[0][2]),
        ("responses", {"input": "Hello.", "tools": CODEX}, CASES[7][2]),
        ("messages", {"messages": ASK, "max_tokens": 9, **CASES[11][1]}, CASES[11][2]),
    ]
    for stream in (False, True):
        for route, body, path in sent:
            whole = {"model": MODEL_NAME, **body, "stream": stream}
            answer = httpx.post(f"{tiny_server.url}/v1/{route}", json=whole, timeout=60)
            assert answer.status_code == 400, answer.text
            assert f"`{path}" in answer.text


@pytest.mark.vllm
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_codex_tools_are_answered_and_namespaces_enforced(
    tiny_server: Server, stream: bool
) -> None:
    tools = [CODEX[1], CODEX[2] | {"tools": CODEX[2]["tools"][:1]}]
    body = {"model": MODEL_NAME, "input": "Read it.", "tools": tools, "stream": stream}
    body |= {"tool_choice": "required", "temperature": 0, "max_output_tokens": 200}
    answer = httpx.post(f"{tiny_server.url}/v1/responses", json=body, timeout=120)
    assert answer.status_code == 200, answer.text
    assert '"namespace":"mcp__files"' in answer.text.replace(" ", "")
    assert '"name":"read"' in answer.text.replace(" ", "")


def test_the_target_for_a_think_is_left_out_where_agents_send_it() -> None:
    request = _messages(max_tokens=4096, thinking={"type": "enabled", "budget_tokens": 1024})
    assert request.thinking_token_budget == 1024
    client_paths.drop_think_budget(request)
    assert request.thinking_token_budget is None
    chat = _chat(thinking_token_budget=5)
    client_paths.drop_think_budget(chat)
    assert chat.thinking_token_budget == 5  # and is refused


def test_a_path_that_leads_into_a_document_begins_in_the_clients_body() -> None:
    request = _responses(tools=[CODEX[1], CODEX[1], CODEX[1], FLAT])
    moved = client_paths.client_path(request, (), "auto")
    for rest in ("", ".items", "[0]", " -> https://schemas.example.com/a.items"):
        assert moved(f"$.tools[0].function.parameters{rest}") == f"$.tools[3].parameters{rest}"
    assert moved("$.tools[0].function.parametersX") == "$.tools[3].parametersX"
    assert moved("$.response_formatX") == "$.response_formatX"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (_chat(max_tokens=5), "max_tokens"),
        (_chat(max_completion_tokens=5), "max_completion_tokens"),
        (_chat(), "max_tokens"),
        (_responses(max_output_tokens=5), "max_output_tokens"),
    ],
)
def test_a_budget_is_named_as_the_body_has_it(request_: Any, field: str) -> None:
    assert client_paths.client_path(request_, (), None)("$.max_tokens") == f"$.{field}"


def test_a_budget_of_messages_is_named_as_the_body_has_it() -> None:
    assert client_paths.client_path(_messages(), (), None)("$.max_tokens") == "$.max_tokens"


def test_a_spec_in_a_body_of_messages_is_not_dropped() -> None:
    """As the plugin lets the body keep it; vLLM's own model of it has no such field."""

    body_type: Any = type("Body", (AnthropicMessagesRequest,), {})
    extra = extra_body([{"type": "function", "function": {"name": "a"}}], "required")
    body = {"model": "m", "max_tokens": 9, "messages": ASK}
    convert = partial(
        client_paths.to_chat_completion_request,
        AnthropicServingMessages.to_chat_completion_request.__func__,
    )
    client_paths.keep_unknown(body_type)
    made = convert(AnthropicServingMessages, body_type(**body, **extra))
    assert made.structured_outputs.structural_tag == extra["structured_outputs"]["structural_tag"]
    others: list[Any] = [{"json": {}}, {"structural_tag": "{}"}, "no", None]
    for other in others:
        sent = body_type(**body, structured_outputs=other)
        assert convert(AnthropicServingMessages, sent).structured_outputs is None


def test_a_spec_in_a_body_of_coheres_route_is_not_dropped() -> None:
    """Nor one for the logits processor, of which vLLM's own model has no field either."""
    protocol = pytest.importorskip("vllm.entrypoints.cohere.protocol", reason="no Cohere SDK")
    from vllm.entrypoints.cohere.serving import CohereServingChatV2

    body_type: Any = type("Body", (protocol.CohereChatV2Request,), {})
    client_paths.keep_unknown(body_type)
    convert = partial(
        client_paths.to_chat_completion_request, CohereServingChatV2.to_chat_completion_request
    )
    serving = object.__new__(CohereServingChatV2)
    for route, field in (
        (Route.PLUGIN, "structured_outputs"),
        (Route.LOGITS_PROCESSOR, "vllm_xargs"),
    ):
        extra = extra_body([CHAT], "required", via=route)
        made = convert(serving, body_type(model="m", messages=ASK, **extra))
        kept = getattr(made, field)
        tag = kept.structural_tag if route is Route.PLUGIN else kept["enforcer"]
        assert tag == next(iter(extra[field].values()))
    plain = convert(serving, body_type(model="m", messages=ASK, vllm_xargs={"a": 1}))
    assert (plain.structured_outputs, plain.vllm_xargs) == (None, None)


def test_the_bound_on_a_reply_is_named_as_the_client_wrote_it() -> None:
    for field in ("max_tokens", "max_completion_tokens"):
        found = client_paths.client_path(_chat(**{field: 7}), (), "auto")
        assert found("$.max_tokens") == f"$.{field}"


def test_a_path_leads_to_one_of_many_tools() -> None:
    found = client_paths.client_path(_chat(tools=[CHAT] * 1000), (), None)
    path = f"$.tools[999].function.parameters.{'x.' * 5000}"
    assert found(path) == path
    assert found("$.tools[7]") == "$.tools[7]"
    assert found("$.tools[1000].function") == "$.tools[1000].function"
