"""What a server with the logits processor alone refuses before a reply begins."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from fastapi import FastAPI, Request, Response

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

import vllm
from vllm.entrypoints.serve.exception_handling.register import init_exception_handler
from vllm.exceptions import GracefulHTTPError
from vllm.sampling_params import SamplingParams

import enforcer
from bench.demo.servers import MODEL_NAME
from enforcer.request import carrier
from enforcer.request import tools as tools_
from enforcer.vllm.config import names
from enforcer.vllm.intake import checks
from enforcer.vllm.logits_processor.early import _ROUTES, RefuseEarly
from enforcer.vllm.observe import metrics
from enforcer.vllm.server import reply_lengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.demo.servers import Server


CHAT = "/v1/chat/completions"
ASK = [{"role": "user", "content": "Where?"}]
VIA = enforcer.Route.LOGITS_PROCESSOR


def tool(schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "get", "parameters": schema}}


GOOD = tool({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
BAD = tool({"properties": {"n": {"type": "float"}}})
OTHERS = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": 1}}}


@pytest.fixture(autouse=True)
def _no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    method = "_validate_structured_outputs"
    patched = getattr(SamplingParams, method)
    monkeypatch.setattr(SamplingParams, method, getattr(patched, names.PATCHED, patched))


def sent(
    raw: bytes,
    path: str = CHAT,
    pieces: int = 1,
    method: str = "POST",
    headers: tuple[tuple[bytes, bytes], ...] = (),
    *,
    config: object = None,
) -> tuple[bytes | None, int, Any]:
    """Give what reaches vLLM, and what is answered in its place."""
    size = -(-len(raw) // pieces) or 1
    parts = [raw[at : at + size] for at in range(0, len(raw), size)] or [b""]
    coming = [
        {"type": "http.request", "body": part, "more_body": at + 1 < len(parts)}
        for at, part in enumerate(parts)
    ]
    coming.append({"type": "http.disconnect"})
    reached: list[bytes] = []
    answered: list[dict[str, Any]] = []

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        answered.append(message)

    async def reached_by(request: Request) -> Response:
        reached.append(await request.body())
        return Response()

    vllm = FastAPI()
    vllm.state.args, vllm.state.vllm_config = SimpleNamespace(log_error_stack=False), config
    init_exception_handler(vllm)
    vllm.add_route("/{path:path}", reached_by, ["GET", "POST"])
    scope = {
        "type": "http", "method": method, "path": path, "headers": headers, "query_string": b"",
    }  # fmt: skip
    asyncio.run(RefuseEarly(vllm)(scope, receive, send))
    if reached:
        return reached[0], 0, None
    start, body = answered
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    return None, start["status"], json.loads(body["body"])


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
def test_what_is_not_refused_reaches_vllm_as_it_is(
    raw: bytes, path: str, method: str, pieces: int
) -> None:
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
    reached, status, _ = sent(raw)
    assert (reached, status) == (None, 400)


@pytest.mark.parametrize(
    "path",
    [*(CHAT, f"{CHAT}/batch", "/v1/completions", "/v1/responses", "/invocations", f"/base{CHAT}")],
)
def test_a_schema_that_cannot_be_enforced_is_refused(path: str) -> None:
    reached, status, said = sent(json.dumps(body([BAD], stream=True)).encode(), path, 2)
    where = "tools[0].function.parameters.properties.n.type"
    assert (reached, status) == (None, 400)
    assert where in said["error"]["message"]
    assert f"InvalidSchema: {said['error']['message'].partition(': ')[2]}" in str(said)
    assert f"$.{where}" in said["error"]["message"]


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/invocations"])
def test_beam_search_is_refused_wherever_it_can_be_asked_for(path: str) -> None:
    reached, status, said = sent(json.dumps(body([GOOD], use_beam_search=True)).encode(), path)
    assert (reached, status) == (None, 400)
    assert "parameter=use_beam_search" in said["error"]["message"]


def of_tokens(tools: list[Any], **more: Any) -> bytes:
    extra = enforcer.extra_body(tools, via=VIA)["vllm_xargs"]
    return json.dumps({"token_ids": [1], "sampling_params": {"extra_args": extra, **more}}).encode()


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (of_tokens([BAD]), "InvalidSchema"),
        (of_tokens([GOOD], min_tokens=3), "min_tokens"),
        (of_tokens([GOOD], logit_bias={"1": -1e300}), "logit_bias"),
    ],
)
def test_a_body_of_token_ids_has_its_spec_in_its_sampling_parameters(raw: bytes, word: str) -> None:
    reached, status, said = sent(raw, "/inference/v1/generate")
    assert (reached, status) == (None, 400)
    assert word in said["error"]["message"]


@pytest.mark.parametrize("raw", [of_tokens([GOOD]), b'{"enforcer": 1, "sampling_params": "x"}'])
def test_others_of_them_reach_vllm(raw: bytes) -> None:
    assert sent(raw, "/inference/v1/generate") == (raw, 0, None)


@pytest.mark.parametrize("via", list(enforcer.Route))
def test_a_spec_on_a_route_that_drops_it_is_refused(via: enforcer.Route) -> None:
    raw = json.dumps({"messages": ASK, **enforcer.extra_body([GOOD], via=via)}).encode()
    reached, status, said = sent(raw, "/cohere/v2/chat")
    assert (reached, status) == (None, 400)
    assert "drops" in said["error"]["message"]


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


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"min_tokens": 3}, "min_tokens"),
        ({"allowed_token_ids": [1]}, "allowed_token_ids"),
        ({"vllm_xargs": {"enforcer": "off"}}, "takes no words"),
        ({"vllm_xargs": {"enforcer": "{"}}, "not JSON"),
        ({"vllm_xargs": {"enforcer": "{}"}}, "(at `$.vllm_xargs.enforcer`)"),
        ({"use_beam_search": True, "n": 2}, "use_beam_search"),
        ({"stop": "x"}, "`stop`"),
    ],
)
def test_options_are_refused(more: dict[str, Any], word: str) -> None:
    _, status, said = sent(json.dumps(body([GOOD], **more)).encode())
    assert status == 400
    assert word in said["error"]["message"]


@pytest.mark.parametrize(
    ("path", "more"),
    [
        (CHAT, {"stop_sequences": ["x"]}),
        ("/v1/messages", {"stop": "x", "use_beam_search": True, "max_tokens": 9}),
        ("/v1/responses", {"use_beam_search": True, "bad_words": ["x"], "response_format": OTHERS}),
        ("/v1/completions", {"messages": ASK, "tools": [], "tool_choice": "none"}),
    ],
)
def test_a_field_that_its_class_does_not_declare_says_nothing(
    path: str, more: dict[str, Any]
) -> None:
    raw = json.dumps(body([GOOD]) | more).encode()
    assert sent(raw, path) == (raw, 0, None)


def test_stops_of_the_messages_api_are_refused() -> None:
    raw = json.dumps(body([GOOD], stop_sequences=["x"])).encode()
    _, status, said = sent(raw, "/v1/messages")
    assert (status, "`stop_sequences`" in said["error"]["message"]) == (400, True)


def named(name: str, schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema}}


FLAT = {"type": "function", "name": "get", "parameters": GOOD["function"]["parameters"]}
ANTHROPIC = {"name": "get", "input_schema": GOOD["function"]["parameters"]}
ONE = {"type": "function", "function": {"name": "get"}}
# Equal to Python, and not to JSON.
TRUE: dict[str, Any] = {"properties": {"n": {"const": True}}}
SAYS_ONE = enforcer.extra_body([named("get", {"properties": {"n": {"const": 1}}})], via=VIA)


@pytest.mark.parametrize(
    ("choice", "more", "says"),
    [
        ("auto", {"tools": [named("put", {})]}, "calls of 'get', which"),
        ("required", {"tools": [{**FLAT, "name": "put"}]}, "calls of 'get', which"),
        ("auto", {"tools": [named("get", {"type": "object"})]}, "other arguments of 'get'"),
        ("auto", {"tools": [{**ANTHROPIC, "input_schema": {}}]}, "other arguments of 'get'"),
        ("auto", {"tools": [named("get", TRUE)], **SAYS_ONE}, "other arguments of 'get'"),
        ("auto", {"tool_choice": "required"}, "what `tool_choice` does not"),
        ("none", {"tool_choice": ONE}, "what `tool_choice` does not"),
        ("auto", {"tool_choice": {"type": "any"}}, "what `tool_choice` does not"),
        ("auto", {"tool_choice": {"type": "tool", "name": "get"}}, "what `tool_choice` does not"),
        ("auto", {"tool_choice": {"type": "allowed_tools", "mode": "required"}}, "what `tool_choi"),
        ("required", {"tool_choice": {"type": "function", "name": "put"}}, "what `tool_choice`"),
        ("auto", {"response_format": OTHERS}, "not in the `response_format`"),
        ("auto", {"tools": None}, "calls of 'get', which"),
        ("auto", {"tools": []}, "calls of 'get', which"),
        ("required", {"tool_choice": "none"}, "calls of 'get', which"),
        ("auto", {"tool_choice": {"type": "none"}}, "calls of 'get', which"),
    ],
)
def test_a_spec_of_another_request_is_refused(choice: str, more: dict[str, Any], says: str) -> None:
    own = enforcer.extra_body([GOOD], choice, via=VIA)
    raw = json.dumps({"messages": ASK, "tools": [GOOD], **own, **more}).encode()
    reached, status, said = sent(raw)
    assert (reached, status) == (None, 400)
    assert says in said["error"]["message"]
    assert "parameter=vllm_xargs.enforcer" in said["error"]["message"]


@pytest.mark.parametrize("depth", [100, 400, *range(940, 1000)])
def test_what_is_nested_too_deeply_costs_its_own_request_alone(depth: int) -> None:
    deep = named("get", {"title": "t", "not": "DEEP"})
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
def test_equal_schemas_are_compared_by_their_text(
    monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    """Not read and written again, which for megabytes takes the event loop long."""
    monkeypatch.setattr(tools_, "_canonical", None)
    raw = json.dumps(body([tool({"properties": {letter: {"type": "integer"}}})])).encode()
    assert sent(raw) == (raw, 0, None)


@pytest.mark.parametrize(
    ("choice", "more"),
    [
        ("none", {}),  # what is stricter is left to the client
        ("required", {}),
        ("auto", {"tools": [FLAT]}),
        ("auto", {"tools": [named("get", dict(reversed(GOOD["function"]["parameters"].items())))]}),
        ("auto", {"tools": [ANTHROPIC, {"name": "put", "input_schema": {}}]}),
        ("auto", {"tools": [{"type": "namespace", "name": "n", "tools": [FLAT]}]}),
        ("auto", {"tools": None, "messages": [{"role": "system", "tools": [GOOD]}, *ASK]}),
        ("none", {"tools": None}),
        ("required", {"tool_choice": "required"}),
        ("required", {"tool_choice": ONE}),
        ("auto", {"tool_choice": {"type": "auto"}}),
        ("none", {"tool_choice": "none", "response_format": {"type": "text"}}),
        ("auto", {"tools": 3, "tool_choice": [], "response_format": "x"}),  # vLLM says so
    ],
)
def test_a_spec_of_the_same_request_is_not(choice: str, more: dict[str, Any]) -> None:
    own = enforcer.extra_body([GOOD], choice, via=VIA)
    raw = json.dumps({"messages": ASK, "tools": [GOOD], **own, **more}).encode()
    assert sent(raw) == (raw, 0, None)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("path", "option", "value"),
    [
        ("/v1/completions", "response_format", OTHERS),
        ("/v1/completions", "response_format", {"type": "json_object"}),
        ("/v1/completions", "structured_outputs", {"regex": "a+"}),
        (CHAT, "structured_outputs", {"json": {}}),
        ("/v1/responses", "structured_outputs", {"structural_tag": "{}"}),
    ],
)
def test_a_constraint_of_vllms_own_beside_a_spec_is_refused(
    path: str, option: str, value: Any, stream: bool
) -> None:
    """The engine would fail where both together leave no token."""
    raw = json.dumps(body([GOOD], prompt="Hi", stream=stream) | {option: value}).encode()
    reached, status, said = sent(raw, path)
    assert (reached, status) == (None, 400)
    assert f"`{option}` cannot be combined with a spec" in said["error"]["message"]


def test_a_body_of_token_ids_has_its_constraint_in_its_sampling_parameters() -> None:
    raw = of_tokens([GOOD], structured_outputs={"regex": "a+"})
    reached, status, said = sent(raw, "/inference/v1/generate")
    assert (reached, status) == (None, 400)
    assert "parameter=structured_outputs" in said["error"]["message"]


def test_options_of_a_constraint_are_none() -> None:
    own = {"structured_outputs": {"whitespace_pattern": " ", "json": None}}
    raw = json.dumps(body([GOOD], response_format={"type": "text"}, **own)).encode()
    assert sent(raw) == (raw, 0, None)


def test_a_completion_has_no_tools_to_compare() -> None:
    raw = json.dumps({"prompt": "Where?", **enforcer.extra_body([GOOD], via=VIA)}).encode()
    assert sent(raw, "/v1/completions") == (raw, 0, None)


def test_a_spec_that_vllm_would_drop_is_refused_where_there_is_no_plugin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = enforcer.extra_body([GOOD], "required")
    raw = json.dumps({"messages": ASK, "tools": [GOOD], "tool_choice": "required", **own}).encode()
    _, status, said = sent(raw)
    assert status == 400
    assert "via=enforcer.Route.LOGITS_PROCESSOR" in said["error"]["message"]

    def patched(*_: object) -> None:
        """Stand in for the plugin's."""

    setattr(patched, names.PATCHED, patched)
    monkeypatch.setattr(SamplingParams, "_validate_structured_outputs", patched)
    assert sent(raw) == (raw, 0, None)


