"""What is refused before generation, asked for over HTTP: whole and streamed it is the same 400."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.entrypoints.openai.completion.protocol import CompletionRequest
from vllm.entrypoints.serve.tokenize.protocol import TokenizeChatRequest

import enforcer
from bench.demo.servers import MODEL_NAME
from tests.checking_cases import slow
from tests.vllm.way_in import undeclared
from tests.vllm_servers import sample

if TYPE_CHECKING:
    from httpx import Response

    from bench.demo.servers import Server

pytestmark = pytest.mark.vllm

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
BEGUN = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0"


def _post(server: Server, path: str = "/v1/chat/completions", **body: Any) -> Response:
    sent = {"model": MODEL_NAME, "max_tokens": 8, **body}
    return httpx.post(f"{server.url}{path}", json=sent, timeout=600)


ASK = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema_that_takes_too_long_is_a_400_with_its_path(
    tiny_server: Server, stream: bool
) -> None:
    schema = json.loads(slow().wanted.source)
    tools = [TOOL, {"type": "function", "function": {"name": "slow", "parameters": schema}}]
    answer = _post(tiny_server, messages=ASK, tools=tools, stream=stream)
    assert answer.status_code == 400
    assert "`$.tools[1].function.parameters" in answer.text
    assert "SchemaLimit" in answer.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"tools": [TOOL], "repetition_penalty": 1e-50, "temperature": 0}, "repetition_penalty"),
        ({"tools": [TOOL], "repetition_penalty": 1e60}, "repetition_penalty"),
        ({"structured_outputs": {"grammar": 'start: "a" <|im_end|> "b"'}}, "begins with 'a'"),
        ({"structured_outputs": {"grammar": 'start: "a" T\nT: /b/ & /c/'}}, "begins with 'a'"),
    ],
)
def test_what_would_end_a_turn_later_is_a_400(
    tiny_server: Server, more: dict[str, Any], named: str, stream: bool
) -> None:
    answer = _post(tiny_server, messages=ASK, stream=stream, **more)
    assert answer.status_code == 400, answer.text
    assert named in answer.text


def test_thousands_of_choices_over_http(tiny_server: Server) -> None:
    choices = [f"w{i}" for i in range(5_000)]
    answer = _post(
        tiny_server, messages=ASK, structured_outputs={"choice": choices}, max_tokens=200
    )
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    assert choice["message"]["content"] in choices


@pytest.mark.parametrize("stream", [False, True])
def test_begun_turns_over_http(tiny_server: Server, stream: bool) -> None:
    begun = "<|im_assistant|>assistant<|im_middle|><|tool_calls_section_begin|>"
    own = enforcer.extra_body([])["structured_outputs"]
    answer = _post(
        tiny_server, "/v1/completions", prompt=begun, structured_outputs=own, stream=stream
    )
    assert answer.status_code == 400, answer.text
    assert "IllegalPrefix" in answer.text
    dialog = [*ASK, {"role": "assistant", "content": "<|tool_calls_section_begin|>"}]
    more: dict[str, Any] = {"add_generation_prompt": False, "continue_final_message": True}
    answer = _post(tiny_server, messages=dialog, stream=stream, **more)
    assert answer.status_code == 400, answer.text
    assert "IllegalPrefix" in answer.text


@pytest.mark.parametrize("stream", [False, True])
def test_what_only_an_engine_can_refuse_over_http(tiny_server: Server, stream: bool) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = {"type": "function", "function": {"name": "get", "parameters": schema}}
    begun = BEGUN + '<|tool_call_argument_begin|>{"n": "'
    own = enforcer.extra_body([tool])["structured_outputs"]
    prompt = "<|im_assistant|>assistant<|im_middle|>" + begun
    path = "/v1/completions"
    answer = _post(tiny_server, path, prompt=prompt, structured_outputs=own, stream=stream)
    assert answer.status_code == 400, answer.text
    assert "IllegalPrefix" in answer.text
    fits = prompt.removesuffix('"') + "1"
    answer = _post(tiny_server, path, prompt=fits, structured_outputs=own, stream=stream)
    assert answer.status_code == 200, answer.text
    extra: dict[str, Any] = enforcer.extra_body([tool], "required", finish_within_budget=True)
    body: dict[str, Any] = {"messages": ASK, "tools": [tool], "tool_choice": "required"}
    body["stream"] = stream
    answer = _post(tiny_server, **body, **extra)
    assert answer.status_code == 400, answer.text
    assert "BudgetTooSmall" in answer.text
    assert "tokens, and 8 are left" in answer.text
    answer = _post(tiny_server, **{**body, "max_tokens": 60}, **extra)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_spec_that_would_be_ignored_over_http(tiny_server: Server, stream: bool) -> None:
    extra: dict[str, Any] = enforcer.extra_body([TOOL], via=enforcer.Route.LOGITS_PROCESSOR)
    for path, ask in (
        ("/v1/completions", {"prompt": "Hi"}),
        ("/v1/chat/completions", {"messages": ASK}),
    ):
        answer = _post(tiny_server, path, stream=stream, **ask, **extra)
        assert answer.status_code == 400, answer.text
        assert "would be ignored here" in answer.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_of_token_ids_over_http(tiny_server: Server, stream: bool) -> None:
    asked = {"model": MODEL_NAME, "messages": ASK}
    ids = httpx.post(f"{tiny_server.url}/tokenize", json=asked, timeout=60).json()["tokens"]
    own = enforcer.extra_body([TOOL], "required", finish_within_budget=True)["structured_outputs"]

    def ask(**params: Any) -> Response:
        params = {"structured_outputs": own, **params}
        body = {"token_ids": ids, "sampling_params": params, "stream": stream}
        return _post(tiny_server, "/inference/v1/generate", **body)

    for answer, said in (
        (ask(max_tokens=5), "BudgetTooSmall"),
        (ask(max_tokens=60, stop_token_ids=[5]), "half a call"),
        (ask(max_tokens=60, trace_decode_token_ids=[5]), "trace_decode_token_ids"),
    ):
        assert answer.status_code == 400, answer.text
        assert said in answer.text
    assert ask(max_tokens=60).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_completions_stop_ids_over_http(tiny_server: Server, stream: bool) -> None:
    own = enforcer.extra_body([TOOL])["structured_outputs"]
    more: dict[str, Any] = {"structured_outputs": own, "stop_token_ids": [5], "stream": stream}
    answer = _post(tiny_server, "/v1/completions", prompt="Hi", **more)
    assert answer.status_code == 400, answer.text
    assert "half a call" in answer.text


def test_a_body_of_sagemakers_route_is_enforced_like_a_chat(tiny_server: Server) -> None:
    answer = _post(tiny_server, "/invocations", messages=ASK, tools=[TOOL, TOOL])
    assert (answer.status_code, "InvalidTools" in answer.text) == (400, True)


def test_a_batch_of_dialogs_is_enforced_like_each(tiny_server: Server) -> None:
    route = "/v1/chat/completions/batch"
    before = sample(tiny_server.url, "enforcer_requests_total", tool_choice="none")
    answer = _post(tiny_server, route, messages=[ASK, ASK])
    assert len(answer.json()["choices"]) == 2
    assert sample(tiny_server.url, "enforcer_requests_total", tool_choice="none") == before + 2
    nothing = {"type": "string", "minLength": 2, "maxLength": 1}
    wanted = {"type": "json_schema", "json_schema": {"name": "none", "schema": nothing}}
    answer = _post(tiny_server, route, messages=[ASK], response_format=wanted)
    assert (answer.status_code, "UnsatisfiableSchema" in answer.text) == (400, True)


@pytest.mark.parametrize("value", [None, {}, 5, "text"])
def test_an_undeclared_field_takes_no_request_out_of_enforcement(
    tiny_server: Server, value: Any
) -> None:
    tag = {"type": "structural_tag", "format": {"type": "any_text"}}
    url = f"{tiny_server.url}/v1/completions"
    body = {"model": MODEL_NAME, "prompt": "Hi", "max_tokens": 8, **enforcer.extra_body([TOOL])}
    body |= dict.fromkeys(undeclared(CompletionRequest), value)
    for more, named in (
        ({"use_beam_search": True}, "use_beam_search"),
        ({"response_format": tag}, "response_format"),
        ({"stop_token_ids": [5], "stream": True}, "stop_token_ids"),
    ):
        answer = httpx.post(url, json=body | more, timeout=60)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, named)
    assert httpx.post(url, json=body, timeout=60).status_code == 200


def test_the_body_of_a_chat_is_counted_whatever_else_it_has(tiny_server: Server) -> None:
    body = {"model": MODEL_NAME, "messages": ASK, "tools": [TOOL]}
    unknown = undeclared(TokenizeChatRequest)
    counted = [
        httpx.post(f"{tiny_server.url}/tokenize", json=body | more, timeout=60).json()
        for more in ({}, enforcer.extra_body([TOOL]), dict.fromkeys(unknown, 5))
    ]
    assert counted == [counted[0]] * 3
    assert counted[0]["count"] > 0
