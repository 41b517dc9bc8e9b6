"""What becomes of one tool's schema that cannot be enforced, and of the other tools beside it."""

import json
from contextvars import Context
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import SamplingParams, StructuredOutputsParams

from bench.demo.servers import ENFORCED
from enforcer.cache import Cache
from enforcer.client.body import Route
from enforcer.judging.replies import ChatReply
from enforcer.request import carrier, spec_text
from enforcer.request.spec import Spec
from enforcer.tools.doctor import CheckStatus, answers, probes
from enforcer.tools.doctor import server as doctor
from enforcer.tools.verify.client import Endpoint
from enforcer.vllm.intake import frontend
from enforcer.vllm.observe import metrics, request_context
from enforcer.vllm.server import runtime
from tests.spec_cases import carried
from tests.support.tools import tool
from tests.vllm_servers import TINY, post, reader, serving


def _object(**properties: Any) -> dict[str, Any]:
    own = {"properties": properties, "required": list(properties)}
    return {"type": "object", **own, "additionalProperties": False}


EXACT = _object(city={"enum": ["Paris", "Rome"]})
# In the order in which the model is shown it: its greedy replies are counted below.
ONE = {"type": "array", "items": {"type": "number"}, "contains": {"const": 1}}
RELAXED = _object(tags={**ONE, "uniqueItems": True})
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
    return [tool(name, ALL[name]) for name in names]


def _validated(params: SamplingParams) -> SamplingParams:
    frontend.validate_structured_outputs(lambda *_: None, params, None, None, None)
    return params


def _params(tag: str) -> SamplingParams:
    return SamplingParams(structured_outputs=StructuredOutputsParams(structural_tag=tag))


def _let_in(tools: list[dict[str, Any]]) -> Spec:
    """Give the spec as the engine gets it, from a request that any route may have brought."""
    tag = carrier.structural_tag(spec_text.write(tools, "auto", None, 0))
    return carried(_validated(_params(tag)))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr(metrics, "relaxed", lambda how, of: seen.append((how.value, of.path)))
    return seen


def test_isolating_keeps_the_other_tools_exact(use: Any, counted: list[Any]) -> None:
    use(on_unsupported="isolate")
    spec = _let_in(_tools(*TOOLS))
    schemas = {name: json.loads(tool.schema) for name, tool in spec.toolset.tools.items()}
    assert schemas == {"exact": EXACT, "relaxed": RELAXED, **{name: {} for name in HOPELESS}}
    assert sorted(counted) == [
        ("isolated", "$.tools[2].function.parameters.properties.n.type"),
        ("isolated", "$.tools[3].function.parameters.properties.n"),
        ("isolated", "$.tools[4].function.parameters.properties.n"),
        ("relaxed", "$.tools[1].function.parameters.properties.tags.uniqueItems"),
    ]


def test_inexact_schemas_are_told_once_by_request(monkeypatch: Any, use: Any, lines: Any) -> None:
    cache = Cache(1 << 20)
    monkeypatch.setattr(runtime, "kept", lambda: cache)  # where nothing is known yet

    def let_in(request_id: str) -> None:
        request_context.known_as(request_id)
        use(on_unsupported="isolate")
        _let_in(_tools(*TOOLS))
        use(on_unsupported="relax")
        _let_in(_tools("relaxed"))

    for request_id in ("cmpl-1", "cmpl-2"):
        Context().run(let_in, request_id)
    said = [line for line in lines() if "schema not exact" in line]
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
    monkeypatch: Any, use: Any, counted: list[Any], *, word: str, status: str, said: str
) -> None:
    """Whoever waits until nothing is relaxed any more would wait for the doctor's own probes."""
    monkeypatch.setattr(metrics, "log_relaxed", logged := Mock())
    use(on_unsupported=word)
    replies = []
    request_context.read_header({})  # whatever came by another route before
    for make in (probes.unenforceable, probes.impossible):
        body = probes.asking(probes.never_served(make("toy")), Route.PLUGIN)
        with pytest.raises(VLLMValidationError) as caught:
            _validated(_params(body["structured_outputs"]["structural_tag"]))
        replies.append(ChatReply(400, str(caught.value)))
    check = answers.refuses(*replies)
    assert check.status.value == status
    assert said in check.found
    assert counted == logged.mock_calls == []


@pytest.mark.parametrize(("word", "good"), [("refuse", ["exact"]), ("relax", ["exact", "relaxed"])])
def test_other_choices_refuse_too(use: Any, counted: list[Any], word: str, good: list[str]) -> None:
    use(on_unsupported=word)
    for name in TOOLS:
        if name in good:
            _let_in(_tools(name))
        else:
            with pytest.raises(VLLMValidationError, match="tools"):
                _let_in(_tools("exact", name))
    assert {how for how, _ in counted} <= {"relaxed"}


IN_TIME = {"ENFORCER_FINISH_WITHIN_BUDGET": "on"}


def test_a_format_is_not_isolated(use: Any) -> None:
    use(on_unsupported="isolate")
    wanted = {"type": "json_schema", "json_schema": {"schema": HOPELESS["loop"]}}
    params = _params(carrier.structural_tag(spec_text.write([], None, None, 0, wanted)))
    with pytest.raises(VLLMValidationError, match=r"\$\.response_format\.json_schema"):
        # A request's own: what the last test's request was like is not known here.
        Context().run(_validated, params)


@pytest.mark.vllm
def test_over_http_a_server_that_isolates_takes_every_tool_list(tmp_path: Path) -> None:
    environment = {"ENFORCER_ON_UNSUPPORTED": "isolate", "ENFORCER_ALLOW_CLIENT": "off", **IN_TIME}
    log = tmp_path / "server.log"
    with serving(TINY, ENFORCED, log, **environment) as server:
        before: list[Any] = [{"role": "user", "content": "Where?"}]
        body = {"messages": before, "tools": _tools(*ALL), "max_tokens": 100}
        for name, schema in ALL.items():
            named = {"type": "function", "function": {"name": name}}
            answer = post(server, body | {"tool_choice": named})
            assert answer.status_code == 200, answer.text
            calls = answer.json()["choices"][0]["message"].get("tool_calls") or ()
            assert calls  # each ends in time
            for call in calls:
                arguments = json.loads(call["function"]["arguments"])
                assert isinstance(arguments, dict)
                if schema in (UNIQUE, BOTH):
                    assert len(set(arguments["tags"])) == len(arguments["tags"])
                assert schema is not EXACT or arguments["city"] in ("Paris", "Rome")
        off: dict[str, Any] = body | {"vllm_xargs": {"enforcer": "off"}, "tools": _tools(*TOOLS)}
        for headers, name in (({}, "off-1"), ({"X-Request-Id": "proxy-9"}, "proxy-9")):
            answer = post(server, off | {"request_id": "off-1"}, headers=headers)
            assert answer.json()["id"] == f"chatcmpl-{name}"
        # A call that no mask let through: the prompt has begun it, and its next marker is forced.
        marker = reader(TINY).table.vocabulary.control("<|tool_call_argument_begin|>")
        begun = "<|tool_calls_section_begin|><|tool_call_begin|>functions.evil:0"
        dialog = [*before, {"role": "assistant", "content": begun}]
        goes_on = {"add_generation_prompt": False, "continue_final_message": True}
        forced = off | goes_on | {"logit_bias": {str(marker): 100}, "max_tokens": 2}
        for stream in (False, True):
            own = {"messages": dialog, "request_id": f"off-{stream}", "stream": stream}
            answer = post(server, forced | own).raise_for_status()
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
