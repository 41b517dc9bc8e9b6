"""Features of vLLM's engine that could break a matcher: drafts, preemption, ends of many kinds."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

import enforcer
from bench.demo.servers import MODEL_NAME, Server
from bench.demo.tiny_model.requests import generate
from bench.matrix import modes
from bench.speculation.ways import GRAMMAR
from enforcer.judging.judge import judge
from enforcer.judging.replies import ChatReply, joined, whole
from enforcer.tools import cli
from tests.support.cases import each_case
from tests.vllm_servers import (
    TINY,
    ask,
    enforced_with,
    events,
    greedy,
    post,
    refused,
    sample,
    serving,
)

pytestmark = pytest.mark.vllm

TOOLS = modes.MODES["auto"]["tools"]
FUNCTIONS = [tool["function"] for tool in TOOLS]
FLAT = [{"type": "function", **function} for function in FUNCTIONS]
ASK = [{"role": "user", "content": "How far is it to Paris?"}]


def _reply(server: Server, body: dict[str, Any]) -> ChatReply:
    answer = post(server, body)
    assert answer.status_code == 200, answer.text
    return joined(iter(events(answer.text))) if body["stream"] else whole(answer.json())


def _bodies(count: int, seed: int) -> list[dict[str, Any]]:
    return [request.body | {"stream": False} for request in generate(count, seed=seed)]


NGRAM = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3}'
BY_GRAMMAR = ("--speculative-config", json.dumps(GRAMMAR))
# So few blocks that requests which started must wait for one another.
FEW_BLOCKS = (
    *("--num-gpu-blocks-override", "24", "--block-size", "32"),
    *("--max-model-len", "640", "--scheduling-policy", "priority"),
)


@pytest.mark.parametrize(
    ("flags", "witness"),
    [
        pytest.param(
            ("--speculative-config", NGRAM),
            "vllm:spec_decode_num_accepted_tokens_total",
            marks=pytest.mark.long,
        ),
        (FEW_BLOCKS, "vllm:num_preemptions_total"),
        ((*FEW_BLOCKS, *BY_GRAMMAR), "vllm:spec_decode_num_accepted_tokens_total"),
    ],
    ids=["ngram drafts", "preemption", "the grammar's drafts"],
)
def test_greedy_output_is_valid_and_the_same(
    tiny_server: Server, tmp_path: Path, flags: tuple[str, ...], witness: str
) -> None:
    bodies = [body for body in _bodies(72, seed=11) if len(json.dumps(body["messages"])) < 900]
    sent = bodies
    if "priority" in flags:
        sent = [body | {"priority": at % 3} for at, body in enumerate(bodies)]
    with Server(TINY, enforced_with(*flags), tmp_path / "server.log") as server:
        usual = greedy(tiny_server, bodies)  # while the other one starts
        server.wait_until_ready()
        other = greedy(server, sent)
        assert sample(server.url, witness) > 0
    answered = [at for at, reply in enumerate(other) if reply.answered]
    assert len(answered) > len(bodies) // 2
    for at in answered:
        assert not judge(bodies[at], other[at]).findings
        assert other[at].token_ids == usual[at].token_ids


@pytest.mark.long
def test_a_seed_gives_the_same_valid_calls_again(tmp_path: Path) -> None:
    # A server of its own: with chunked prefill, vLLM's CPU build dies of a seed.
    setting = enforced_with("--no-enable-chunked-prefill", "--max-num-batched-tokens", "4096")
    body = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "temperature": 1.5}
    replies = []
    with serving(TINY, setting, tmp_path / "server.log") as server:
        for seed in (1, 1, 2, 3):
            reply = whole(post(server, body | {"seed": seed}).json())
            assert not judge(body | {"stream": False}, reply).findings
            replies.append((reply.content, reply.calls))
    assert replies[0] == replies[1]
    assert len(set(replies)) > 1


def test_a_stop_string_ends_the_reply_where_vllm_says(random_server: Server) -> None:
    body = {"messages": ASK, "max_tokens": 40}
    text = _reply(random_server, body | {"stream": False}).content
    stop = text[len(text) // 2 :][:3]
    for stream in (False, True):
        reply = _reply(random_server, body | {"stop": [stop], "stream": stream})
        assert reply.content == text[: text.index(stop)]


_STOPS = ['"', "unit", "}", ":", "functions", "<|tool_call_end|>"]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("choice", ["required", "auto"])
def test_stop_strings_do_not_end_calls(tiny_server: Server, choice: str, stream: bool) -> None:
    usual = {"messages": ASK, "tools": TOOLS, "tool_choice": choice, "stream": stream}
    expected = _reply(tiny_server, usual)
    assert expected.calls
    for stop in _STOPS:
        reply = _reply(tiny_server, usual | {"stop": [stop]})
        assert (reply.calls, reply.finish_reason) == (expected.calls, "tool_calls"), stop


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_demanded_call_after_a_stop_is_unreported(random_server: Server, stream: bool) -> None:
    body = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "max_tokens": 40}
    text = _reply(random_server, body | {"temperature": 0, "stream": stream}).content
    assert text
    reply = _reply(random_server, body | {"stop": [text[0]], "stream": stream})
    assert (reply.calls, reply.content, reply.finish_reason) == ((), "", "stop")


def test_stop_strings_do_not_end_calls_of_messages(tiny_server: Server) -> None:
    named = [{"name": x["name"], "input_schema": x["parameters"]} for x in FUNCTIONS]
    asked = {"messages": ASK, "tools": named, "tool_choice": {"type": "any"}}
    for stop in _STOPS:
        body: dict[str, Any] = asked | {"stop_sequences": [stop]}
        answer = post(tiny_server, body, "/v1/messages").json()
        assert answer["stop_reason"] == "tool_use"
        assert [block["input"] for block in answer["content"] if block["type"] == "tool_use"]
        streamed = post(tiny_server, body | {"stream": True}, "/v1/messages").text
        deltas = [event.get("delta", {}) for event in events(streamed)]
        assert json.loads("".join(d.get("partial_json", "") for d in deltas))
        assert [d["stop_reason"] for d in deltas if "stop_reason" in d] == ["tool_use"]


def test_a_call_that_max_tokens_cuts_off_is_none(tiny_server: Server) -> None:
    body = {"messages": ASK, "tools": TOOLS, "tool_choice": "required"}
    whole_turn = post(tiny_server, body | {"return_token_ids": True}).json()["choices"][0]
    assert whole_turn["message"]["tool_calls"]
    # The last of them leaves out nothing but the end of the turn: the calls are whole there,
    # but a reply whose reason is `length` has none.
    for most in range(1, len(whole_turn["token_ids"])):
        choice = post(tiny_server, body | {"max_tokens": most}).json()["choices"][0]
        assert choice["finish_reason"] == "length"
        assert not choice["message"].get("tool_calls")


def test_a_call_that_the_end_of_a_stream_cuts_is_incomplete(tiny_server: Server) -> None:
    """On /v1/responses, whose last event has what a reply that does not stream has."""
    body = {"input": ASK, "tools": FLAT, "tool_choice": "required", "max_output_tokens": 20}
    whole_reply = post(tiny_server, body, "/v1/responses").json()
    assert (whole_reply["status"], whole_reply["output"]) == ("incomplete", [])
    told = events(post(tiny_server, body | {"stream": True}, "/v1/responses").text)
    kinds = [event["type"] for event in told]
    assert "response.function_call_arguments.delta" in kinds
    assert "response.function_call_arguments.done" not in kinds
    (item,) = [e["item"] for e in told if e["type"] == "response.output_item.done"]
    assert (item["type"], item["status"]) == ("function_call", "incomplete")
    last = told[-1]["response"]
    assert (last["status"], last["output"]) == ("incomplete", [])
    assert [e["sequence_number"] for e in told] == list(range(len(told)))


ENDLESS_SCHEMA = {"properties": {"s": {"type": "string", "minLength": 6000}}, "required": ["s"]}
ENDLESS = {"name": "write", "parameters": {"type": "object", **ENDLESS_SCHEMA}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_aborted_inside_a_call_is_incomplete(tiny_server: Server, stream: bool) -> None:
    name = f"resp_aborted_{stream}"
    tools = [{"type": "function", **ENDLESS}]
    body = {"input": ASK, "tools": tools, "tool_choice": "required", "max_output_tokens": 12_000}
    body |= {"request_id": name, "stream": stream}
    tokens = partial(sample, tiny_server.url, "vllm:generation_tokens_total")
    before = tokens()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(post, tiny_server, body, "/v1/responses")
        while tokens() < before + 100:
            assert not asked.done()
        route = f"{tiny_server.url}/inference/v1/abort_requests"
        httpx.post(route, json={"request_ids": [f"{name}_0"]}, timeout=60).raise_for_status()
        answer = asked.result()
    if stream:
        reply = [e["response"] for e in events(answer.text) if "response" in e][-1]
    else:
        reply = answer.json()
    assert (reply["status"], reply["incomplete_details"]) == ("incomplete", None)
    assert [item for item in reply["output"] if item["type"] == "function_call"] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_a_repetition_cuts_off_is_none(random_server: Server, stream: bool) -> None:
    """Random weights say the same again and again where they are asked greedily."""
    tools = [{"type": "function", "function": ENDLESS}]
    body = {"messages": ASK, "tools": tools, "tool_choice": "required", "max_tokens": 600}
    body |= {"repetition_detection": {"max_pattern_size": 20, "min_count": 8}, "stream": stream}
    reply = _reply(random_server, body)
    assert reply.finish_reason == "repetition"
    assert bool(reply.calls) is stream  # its deltas have been sent


def test_a_schema_too_hard_for_the_engine_is_refused_alone(random_server: Server) -> None:
    # Each of the optional runs may end at any character, and the text may not end early.
    runs = "".join(f".{{0,300}}[a-{last}]" for last in "zyxwvuts")
    schema = {"pattern": f"^(?:{runs}.{{0,3000}})$", "minLength": 2900, "type": "string"}
    parameters = {"type": "object", "properties": {"text": schema}, "required": ["text"]}
    tool = {"type": "function", "function": {"name": "write", "parameters": parameters}}
    body = {"messages": ASK, "tools": [tool], "tool_choice": "required", "max_tokens": 300}
    beside = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "max_tokens": 60}
    sent = [body, body | {"stream": True}, beside]
    with ThreadPoolExecutor(len(sent)) as pool:
        *hard, other = pool.map(partial(post, random_server), sent)
    for answer in hard:
        assert answer.status_code == 400  # by its size, or by the time of its check
        assert "$.tools[0].function.parameters" in answer.text
    assert other.status_code == 200


def test_ignore_eos_does_not_leave_the_end(tiny_server: Server) -> None:
    body = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "ignore_eos": True}
    sent = body | {"return_token_ids": True, "max_tokens": 120}
    choice = post(tiny_server, sent).json()["choices"][0]
    end = choice["token_ids"].index(choice["token_ids"][-1])
    assert len(set(choice["token_ids"][end:])) == 1
    found = judge(body | {"stream": False}, whole({"choices": [choice]})).findings
    assert {each.fault.name for each in found} <= {"FINISH"}


def test_several_choices_and_logprobs(tiny_server: Server) -> None:
    body = {"messages": ASK, "tools": TOOLS, "tool_choice": "required", "n": 3, "temperature": 1}
    answer = post(tiny_server, body | {"logprobs": True, "top_logprobs": 2}).json()
    assert len(answer["choices"]) == 3
    for choice in answer["choices"]:
        assert choice["logprobs"]["content"]
        alone = whole({"choices": [choice | {"index": 0}]})
        assert not judge(body | {"stream": False}, alone).findings


def test_a_cancelled_stream_costs_nobody_else(tiny_server: Server) -> None:
    body = {"model": MODEL_NAME, "messages": ASK, "tools": TOOLS, "stream": True}
    url = f"{tiny_server.url}/v1/chat/completions"
    for _ in range(8):
        with httpx.stream("POST", url, json=body, timeout=60) as answer:
            next(answer.iter_lines())
    choice = post(tiny_server, {"messages": ASK, "tools": TOOLS, "tool_choice": "required"})
    assert choice.json()["choices"][0]["message"]["tool_calls"]


@each_case
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_enforced_is_refused_with_400(
    tiny_server: Server, more: dict[str, Any], word: str, stream: bool
) -> None:
    body = {"messages": ASK, "tools": TOOLS, "stream": stream, **more}
    assert re.search(word, refused(tiny_server, body))
    # And it costs only its own request.
    assert post(tiny_server, {"messages": ASK, "max_tokens": 3}).status_code == 200


def test_min_tokens_without_tools_is_served(tiny_server: Server) -> None:
    answer = post(tiny_server, {"messages": ASK, "min_tokens": 30, "max_tokens": 40}).json()
    assert answer["usage"]["completion_tokens"] >= 30


def _prompt_only(path: str, choice: str) -> dict[str, Any]:
    """Ask as a proxy asks the server that reads prompts for another that replies."""
    body = {"max_tokens": 1, "min_tokens": 1, "kv_transfer_params": {"do_remote_decode": True}}
    if path.endswith("/chat/completions"):
        own = {"messages": ASK, "tools": TOOLS, "tool_choice": choice}
        return body | own | {"vllm_xargs": {"enforcer": "finish"}}
    return body | {"prompt": "Hi", **enforcer.extra_body(TOOLS, choice, finish_within_budget=True)}


_PATHS = ("/v1/chat/completions", "/v1/completions")


def test_where_only_the_prompt_is_wanted_one_id_is_enough(tmp_path: Path) -> None:
    own: dict[str, Any] = {"kv_connector": "ExampleConnector", "kv_role": "kv_both"}
    own |= {"kv_connector_extra_config": {"shared_storage_path": str(tmp_path / "keys")}}
    setting = enforced_with("--kv-transfer-config", json.dumps(own))
    name = "enforcer_calls_total"
    with serving(TINY, setting, tmp_path / "log", ENFORCER_ALLOW_CLIENT="finish") as server:
        for path, choice in product(_PATHS, ("required", "auto")):
            body = _prompt_only(path, choice)
            assert ask(server, body, path)["usage"]["completion_tokens"] == 1
            assert sample(server.url, name, outcome="not_begun") == 0
            # Nothing changes for whoever reads the reply.
            second = {"kv_transfer_params": {"do_remote_prefill": True}}
            assert refused(server, body | second, path)
            assert refused(server, body | {"max_tokens": 5}, path)


@pytest.mark.parametrize("path", _PATHS)
def test_other_servers_have_a_reader_of_each_reply(tiny_server: Server, path: str) -> None:
    assert "min_tokens" in refused(tiny_server, _prompt_only(path, "auto"), path)
    demanded = _prompt_only(path, "required") | {"min_tokens": 0}
    assert "BudgetTooSmall" in refused(tiny_server, demanded, path)


def test_sixty_four_requests_at_once_enforced_and_not(tiny_server: Server) -> None:
    bodies = _bodies(40, seed=23)
    plain = {"prompt": "Good morning", "max_tokens": 60, "temperature": 1}
    with ThreadPoolExecutor(64) as pool:
        free = [pool.submit(post, tiny_server, plain, "/v1/completions") for _ in range(32)]
        enforced = list(pool.map(lambda body: whole(post(tiny_server, body).json()), bodies))
        assert all(answer.result().status_code == 200 for answer in free)
    assert not [x for pair in zip(bodies, enforced, strict=True) for x in judge(*pair).findings]


@pytest.mark.parametrize(
    ("own", "fits"),
    [
        ({"regex": "[a-c]{2,4}"}, re.compile("[a-c]{2,4}").fullmatch),
        ({"choice": ["yes", "no"]}, ("yes", "no").__contains__),
        ({"grammar": 'root ::= "x" | "y" root'}, re.compile("y*x").fullmatch),
        ({"json": {"type": "integer", "minimum": 3, "maximum": 5}}, ("3", "4", "5").__contains__),
    ],
)
def test_text_fits_or_a_turn_is_calls(tiny_server: Server, own: dict[str, Any], fits: Any) -> None:
    for _ in range(6):
        body = {"messages": ASK, "tools": TOOLS, "structured_outputs": own, "temperature": 1}
        reply = whole(post(tiny_server, body).json())
        assert reply.answered
        if reply.finish_reason == "stop" and not reply.calls:
            assert fits(reply.content.strip())
        elif reply.calls:
            assert not reply.content


def test_a_history_with_thinking_and_marker_text(tiny_server: Server) -> None:
    thought = {"role": "assistant", "content": "Hello.", "reasoning": "<|tool_call_end|> and so on"}
    empty = {"role": "assistant", "content": None}
    for turn, thinking in product((thought, empty), (True, False)):
        body = {"messages": [*ASK, turn, *ASK], "tools": TOOLS, "tool_choice": "required"}
        body["chat_template_kwargs"] = {"thinking": thinking}
        reply = whole(post(tiny_server, body).json())
        assert not judge(body | {"stream": False}, reply).findings
        assert reply.calls or reply.finish_reason == "length"


def test_a_server_tells_what_its_model_wanted_and_the_mask_forbade(
    tiny_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema: dict[str, Any] = {"properties": {"city": {"const": "Zzyzx"}}, "required": ["city"]}
    schema |= {"type": "object", "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": schema}}
    body = {"messages": ASK, "tools": [tool], "tool_choice": "required", "temperature": 0}
    body |= {"model": MODEL_NAME, "max_tokens": 120}
    (tmp_path / "request.json").write_text(json.dumps(body))
    words = ("--tools", str(tmp_path / "request.json"), "--url", tiny_server.url, "--json")
    assert cli.main(["explain", *words, "--model", str(TINY)]) == 1
    found = json.loads(capsys.readouterr().out)
    tokens = [step["token"] for step in found["steps"]]
    assert tokens[-1] == "<|im_end|>"
    # The model has been trained to name other cities.
    begun = tokens.index("<|tool_call_argument_begin|>")
    assert any(at > begun for at in found["changed"])
    assert all(found["steps"][at]["taken_away"] for at in found["changed"])