def test_no_body_is_read_for_a_client_whom_vllm_turns_away() -> None:
    """What `--middleware` names stands around vLLM's check of the API key."""
    answered: list[Any] = []

    async def vllm(_scope: object, _receive: object, send: Any) -> None:
        await send({"type": "http.response.start", "status": 401, "headers": []})

    async def receive() -> Any:
        raise AssertionError("the body was read")

    async def send(message: Any) -> None:
        answered.append(message["status"])

    scope = {"type": "http", "method": "POST", "path": CHAT}
    asyncio.run(RefuseEarly(vllm)(scope, receive, send))
    assert answered == [401]


def test_what_vllm_raises_of_what_is_not_refused_is_its_own() -> None:
    async def vllm(_scope: object, receive: Any, _send: object) -> None:
        await receive()
        raise RuntimeError("of vLLM's own")

    async def receive() -> Any:
        return {"type": "http.request", "body": b"{}"}

    scope = {"type": "http", "method": "POST", "path": CHAT}
    with pytest.raises(RuntimeError, match="of vLLM's own"):
        asyncio.run(RefuseEarly(vllm)(scope, receive, None))


def test_a_client_that_goes_in_the_middle_of_its_body_is_vllms_affair() -> None:
    raw = json.dumps(body([BAD])).encode()
    coming = [
        {"type": "http.request", "body": raw[:-1], "more_body": True},
        {"type": "http.disconnect"},
    ]
    seen: list[Any] = []

    async def vllm(_scope: object, receive: Any, _send: object) -> None:
        seen.extend([await receive() for _ in coming])

    async def receive() -> Any:
        return next(pending)

    pending = iter(coming)
    scope = {"type": "http", "method": "POST", "path": CHAT}
    asyncio.run(RefuseEarly(vllm)(scope, receive, None))
    assert seen == coming


