"""What becomes of one tool's schema that cannot be enforced, and of the other tools beside it."""

from __future__ import annotations

import json
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams

from bench.demo.servers import ENFORCED, MODEL_NAME
from enforcer.cache import Cache
from enforcer.client.body import Route
from enforcer.judging.replies import ChatReply
from enforcer.request import carrier, spec_text
from enforcer.tools.doctor import CheckStatus, answers, probes
from enforcer.tools.doctor import server as doctor
from enforcer.tools.verify.client import Endpoint
from enforcer.vllm.config import settings
from enforcer.vllm.intake import frontend
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.server import runtime
from tests.spec_cases import carried
from tests.vllm_servers import TINY, reader, serving

if TYPE_CHECKING:
    from pathlib import Path

    from enforcer.request.spec import Spec


def _object(**properties: Any) -> dict[str, Any]:
    required = list(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


EXACT = _object(city={"enum": ["Paris", "Rome"]})
RELAXED = _object(
    tags={
        "type": "array",
        "items": {"type": "number"},
        "contains": {"const": 1},
        "uniqueItems": True,
    }
)
# None of these has a superset to enforce: no schema, nothing that fits, a loop of references.
HOPELESS = {
    "wrong": {"type": "object", "properties": {"n": {"type": "float"}}},
    "empty": _object(n=False),
    "loop": _object(n={"$ref": "#/properties/n"}),
}
UNIQUE = _object(tags={"type": "array", "items": {"type": "string"}, "uniqueItems": True})
BOTH = _object(**UNIQUE["properties"], pair=RELAXED["properties"]["tags"])
TOOLS = {"exact": EXACT, "relaxed": RELAXED, **HOPELESS}
ALL = TOOLS | {"unique": UNIQUE, "both": BOTH}


def _tools(*names: str) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "parameters": ALL[name]}} for name in names
    ]


def _let_in(
    monkeypatch: pytest.MonkeyPatch, tools: list[dict[str, Any]], **environment: Any
) -> Spec:
    """Give the spec as the engine gets it, from a request that any route may have brought."""
    monkeypatch.setattr(settings, "current", lambda: settings.read(environment))
    tag = carrier.structural_tag(spec_text.write(tools, "auto", None, 0))
    params = SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag))
    frontend.validate_structured_outputs(lambda *_: None, params, None, None, None)
    return carried(params)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen = []
    monkeypatch.setattr(
        metrics, "relaxed", lambda how, problem: seen.append((how.value, problem.path))
    )
    return seen


def test_isolating_keeps_the_other_tools_exact(
    monkeypatch: pytest.MonkeyPatch, counted: list[Any]
) -> None:
    spec = _let_in(monkeypatch, _tools(*TOOLS), ENFORCER_ON_UNSUPPORTED="isolate")
    schemas = {name: json.loads(tool.schema) for name, tool in spec.toolset.tools.items()}
    assert schemas == {"exact": EXACT, "relaxed": RELAXED, **{name: {} for name in HOPELESS}}
    assert sorted(counted) == [
        ("isolated", "$.tools[2].function.parameters.properties.n.type"),
        ("isolated", "$.tools[3].function.parameters.properties.n"),
        ("isolated", "$.tools[4].function.parameters.properties.n"),
        ("relaxed", "$.tools[1].function.parameters.properties.tags.uniqueItems"),
    ]


def test_what_is_not_exact_is_told_once_with_its_tool_and_its_first_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(1 << 20)
    monkeypatch.setattr(runtime, "kept", lambda: cache)  # where nothing is known yet

    def let_in(request_id: str) -> None:
        request_context.known_as(request_id)
        _let_in(monkeypatch, _tools(*TOOLS), ENFORCER_ON_UNSUPPORTED="isolate")
        _let_in(monkeypatch, _tools("relaxed"), ENFORCER_ON_UNSUPPORTED="relax")

    for request_id in ("cmpl-1", "cmpl-2"):
        Context().run(let_in, request_id)
    said = [r.getMessage() for r in caplog.records if "schema not exact" in r.getMessage()]
    assert [(line.split(" path=")[0], line.split(" request=")[1]) for line in said] == [
        (f'enforcer: schema not exact enforced="{how}" error="{error}"', f'"cmpl-1" tool="{tool}"')
        for how, error, tool in (
            ("relaxed", "UnsupportedSchema", "relaxed"),
            ("isolated", "InvalidSchema", "wrong"),
            ("isolated", "UnsatisfiableSchema", "empty"),
            ("isolated", "UnsupportedSchema", "loop"),
            ("relaxed", "UnsupportedSchema", "relaxed"),
        )
    ]


@pytest.mark.parametrize(
    ("word", "status", "said"),
    [("refuse", "ok", "path"), ("relax", "note", "relaxed"), ("isolate", "note", "isolated")],
)
def test_the_doctor_tells_the_mode_and_nothing_is_counted(
    monkeypatch: pytest.MonkeyPatch, counted: list[Any], word: str, status: str, said: str
) -> None:
    """Whoever waits until nothing is relaxed any more would wait for the doctor's own probes."""
    logged: list[Any] = []
    monkeypatch.setattr(metrics, "log_relaxed", lambda *of, **_: logged.append(of))
    environment = {"ENFORCER_ON_UNSUPPORTED": word}
    monkeypatch.setattr(settings, "current", lambda: settings.read(environment))
    replies = []
    request_context.read_header({})  # whatever came by another route before
    for make in (probes.unenforceable, probes.impossible):
        body = probes.asking(probes.never_served(make("toy")), Route.PLUGIN)
        tag = body["structured_outputs"]["structural_tag"]
        params = SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag))
        with pytest.raises(VLLMValidationError) as caught:
            frontend.validate_structured_outputs(lambda *_: None, params, None, None, None)
        replies.append(ChatReply(400, str(caught.value)))
    check = answers.refuses(*replies)
    assert check.status.value == status
    assert said in check.found
    assert counted == logged == []


