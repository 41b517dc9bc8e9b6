"""Errors are told in the paths of the body that the client sent, whatever the route."""

import json
from functools import partial
from typing import Any

import pytest
from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.exceptions import VLLMValidationError

from bench.demo.servers import Server
from enforcer.client.body import Route, extra_body
from enforcer.errors import IllegalPrefix, RequestError
from enforcer.vllm.intake import checks, client_paths, dialogs, rejections, requests
from enforcer.vllm.server.side_table import notes
from tests.support import cases
from tests.vllm_servers import post

GOOD = {"type": "object", "properties": {}}
BAD = {"type": "object", "properties": {"n": {"$ref": "https://elsewhere.example/n"}}}
ASK = [{"role": "user", "content": "Hello."}]
CHAT = {"type": "function", "function": {"name": "good", "parameters": GOOD}}
FLAT = {"type": "function", "name": "good", "parameters": GOOD}
SMALL = {"name": "good", "input_schema": GOOD}
READ = {"type": "function", "name": "read", "parameters": GOOD}
WRITE = READ | {"name": "write", "parameters": BAD}
SPACE: dict[str, Any] = {"type": "namespace", "name": "mcp__files", "description": "Files."}
SPACE["tools"] = [READ, {"type": "custom", "name": "patch", "description": "-"}, WRITE]
CODEX: list[Any] = [FLAT, {"type": "web_search", "external_web_access": False}, SPACE]


def _chat(**body: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(messages=body.pop("messages", ASK), **body)


def _responses(**body: Any) -> ResponsesRequest:
    return ResponsesRequest(input="Hello.", **body)


# As the plugin wraps it.
convert = partial(
    client_paths.to_chat_completion_request,
    AnthropicServingMessages.to_chat_completion_request.__func__,
)


def _messages(**body: Any) -> ChatCompletionRequest:
    sent = AnthropicMessagesRequest(**{"model": "m", "max_tokens": 9, "messages": ASK, **body})
    return convert(AnthropicServingMessages, sent)


ROUTES: Any = {"chat": _chat, "responses": _responses, "messages": _messages}


def _given(text: str, bad: Any = BAD) -> Any:
    """Read the body of a case."""
    named = {"TOOL": CHAT, "FLAT": FLAT, "SMALL": SMALL, "CODEX": CODEX, "GOOD": GOOD, "BAD": bad}
    for name, value in named.items():
        text = text.replace(f'"{name}"', json.dumps(value))
    return json.loads(text)


def _refused(request: ChatCompletionRequest | ResponsesRequest) -> str:
    """Give the message with which a request is refused."""
    try:
        checks.run(checks.schemas(requests.write_spec(request).spec()))
    except RequestError as error:
        return str(rejections.rejection(error))
    except (ValueError, VLLMValidationError) as error:  # vLLM's, which the spec's writer raises
        return str(error)
    return ""


BAD_CHAT = {"type": "function", "function": {"name": "bad", "parameters": BAD}}
CASES = "vllm/intake/cases/client_paths.toml"


@cases.parametrized(CASES, "refused")
def test_a_refusal_names_the_path_in_the_clients_body(route: str, body: str, path: str) -> None:
    assert f"`{path}" in _refused(ROUTES[route](**_given(body)))


HUGE = GOOD | {"maxProperties": float("inf")}  # as `1e999` is read


@cases.parametrized(CASES, "no_json")
def test_what_is_no_json_is_named_in_the_clients_body(route: str, body: str, path: str) -> None:
    said = _refused(ROUTES[route](**_given(body, HUGE)))
    assert said.startswith("InvalidTools: it is not JSON: ")
    assert said.endswith(f"(at `{path}`)")


@pytest.mark.parametrize(("make", "path"), [(_chat, "$.messages"), (_responses, "$.input")])
def test_a_prompt_that_the_client_did_not_write_is_its_dialog(make: Any, path: str) -> None:
    requests.write_spec(make(tools=[CHAT if make is _chat else FLAT]))
    illegal = IllegalPrefix("$.prompt_token_ids[72]", "the prompt ends in a call")
    assert str(rejections.rejection(illegal)).endswith(f"(at `{path}`)")


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
    good = [CODEX[0], CODEX[1], SPACE | {"tools": SPACE["tools"][:2]}]
    request = _responses(tools=[*good, {"type": "custom", "name": "shell"}], tool_choice="auto")
    spec = requests.write_spec(request).spec()
    assert list(spec.toolset.tools) == ["good", "mcp__files__read", "shell"]
    assert {*requests.callable_tools(request)[0]} == {"good", "mcp__files__read", "shell"}
    assert _refused(request) == ""


def test_with_only_such_tools_nothing_can_be_called() -> None:
    request = _responses(tools=[CODEX[1]], tool_choice="auto")
    assert requests.write_spec(request).spec().toolset.allowed == ()


@pytest.mark.vllm
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_codex_is_answered_and_namespaces_enforced(tiny_server: Server, stream: bool) -> None:
    tools = [CODEX[1], SPACE | {"tools": [READ]}]
    body = {"input": "Read it.", "tools": tools, "tool_choice": "required", "stream": stream}
    answer = post(tiny_server, body | {"max_output_tokens": 200}, "/v1/responses")
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


@cases.parametrized(CASES, "bounds")
def test_a_budget_is_named_as_the_body_has_it(route: str, body: str, field: str) -> None:
    request = ROUTES[route](**_given(body))
    for choice in (None, "auto"):
        assert client_paths.client_path(request, (), choice)("$.max_tokens") == f"$.{field}"


def test_a_spec_in_a_body_of_messages_is_not_dropped() -> None:
    """As the plugin lets the body keep it; vLLM's own model of it has no such field."""
    body_type: Any = type("Body", (AnthropicMessagesRequest,), {})
    extra = extra_body([{"type": "function", "function": {"name": "a"}}], "required")
    body = {"model": "m", "max_tokens": 9, "messages": ASK}
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
    stock = CohereServingChatV2.to_chat_completion_request
    serving = object.__new__(CohereServingChatV2)

    def made(**more: Any) -> Any:
        body = body_type(model="m", messages=ASK, **more)
        return client_paths.to_chat_completion_request(stock, serving, body)

    own = extra_body([CHAT], "required")
    tag = made(**own).structured_outputs.structural_tag
    assert tag == own["structured_outputs"]["structural_tag"]
    own = extra_body([CHAT], "required", via=Route.LOGITS_PROCESSOR)
    assert made(**own).vllm_xargs["enforcer"] == next(iter(own["vllm_xargs"].values()))
    plain = made(vllm_xargs={"a": 1})
    assert (plain.structured_outputs, plain.vllm_xargs) == (None, None)


def test_a_path_leads_to_one_of_many_tools() -> None:
    found = client_paths.client_path(_chat(tools=[CHAT] * 1000), (), None)
    path = f"$.tools[999].function.parameters.{'x.' * 5000}"
    assert found(path) == path
    assert found("$.tools[7]") == "$.tools[7]"
    assert found("$.tools[1000].function") == "$.tools[1000].function"
