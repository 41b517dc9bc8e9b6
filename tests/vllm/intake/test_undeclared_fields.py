"""Fields that a request's class does not declare, which vLLM keeps: none is taken for another."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.protocol import (
    BatchChatCompletionRequest,
    ChatCompletionRequest,
)
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.scale_out.token_in_token_out.protocol import GenerateRequest
from vllm.entrypoints.serve.tokenize.protocol import TokenizeChatRequest, TokenizeCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.parser.parser_manager import ParserManager

import enforcer
from enforcer.vllm.replies.tool_parser import EnforcedParser
from tests.stock_tags import tokenizer
from tests.vllm.way_in import USER, Server, undeclared

pytestmark = pytest.mark.usefixtures("installed")

FUNCTION = {"name": "get", "parameters": {"type": "object"}}
TOOLS = [{"type": "function", "function": FUNCTION}]
SPEC = enforcer.extra_body(TOOLS)
ANY_TEXT = {"type": "structural_tag", "format": {"type": "any_text"}}
VALUES: tuple[Any, ...] = (None, {}, 5, "text")

# How a body of each class is rendered: what comes of it is the prompt, and the sampling parameters.
_Rendered = tuple[Any, Any]


def chat(server: Server, request: Any) -> _Rendered:
    _, (prompt,) = asyncio.run(server.renderer.render_chat(request))
    return prompt, request.to_sampling_params(64, {})


def completion(server: Server, request: Any) -> _Rendered:
    (prompt,) = asyncio.run(server.renderer.render_completion(request))
    return prompt, request.to_sampling_params(64, {})


def responses(server: Server, request: Any) -> _Rendered:
    found: Any = asyncio.run(server.renderer.render_responses(request))
    return found.engine_input, request.to_sampling_params(64, {})


def messages(server: Server, request: Any) -> _Rendered:
    return chat(server, AnthropicServingMessages.to_chat_completion_request(request))


def batch(server: Server, request: Any) -> _Rendered:
    return chat(server, request.to_chat_completion_request(request.messages[0]))


def token_ids(server: Server, request: Any) -> _Rendered:
    ids = request.token_ids
    (prompt,) = asyncio.run(server.renderer.preprocess_completion(request, ids, None))
    return prompt, request.sampling_params


def counted_chat(server: Server, request: Any) -> _Rendered:
    rendered = server.renderer.preprocess_chat(
        request, request.messages, None, "auto", None, tool_dicts=None, skip_mm_cache=True
    )
    _, (prompt,) = asyncio.run(rendered)
    return prompt, None


def counted_text(server: Server, request: Any) -> _Rendered:
    rendered = server.renderer.preprocess_completion(request, request.prompt, None)
    (prompt,) = asyncio.run(rendered)
    return prompt, None


CHAT = {"messages": [USER], "tools": TOOLS}
TEXT = {"prompt": "Hi"}
COUNTED = {**CHAT, **SPEC, "vllm_xargs": 5, "use_beam_search": True}
FLAT = {"type": "function", **FUNCTION}
ROUTES: dict[str, tuple[Callable[[Server, Any], _Rendered], type[BaseModel], dict[str, Any]]] = {
    "chat": (chat, ChatCompletionRequest, CHAT),
    "chat with a spec": (chat, ChatCompletionRequest, CHAT | SPEC),
    "completion": (completion, CompletionRequest, TEXT),
    "completion with a spec": (completion, CompletionRequest, TEXT | SPEC),
    "beam search": (completion, CompletionRequest, {**TEXT, **SPEC, "use_beam_search": True}),
    "replaced": (completion, CompletionRequest, {**TEXT, **SPEC, "response_format": ANY_TEXT}),
    "stop ids": (completion, CompletionRequest, {**TEXT, **SPEC, "stop_token_ids": [5]}),
    "responses": (responses, ResponsesRequest, {"input": [USER], "tools": [FLAT]}),
    "messages": (messages, AnthropicMessagesRequest, {"messages": [USER], "max_tokens": 9}),
    "batch": (batch, BatchChatCompletionRequest, {"messages": [[USER]]}),
    "token ids": (token_ids, GenerateRequest, {"token_ids": [39], "sampling_params": SPEC}),
    "counted chat": (counted_chat, TokenizeChatRequest, CHAT),
    "counted chat with a spec": (counted_chat, TokenizeChatRequest, COUNTED),
    "counted text": (counted_text, TokenizeCompletionRequest, TEXT | SPEC),
}


@pytest.fixture(scope="module")
def server() -> Server:
    return Server(None)


@pytest.fixture(params=["ours", "beside", "required"])
def kind(request: Any, server: Server, monkeypatch: Any, use: Any) -> str:
    """Serve with our parser, with vLLM's, and with ours where all has to be enforced."""
    found = str(request.param)
    if found == "beside":
        stock = ParserManager.get_parser(
            tool_parser_name="kimi_k2", enable_auto_tools=True, tokenizer=tokenizer()
        )
        monkeypatch.setattr(server.renderer, "parser", stock)
    elif found == "required":
        use(require="on")
    return found