@pytest.mark.parametrize(("word", "good"), [("refuse", ["exact"]), ("relax", ["exact", "relaxed"])])
def test_the_other_choices_refuse_what_they_always_did(
    monkeypatch: pytest.MonkeyPatch, counted: list[Any], word: str, good: list[str]
) -> None:
    for name in TOOLS:
        if name in good:
            _let_in(monkeypatch, _tools(name), ENFORCER_ON_UNSUPPORTED=word)
        else:
            with pytest.raises(VLLMValidationError, match="tools"):
                _let_in(monkeypatch, _tools("exact", name), ENFORCER_ON_UNSUPPORTED=word)
    assert {how for how, _ in counted} <= {"relaxed"}


IN_TIME = {"ENFORCER_FINISH_WITHIN_BUDGET": "on"}


def test_a_format_is_not_isolated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        settings, "current", lambda: settings.read({"ENFORCER_ON_UNSUPPORTED": "isolate"})
    )
    wanted = {"type": "json_schema", "json_schema": {"schema": HOPELESS["loop"]}}
    tag = carrier.structural_tag(spec_text.write([], None, None, 0, wanted))
    params = SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag))
    validate = partial(frontend.validate_structured_outputs, lambda *_: None)
    with pytest.raises(VLLMValidationError, match=r"\$\.response_format\.json_schema"):
        # A request's own: what the last test's request was like is not known here.
        Context().run(validate, params, None, None, None)


@pytest.mark.vllm
def test_over_http_a_server_that_isolates_takes_every_tool_list(tmp_path: Path) -> None:
    environment = {"ENFORCER_ON_UNSUPPORTED": "isolate", "ENFORCER_ALLOW_CLIENT": "off", **IN_TIME}
    log = tmp_path / "server.log"
    with serving(TINY, ENFORCED, log, **environment) as server:
        body = {
            "model": MODEL_NAME,
            "messages": [{"role": "user", "content": "Where?"}],
            "tools": _tools(*ALL),
            "max_tokens": 100,
            "temperature": 0,
        }
        for name, schema in ALL.items():
            sent = body | {"tool_choice": {"type": "function", "function": {"name": name}}}
            answer = httpx.post(f"{server.url}/v1/chat/completions", json=sent, timeout=120)
            assert answer.status_code == 200, answer.text
            choice = answer.json()["choices"][0]
            calls = choice["message"].get("tool_calls") or ()
            assert calls  # each ends in time
            for call in calls:
                arguments = json.loads(call["function"]["arguments"])
                assert isinstance(arguments, dict)
                if schema in (UNIQUE, BOTH):
                    assert len(set(arguments["tags"])) == len(arguments["tags"])
                assert schema is not EXACT or arguments["city"] in ("Paris", "Rome")
        switch = {"vllm_xargs": {"enforcer": "off"}, "request_id": "off-1"}
        off = body | switch | {"tools": _tools(*TOOLS)}
        from_a_proxy = {"X-Request-Id": "proxy-9"}
        for headers in ({}, from_a_proxy):
            url = f"{server.url}/v1/chat/completions"
            answer = httpx.post(url, json=off, headers=headers, timeout=120)
            assert answer.json()["id"] == f"chatcmpl-{'proxy-9' if headers else 'off-1'}"
        # A call that no mask let through: the prompt has begun it, and its next marker is forced.
        marker = reader(TINY).table.vocabulary.control("<|tool_call_argument_begin|>")
        begun = "<|tool_calls_section_begin|><|tool_call_begin|>functions.evil:0"
        before: Any = body["messages"]
        for stream in (False, True):
            sent = off | {
                "messages": [*before, {"role": "assistant", "content": begun}],
                "request_id": f"off-{stream}",
                "logit_bias": {str(marker): 100},
                "max_tokens": 2,
                "stream": stream,
                "add_generation_prompt": False,
                "continue_final_message": True,
            }
            answer = httpx.post(f"{server.url}/v1/chat/completions", json=sent, timeout=120)
            answer.raise_for_status()
            assert "evil" not in answer.text
        seen = httpx.get(f"{server.url}/metrics", timeout=60).text
        for line in (
            'enforcer_tools_relaxed_total{how="isolated",keyword="type"} 7.0',
            'enforcer_tools_relaxed_total{how="isolated",keyword="$ref"} 7.0',
            'enforcer_tools_relaxed_total{how="relaxed",keyword="uniqueItems"} 14.0',
            "enforcer_requests_switched_off_total 4.0",
            'enforcer_calls_total{outcome="dropped"} 2.0',
        ):
            assert line in seen
        told = log.read_text()
        found = {check.name: check for check in doctor.checks(Endpoint.at(server.url))}
    assert not [check for check in found.values() if check.status is CheckStatus.BAD]
    assert found["schema that cannot be enforced exactly"].found.startswith("isolated: ")
    assert told.count('schema not exact enforced="isolated"') == len(HOPELESS)
    assert told.count('schema not exact enforced="relaxed"') == 2
    assert "BUDGET=on" in found["call at `max_tokens`"].found
    for request_id in ("off-1", "proxy-9", "off-False", "off-True"):
        assert told.count(f'enforcer: switched off request="{request_id}"') == 1
    for request_id in ("off-False", "off-True"):
        line = f'enforcer: call dropped tool="evil" request="chatcmpl-{request_id}"'
        assert told.count(line) == 1
