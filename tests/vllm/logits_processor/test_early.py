"""What a server with the logits processor alone refuses before a reply begins."""

import json
import re
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import vllm
from fastapi import FastAPI, Request, Response
from vllm.entrypoints.serve.exception_handling.register import init_exception_handler
from vllm.exceptions import GracefulHTTPError
from vllm.sampling_params import SamplingParams

import enforcer
from bench.demo.servers import Server
from enforcer.request import carrier
from enforcer.request import tools as tools_
from enforcer.vllm.config import names
from enforcer.vllm.intake import checks
from enforcer.vllm.logits_processor.early import _ROUTES, RefuseEarly
from enforcer.vllm.server import reply_lengths
from tests import vllm_servers
from tests.support import asgi, cases
from tests.support.tools import tool as named_tool

CHAT = "/v1/chat/completions"
ASK = [{"role": "user", "content": "Where?"}]
VIA = enforcer.Route.LOGITS_PROCESSOR


tool = partial(named_tool, "get")
GOOD = tool({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
BAD = tool({"properties": {"n": {"type": "float"}}})
OTHERS = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": 1}}}
SCHEMA = GOOD["function"]["parameters"]
FLAT = {"type": "function", "name": "get", "parameters": SCHEMA}
ANTHROPIC = {"name": "get", "input_schema": SCHEMA}
CASES = "vllm/logits_processor/cases/early.toml"


def given(text: str) -> Any:
    """Read the JSON of a case."""
    named = {"GOOD": GOOD, "BAD": BAD, "FLAT": FLAT, "ANTHROPIC": ANTHROPIC, "CONST": OTHERS}
    for name, value in named.items():
        text = text.replace(f'"{name}"', json.dumps(value))
    return json.loads(text)


@pytest.fixture(autouse=True)
def _no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    method = "_validate_structured_outputs"
    patched = getattr(SamplingParams, method)
    monkeypatch.setattr(SamplingParams, method, getattr(patched, names.PATCHED, patched))


def sent(
    raw: bytes, path: str = CHAT, pieces: int = 1, method: str = "POST", **scope: Any
) -> tuple[bytes | None, int, Any]:
    """Give what reaches vLLM, and what is answered in its place."""
    reached: list[bytes] = []

    async def reached_by(request: Request) -> Response:
        reached.append(await request.body())
        return Response()

    vllm = FastAPI()
    vllm.state.args = SimpleNamespace(log_error_stack=False)
    vllm.state.vllm_config = scope.pop("config", None)
    init_exception_handler(vllm)
    vllm.add_route("/{path:path}", reached_by, ["GET", "POST"])
    scope = {"method": method, "path": path, "headers": (), "query_string": b"", **scope}
    answered = asgi.run(RefuseEarly(vllm), asgi.pieces(raw, pieces), **scope)
    if reached:
        return reached[0], 0, None
    start, body = answered
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    return None, start["status"], json.loads(body["body"])


def refused(body: dict[str, Any], path: str = CHAT, **more: Any) -> str:
    """Send a body that does not reach vLLM; returns what the 400 says."""
    reached, status, said = sent(json.dumps(body).encode(), path, **more)
    assert (reached, status) == (None, 400)
    return str(said["error"]["message"])


def passes(body: dict[str, Any], path: str = CHAT) -> bool:
    raw = json.dumps(body).encode()
    return sent(raw, path) == (raw, 0, None)


def body(tools: list[Any], **more: Any) -> dict[str, Any]:
    own: dict[str, Any] = enforcer.extra_body(tools, via=VIA)
    return {"messages": ASK, "tools": tools, **own, **more}


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize(
    ("raw", "path", "method"),
    [
        (json.dumps(body([GOOD])).encode(), CHAT, "POST"),
        (json.dumps(body([BAD])).encode(), "/v1/embeddings", "POST"),
        (json.dumps(body([BAD])).encode(), CHAT, "GET"),
        (json.dumps({"messages": ASK, "tools": [BAD]}).encode(), CHAT, "POST"),
        (b'{"enforcer": ', CHAT, "POST"),
        (b'["enforcer"]', CHAT, "POST"),
        (b"", CHAT, "POST"),
        (b'{"vllm_xargs": "enforcer", "structured_outputs": 3}', CHAT, "POST"),
        # vLLM says itself that it takes no such types.
        (json.dumps(body([GOOD], logit_bias="x", min_tokens=None)).encode(), CHAT, "POST"),
    ],
)
def test_other_bodies_reach_vllm_as_is(raw: bytes, path: str, method: str, pieces: int) -> None:
    assert sent(raw, path, pieces, method) == (raw, 0, None)


@pytest.mark.parametrize(("hands_on", "expected"), [(True, 0), (False, 400)])
def test_whether_prompts_are_handed_on_is_asked_of_vllms_application(
    monkeypatch: pytest.MonkeyPatch, hands_on: bool, expected: int
) -> None:
    monkeypatch.setattr(reply_lengths, "_met", set())
    connector = SimpleNamespace(is_kv_producer=True) if hands_on else None
    config = SimpleNamespace(kv_transfer_config=connector)
    first = {"kv_transfer_params": {"do_remote_decode": True}, "max_tokens": 1, "min_tokens": 1}
    assert sent(json.dumps(body([GOOD], **first)).encode(), config=config)[1] == expected


def _escaped(text: str, at: int, form: str) -> bytes:
    """Spell one letter of the key with an escape."""
    key = carrier.KEY
    return text.replace(key, key[:at] + form.format(ord(key[at])) + key[at + 1 :]).encode()


@pytest.mark.parametrize(
    "spelled",
    [
        *(partial(_escaped, at=at, form="\\u{:04x}") for at in range(len(carrier.KEY))),
        partial(_escaped, at=1, form="\\u{:04X}"),
        partial(str.encode, encoding="utf-16"),
        partial(str.encode, encoding="utf-32-be"),
    ],
)
def test_a_spec_is_found_however_its_key_is_spelled(spelled: Callable[[str], bytes]) -> None:
    raw = spelled(json.dumps(body([BAD], use_beam_search=True)))
    assert carrier.KEY.encode() not in raw
    assert json.loads(raw) == body([BAD], use_beam_search=True)
    assert sent(raw)[:2] == (None, 400)


@pytest.mark.parametrize(
    "path",
    [
        *(CHAT, f"{CHAT}/batch", f"/base{CHAT}"),
        *("/v1/completions", "/v1/responses", "/v1/messages", "/invocations"),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_refused(path: str) -> None:
    said = refused(body([BAD], stream=True), path, pieces=2)
    assert said.startswith("InvalidSchema: ")
    assert "$.tools[0].function.parameters.properties.n.type" in said


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/invocations"])
def test_beam_search_is_refused_wherever_it_can_be_asked_for(path: str) -> None:
    assert "parameter=use_beam_search" in refused(body([GOOD], use_beam_search=True), path)


def of_tokens(tools: list[Any], **more: Any) -> dict[str, Any]:
    extra = enforcer.extra_body(tools, via=VIA)["vllm_xargs"]
    return {"token_ids": [1], "sampling_params": {"extra_args": extra, **more}}


@cases.parametrized(CASES, "of_tokens")
def test_token_id_bodies_have_specs_in_sampling_parameters(tool: str, more: str, says: str) -> None:
    assert says in refused(of_tokens([given(tool)], **given(more)), "/inference/v1/generate")


@pytest.mark.parametrize("sent", [of_tokens([GOOD]), {"enforcer": 1, "sampling_params": "x"}])
def test_others_of_them_reach_vllm(sent: dict[str, Any]) -> None:
    assert passes(sent, "/inference/v1/generate")


@pytest.mark.parametrize("via", list(enforcer.Route))
def test_a_spec_on_a_route_that_drops_it_is_refused(via: enforcer.Route) -> None:
    asked = {"messages": ASK, **enforcer.extra_body([GOOD], via=via)}
    assert "drops" in refused(asked, "/cohere/v2/chat")


def test_every_route_of_vllms_that_generates_is_known() -> None:
    """As far as its bodies can carry a spec, or drop one."""
    others = ("cancel", "render", "derender", "count_tokens", "audio", "systemone", "scor")
    root = Path(vllm.__file__).parent / "entrypoints"
    found = {
        route
        for file in root.rglob("*api_router.py")
        for route in re.findall(r'router\.post\(\s*"([^"]+)"', file.read_text("utf-8"))
        if re.search(r"completions|responses|messages|chat|generate$|invocations", route)
        and not any(word in route for word in others)
    }
    assert len(found) > 5
    assert found == set(_ROUTES)


@cases.parametrized(CASES, "options")
def test_options_are_refused(more: str, says: str) -> None:
    assert says in refused(body([GOOD], **given(more)))


@cases.parametrized(CASES, "undeclared")
def test_a_field_that_its_class_does_not_declare_says_nothing(path: str, more: str) -> None:
    assert passes(body([GOOD]) | given(more), path)


def test_stops_of_the_messages_api_are_refused() -> None:
    assert "`stop_sequences`" in refused(body([GOOD], stop_sequences=["x"]), "/v1/messages")


def with_spec(choice: str, more: dict[str, Any]) -> dict[str, Any]:
    own = enforcer.extra_body([GOOD], choice, via=VIA)
    return {"messages": ASK, "tools": [GOOD], **own, **more}


@cases.parametrized(CASES, "another")
def test_a_spec_of_another_request_is_refused(choice: str, more: str, says: str) -> None:
    said = refused(with_spec(choice, given(more)))
    assert says in said
    assert "parameter=vllm_xargs.enforcer" in said


def test_what_is_equal_to_python_and_not_to_json_is_another() -> None:
    one, true = (tool({"properties": {"n": {"const": value}}}) for value in (1, True))
    said = refused(with_spec("auto", {"tools": [true], **enforcer.extra_body([one], via=VIA)}))
    assert "other arguments of 'get'" in said


@pytest.mark.parametrize("depth", [100, 400, *range(940, 1000)])
def test_what_is_nested_too_deeply_costs_its_own_request_alone(depth: int) -> None:
    deep = tool({"title": "t", "not": "DEEP"})
    own = enforcer.extra_body([deep], via=VIA)
    nested = '{"not": ' * depth + "{}" + "}" * depth
    within = '{"tools": [' * depth + '{"name": "get"}' + "]}" * depth
    # In another order, and less deep in its body than in the spec.
    flat = {"name": "get", "input_schema": {"not": "DEEP", "title": "t"}}
    for tools in ([deep], ["WITHIN"], [flat]):
        raw = json.dumps({"messages": ASK, "tools": tools, **own})
        raw = raw.replace(r"\"DEEP\"", json.dumps(nested)[1:-1])
        raw = raw.replace('"DEEP"', nested).replace('"WITHIN"', within)
        reached, status, _ = sent(raw.encode())
        assert status == 400 or reached is not None


@pytest.mark.parametrize("letter", ["n", "ß"])
def test_equal_schemas_are_compared_by_their_text(monkeypatch: Any, letter: str) -> None:
    """Not read and written again, which for megabytes takes the event loop long."""
    monkeypatch.setattr(tools_, "_canonical", None)
    assert passes(body([tool({"properties": {letter: {"type": "integer"}}})]))


@cases.parametrized(CASES, "same")
def test_a_spec_of_the_same_request_is_not(choice: str, more: str) -> None:
    assert passes(with_spec(choice, given(more)))


@pytest.mark.parametrize("stream", [False, True])
@cases.parametrized(CASES, "constraint")
def test_vllms_constraints_are_refused(path: str, option: str, value: str, stream: bool) -> None:
    """The engine would fail where both together leave no token."""
    asked = body([GOOD], prompt="Hi", stream=stream) | {option: given(value)}
    assert f"`{option}` cannot be combined with a spec" in refused(asked, path)


def test_options_of_a_constraint_are_none() -> None:
    own = {"structured_outputs": {"whitespace_pattern": " ", "json": None}}
    assert passes(body([GOOD], response_format={"type": "text"}, **own))


def test_a_completion_has_no_tools_to_compare() -> None:
    assert passes({"prompt": "Where?", **enforcer.extra_body([GOOD], via=VIA)}, "/v1/completions")


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/v1/responses", "/v1/messages"])
def test_a_spec_that_vllm_would_drop_is_refused_where_there_is_no_plugin(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    own = enforcer.extra_body([GOOD], "required")
    asked = {"messages": ASK, "tools": [GOOD], "tool_choice": "required", **own}
    assert "via=enforcer.Route.LOGITS_PROCESSOR" in refused(asked, path)
    plugins = Mock()
    setattr(plugins, names.PATCHED, plugins)
    monkeypatch.setattr(SamplingParams, "_validate_structured_outputs", plugins)
    assert passes(asked, path)


POST = {"method": "POST", "path": CHAT}


def test_no_body_is_read_for_a_client_whom_vllm_turns_away() -> None:
    """What `--middleware` names stands around vLLM's check of the API key."""

    async def vllm(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})

    (answered,) = asgi.run(RefuseEarly(vllm), [], **POST)  # without messages none can be read
    assert answered["status"] == 401


def test_what_vllm_raises_of_what_is_not_refused_is_its_own() -> None:
    async def vllm(_scope: object, receive: Any, _send: object) -> None:
        await receive()
        raise RuntimeError("of vLLM's own")

    with pytest.raises(RuntimeError, match="of vLLM's own"):
        asgi.run(RefuseEarly(vllm), asgi.pieces(b"{}"), **POST)


def test_a_client_that_goes_in_the_middle_of_its_body_is_vllms_affair() -> None:
    raw = json.dumps(body([BAD])).encode()
    coming = [
        {"type": "http.request", "body": raw[:-1], "more_body": True},
        {"type": "http.disconnect"},
    ]
    seen: list[Any] = []

    async def vllm(_scope: object, receive: Any, _send: object) -> None:
        seen.extend([await receive() for _ in coming])

    asgi.run(RefuseEarly(vllm), coming, **POST)
    assert seen == coming


def test_no_room_for_a_check_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_spec: object) -> list[Any]:
        raise GracefulHTTPError("come again", HTTPStatus.SERVICE_UNAVAILABLE)

    monkeypatch.setattr(checks, "run_async", check)
    _, status, said = sent(json.dumps(body([GOOD])).encode())
    assert (status, said["error"]["code"]) == (503, 503)
    assert said["error"]["message"] == "come again"
    assert said["error"]["type"] == "Service Unavailable"


def test_a_refusal_has_the_headers_id_in_the_log(lines: Any) -> None:
    refused(body([BAD]), headers=((b"x-request-id", b"from-a-proxy"),))
    (line,) = lines()
    assert line.startswith('enforcer: refused error="InvalidSchema" ')
    assert line.endswith('request="from-a-proxy" tool="get"')


def test_without_a_header_the_log_has_the_bodys_id(lines: Any) -> None:
    refused(body([BAD], request_id="mine-7"))
    (line,) = lines()
    assert line.endswith('request="mine-7" tool="get"')


@pytest.mark.vllm
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_over_http(processor_server: Server, path: str, stream: bool) -> None:
    said = vllm_servers.refused(processor_server, body([BAD], stream=stream), path)
    assert "InvalidSchema" in said
    assert "$.tools[0].function.parameters.properties.n.type" in said
