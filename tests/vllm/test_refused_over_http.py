"""What is refused before generation, asked for over HTTP: whole and streamed it is the same 400."""

import json
import re
from typing import Any

import pytest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest

import enforcer
from bench.demo.servers import MODEL_NAME, Server
from tests.checking_cases import slow
from tests.vllm.way_in import undeclared
from tests.vllm_servers import ask, post, refused, sample

pytestmark = pytest.mark.vllm

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
SECTION = "<|tool_calls_section_begin|>"
NONE = enforcer.extra_body([])


CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
OPENED = "<|im_assistant|>assistant<|im_middle|>"


ASK = [{"role": "user", "content": "Hi"}]
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
COUNT = {"type": "function", "function": {"name": "get", "parameters": NUMBER}}
SLOW = {"name": "slow", "parameters": json.loads(slow().wanted.source)}
BEGUN = f"{OPENED}{SECTION}<|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
COUNTS = enforcer.extra_body([COUNT])
IN_TIME: dict[str, Any] = {"messages": ASK, "tools": [COUNT], "tool_choice": "required"}
IN_TIME |= enforcer.extra_body([COUNT], "required", finish_within_budget=True)
ELSEWHERE = enforcer.extra_body([TOOL], via=enforcer.Route.LOGITS_PROCESSOR)
GOES_ON = {"add_generation_prompt": False, "continue_final_message": True}
FLAT = {"type": "function", "name": "get", "parameters": NUMBER}
STOPPED = {"tools": [FLAT], "stop_token_ids": [5]}
SAID = {"role": "assistant", "content": SECTION}


def of_grammar(text: str) -> dict[str, Any]:
    return {"messages": ASK, "structured_outputs": {"grammar": text}}


# One of each kind: a route, the body, and what its error says.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a schema that takes too long": (
        CHAT,
        {"messages": ASK, "tools": [TOOL, {"type": "function", "function": SLOW}]},
        "SchemaLimit.*`\\$.tools\\[1\\].function.parameters",
    ),
    "a marker in a grammar": (CHAT, of_grammar('start: "a" <|im_end|> "b"'), "begins with 'a'"),
    "a dead end in a grammar": (CHAT, of_grammar('start: "a" T\nT: /b/ & /c/'), "begins with 'a'"),
    "a prompt": (COMPLETIONS, {"prompt": OPENED + SECTION, **NONE}, "IllegalPrefix"),
    "a dialog": (CHAT, {"messages": [*ASK, SAID], **GOES_ON}, "IllegalPrefix"),
    "arguments": (COMPLETIONS, {"prompt": BEGUN + '{"n": "', **COUNTS}, "IllegalPrefix"),
    "a budget": (CHAT, IN_TIME, "BudgetTooSmall.*tokens, and 8 are left"),
    "a spec of another route": (COMPLETIONS, {"prompt": "Hi", **ELSEWHERE}, "would be ignored"),
    "the same in a chat": (CHAT, {"messages": ASK, **ELSEWHERE}, "would be ignored here"),
    "stop ids": (COMPLETIONS, {"prompt": "Hi", "stop_token_ids": [5], **COUNTS}, "half a call"),
    "stop ids of a chat": (CHAT, {"messages": ASK, **STOPPED, "tools": [COUNT]}, "half a call"),
    "stop ids of a response": ("/v1/responses", {"input": "Hi", **STOPPED}, "half a call"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_is_a_400_that_says_why(tiny_server: Server, kind: str, stream: bool) -> None:
    path, body, said = REFUSED[kind]
    sent = {"max_tokens": 8, **body, "stream": stream}
    assert re.search(said, refused(tiny_server, sent, path))


@pytest.mark.parametrize("stream", [False, True])
def test_what_fits_and_ends_in_time_is_served(tiny_server: Server, stream: bool) -> None:
    fits = {"prompt": BEGUN + '{"n": 1', "max_tokens": 8, **COUNTS, "stream": stream}
    assert post(tiny_server, fits, COMPLETIONS).status_code == 200
    assert post(tiny_server, {**IN_TIME, "max_tokens": 60, "stream": stream}).status_code == 200


def test_thousands_of_choices_over_http(tiny_server: Server) -> None:
    choices = [f"w{i}" for i in range(5_000)]
    own = {"structured_outputs": {"choice": choices}, "max_tokens": 200}
    (choice,) = ask(tiny_server, {"messages": ASK, **own})["choices"]
    assert choice["message"]["content"] in choices


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_of_token_ids_over_http(tiny_server: Server, stream: bool) -> None:
    ids = post(tiny_server, {"messages": ASK}, "/tokenize").json()["tokens"]
    own = enforcer.extra_body([TOOL], "required", finish_within_budget=True)["structured_outputs"]
    for most, status, said in ((5, 400, "BudgetTooSmall"), (60, 200, "")):
        params = {"structured_outputs": own, "max_tokens": most}
        body = {"token_ids": ids, "sampling_params": params, "stream": stream}
        answer = post(tiny_server, body, "/inference/v1/generate")
        assert (answer.status_code, said in answer.text) == (status, True)


def test_a_body_of_sagemakers_route_is_enforced_like_a_chat(tiny_server: Server) -> None:
    body = {"messages": ASK, "tools": [TOOL, TOOL]}
    assert "InvalidTools" in refused(tiny_server, body, "/invocations")


def test_a_batch_of_dialogs_is_enforced_like_each(tiny_server: Server) -> None:
    route, name = f"{CHAT}/batch", "enforcer_requests_total"
    before = sample(tiny_server.url, name, tool_choice="none")
    answer = ask(tiny_server, {"messages": [ASK, ASK], "max_tokens": 8}, route)
    assert len(answer["choices"]) == 2
    assert sample(tiny_server.url, name, tool_choice="none") == before + 2
    nothing = {"type": "string", "minLength": 2, "maxLength": 1}
    wanted = {"type": "json_schema", "json_schema": {"name": "none", "schema": nothing}}
    body = {"messages": [ASK], "response_format": wanted}
    assert "UnsatisfiableSchema" in refused(tiny_server, body, route)


def test_an_undeclared_field_keeps_a_request_enforced(tiny_server: Server) -> None:
    tag = {"type": "structural_tag", "format": {"type": "any_text"}}
    body = {"model": MODEL_NAME, "prompt": "Hi", "max_tokens": 8, **enforcer.extra_body([TOOL])}
    body |= dict.fromkeys(undeclared(CompletionRequest), "text")
    for more, named in (
        ({"use_beam_search": True}, "use_beam_search"),
        ({"response_format": tag}, "response_format"),
        ({"stop_token_ids": [5], "stream": True}, "stop_token_ids"),
    ):
        answer = post(tiny_server, body | more, COMPLETIONS)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, named)
    assert post(tiny_server, body, COMPLETIONS).status_code == 200