def test_no_room_for_a_check_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_spec: object) -> list[Any]:
        raise GracefulHTTPError("come again", HTTPStatus.SERVICE_UNAVAILABLE)

    monkeypatch.setattr(checks, "run_async", check)
    _, status, said = sent(json.dumps(body([GOOD])).encode())
    assert (status, said["error"]["code"]) == (503, 503)
    assert said["error"]["message"] == "come again"
    assert said["error"]["type"] == "Service Unavailable"


def test_a_refusal_has_the_headers_id_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    sent(json.dumps(body([BAD])).encode(), headers=((b"x-request-id", b"from-a-proxy"),))
    (line,) = [r.getMessage() for r in caplog.records if r.name == metrics.logger.name]
    assert line.startswith('enforcer: refused error="InvalidSchema" ')
    assert line.endswith('request="from-a-proxy" tool="get"')


def test_without_a_header_the_log_has_the_bodys_id(caplog: pytest.LogCaptureFixture) -> None:
    sent(json.dumps(body([BAD], request_id="mine-7")).encode())
    (line,) = [r.getMessage() for r in caplog.records if r.name == metrics.logger.name]
    assert line.endswith('request="mine-7" tool="get"')


def _bodies() -> dict[str, dict[str, Any]]:
    function = BAD["function"]
    own: dict[str, Any] = enforcer.extra_body([BAD], "required", via=VIA)
    return {
        CHAT: {"messages": ASK, "tools": [BAD], **own},
        "/invocations": {"messages": ASK, "tools": [BAD], **own},
        "/v1/completions": {"prompt": "Hi", **own},
        "/v1/responses": {"input": "Hi", "tools": [{"type": "function", **function}], **own},
        "/v1/messages": {
            "messages": ASK,
            "max_tokens": 9,
            "tools": [{"name": "get", "input_schema": function["parameters"]}],
            **own,
        },
    }


@pytest.mark.vllm
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", _bodies())
def test_over_http(processor_server: Server, path: str, stream: bool) -> None:
    asked = {"model": MODEL_NAME, "stream": stream, **_bodies()[path]}
    answer = httpx.post(f"{processor_server.url}{path}", json=asked, timeout=300)
    assert answer.status_code == 400, answer.text
    assert "InvalidSchema" in answer.json()["error"]["message"]
    assert "$.tools[0].function.parameters.properties.n.type" in answer.text


@pytest.mark.vllm
def test_a_spec_without_via_over_http(processor_server: Server) -> None:
    own = enforcer.extra_body([GOOD], "required")
    for path, body_ in _bodies().items():
        asked = {key: value for key, value in body_.items() if key != "vllm_xargs"}
        asked |= {"model": MODEL_NAME, "tool_choice": "required", **own}
        answer = httpx.post(f"{processor_server.url}{path}", json=asked, timeout=300)
        assert answer.status_code == 400, (path, answer.text)
        assert "via=" in answer.text