def outcome(server: Server, route: str, more: dict[str, Any]) -> Any:
    """Return what becomes of a body with more fields: all that the engine gets, or the error."""
    render, kind, body = ROUTES[route]
    sent = {"model": "m", **more, **json.loads(json.dumps(body))}
    try:
        prompt, params = render(server, kind.model_validate(sent))
        return (prompt["prompt_token_ids"], params and server.processed(prompt, params))
    except VLLMValidationError as error:
        return str(error)


def guilty(server: Server, route: str, more: dict[str, Any], expected: Any) -> list[str]:
    """Name those of the fields that change what becomes of a body."""
    if outcome(server, route, more) == expected:
        return []
    if len(more) == 1:
        return [*more]
    items = [*more.items()]
    halves = dict(items[::2]), dict(items[1::2])
    return [name for half in halves for name in guilty(server, route, half, expected)]


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_an_undeclared_field_changes_nothing(server: Server, kind: str, route: str) -> None:
    # A batch hands its fields on; bodies of /v1/messages have a spec where vLLM would drop it.
    own = undeclared(ChatCompletionRequest if route == "batch" else ROUTES[route][1])
    unknown = own - {"structured_outputs"} if route == "messages" else own
    expected = outcome(server, route, {})
    for value in VALUES:
        more = dict.fromkeys(sorted(unknown), value)
        assert guilty(server, route, more, expected) == [], (kind, value)


@pytest.mark.parametrize("route", ROUTES)
def test_no_undeclared_field_is_asked_for(
    server: Server, kind: str, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for one gets what a client wrote, if it did."""
    asked = set()
    look_up = BaseModel.__getattr__  # type: ignore[attr-defined]

    def _getattr(self: Any, name: str) -> Any:
        if sys._getframe(1).f_globals["__name__"].startswith("enforcer."):
            asked.add(f"{type(self).__name__}.{name}")
        return look_up(self, name)

    monkeypatch.setattr(BaseModel, "__getattr__", _getattr)
    outcome(server, route, {})
    assert asked == set(), kind


@pytest.mark.slow
@pytest.mark.parametrize("route", ["chat", "responses"])
def test_a_reply_is_read_by_declared_fields(server: Server, route: str) -> None:
    """Of a request that was prepared, and of one that comes with its reply (`/derender`)."""
    render, kind, body = ROUTES[route]
    for is_prepared in (True, False):
        for more in ({}, *(dict.fromkeys(undeclared(kind), value) for value in VALUES)):
            request = kind.model_validate({"model": "m", **more, **body})
            if is_prepared:
                render(server, request)
            parser = EnforcedParser(tokenizer())
            assert parser.parse("", request) == (None, None, [])
            assert parser.parse_delta("", [], request, [39], finished=True) is None


@pytest.mark.usefixtures("kind")
def test_a_chat_that_is_counted_has_the_prompt_that_it_has_without_a_spec(server: Server) -> None:
    assert outcome(server, "counted chat with a spec", {}) == outcome(server, "counted chat", {})


@pytest.mark.parametrize("value", [None, {}, 5, "text", FUNCTION | {"parameters": {}}])
def test_a_tool_of_the_responses_api_is_the_function_itself(server: Server, value: Any) -> None:
    """Chat Completions has it in a field of that name, which such a tool does not declare."""
    sent = []
    for more in ({}, {"function": value}):
        tools = [{"type": "function", **FUNCTION, **more}]
        request = ResponsesRequest.model_validate({"input": [USER], "tools": tools})
        sent.append(server.processed(*responses(server, request)))
    assert sent[0] == sent[1]
