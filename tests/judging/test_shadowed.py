"""The task of shadow mode: judged as `enforcer verify` judges, in a worker process."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enforcer.checking.pool import Pool
from enforcer.checking.task import WorkerState
from enforcer.checking.work import TOO_SLOW
from enforcer.engines import load
from enforcer.errors import InvalidTools, SchemaLimit
from enforcer.judging.judge import Fault, judge
from enforcer.judging.replies import joined
from enforcer.judging.shadowed import ShadowedExchange, ShadowVerdict, tool_at
from enforcer.request.options import Options
from enforcer.schema.limits import Limits
from enforcer.turn import dialects
from tests.support.tools import tool
from tests.vocabularies import small

VOCABULARY = small()
STARTER = WorkerState(load("machine", VOCABULARY))
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ODD = {"type": "object", "properties": {"a": {"pattern": "("}}}
MODULES = ("enforcer.judging.shadowed",)


def body(*tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"messages": [{"role": "user", "content": "Hi"}], **more}
    return {**said, "tools": list(tools)} if tools else said


def message(*calls: tuple[str, str, str], content: str = "") -> dict[str, Any]:
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": made}


def whole(*messages: dict[str, Any], finish: str = "tool_calls") -> dict[str, Any]:
    listed = enumerate(messages)
    return {"choices": [{"index": n, "message": m, "finish_reason": finish} for n, m in listed]}


def written(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def exchange(body: Any, reply: Any, number: int = 0) -> ShadowedExchange:
    both = written(body), written(reply)
    return ShadowedExchange(number, *both, "kimi_k2", (), Options(), trusts_plain=True)


def events(*said: dict[str, Any]) -> bytes:
    return (
        b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in said) + b"data: [DONE]\n\n"
    )


WRONG = message(("functions.city:0", "city", "{}"), ("functions.evil:1", "evil", "{}"))
RIGHT = message(("functions.city:0", "city", '{"city": "Oslo"}'))


def test_each_choice_is_judged_as_the_command_does() -> None:
    asked = body(tool("city", CITY))
    found = exchange(asked, whole(WRONG, RIGHT)).perform(STARTER)
    wrong, right = found.choices
    assert not right.findings
    assert wrong.faults == judge(asked, joined([whole(WRONG)])).faults
    assert [(each.fault, each.tool) for each in wrong.findings] == [
        (Fault.SCHEMA, "city"),
        (Fault.UNDECLARED, "evil"),
    ]
    assert found.error is None
    assert found.spec is None


def test_a_stream_is_put_together_by_choice() -> None:
    parts = [
        {"choices": [{"index": at, "delta": each}]}
        for each in ({"content": "a"}, {"content": "\u2028b"}, {"content": "<|tool_call_end|>"})
        for at in ((0, 1) if "end" not in each["content"] else (1,))
    ]
    ends: list[dict[str, Any]] = [
        {"choices": [{"index": at, "delta": {}, "finish_reason": "stop"}]} for at in (0, 1)
    ]
    usage: dict[str, Any] = {"choices": [], "usage": {}}
    asked = body(tool("city", CITY), stream=True, n=2)
    found = exchange(asked, events(*parts, *ends, usage)).perform(STARTER)
    assert [each.faults for each in found.choices] == [set(), {Fault.LEAK}]


@pytest.mark.parametrize(("code", "fault"), [(400, Fault.REFUSED), (500, Fault.FAILED)])
def test_an_error_in_a_stream_is_none_of_the_model_s(code: int, fault: Fault) -> None:
    error = {"error": {"message": "no", "code": code}}
    found = exchange(body(stream=True), events(error)).perform(STARTER)
    assert [each.faults for each in found.choices] == [{fault}]


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        (b"{", whole(RIGHT)),
        (body(), b"{"),
        (body(), b"\x1f\x8b"),  # compressed by another middleware: no stream of events
        ([], whole(RIGHT)),
        (body(tool("city", CITY)) | {"messages": 3}, whole(RIGHT)),
        (body({"type": "function"}), whole(RIGHT)),
        (b"[" * 100_000, whole(RIGHT)),
    ],
)
def test_what_cannot_be_judged_is_never_an_error(asked: Any, reply: Any) -> None:
    found = exchange(asked, reply).perform(STARTER)
    assert not [each for each in found.choices if not each.faults & {Fault.FAILED}]


def test_a_request_that_would_be_refused_names_its_tool() -> None:
    found = exchange(body(tool("city", CITY), tool("city", CITY)), whole(RIGHT)).perform(STARTER)
    assert isinstance(found.error, InvalidTools)
    assert found.tool == "city"
    few = replace(exchange(body(tool("a", CITY), tool("b", CITY)), whole(RIGHT)),
        options=Options(limits=Limits(tools=1)))  # fmt: skip
    found = few.perform(STARTER)
    assert isinstance(found.error, SchemaLimit)
    assert found.tool == ""
    assert found.choices


def test_schemas_that_may_be_refused_are_left_to_their_own_checks() -> None:
    asked = body(tool("city", CITY), tool("odd", ODD), response_format={"type": "json_object"})
    one = exchange(asked, whole(RIGHT))
    found = one.perform(STARTER)
    assert found.error is None
    assert [*found.spec.toolset.tools] == ["odd"]
    assert found.spec.response_format is not None
    assert tool_at(found.spec.toolset.tools, "$.tools[1].function.parameters.a") == "odd"
    assert tool_at(found.spec.toolset.tools, "$.response_format") == ""
    every = replace(one, trusts_plain=False).perform(STARTER)
    assert [*every.spec.toolset.tools] == ["city", "odd"]


def test_documents_are_known(tmp_path: Path) -> None:
    uri = "https://schemas.example.com/seven"
    (tmp_path / "seven.json").write_text(json.dumps({"$id": uri, "const": 7}))
    schema = {"type": "object", "properties": {"a": {"$ref": uri}}}
    for value, faults in ((7, set()), (8, {Fault.SCHEMA})):
        said = message(("functions.f:0", "f", json.dumps({"a": value})))
        one = replace(exchange(body(tool("f", schema)), whole(said)), documents=(str(tmp_path),))
        (found,) = one.perform(STARTER).choices
        assert found.faults == faults


@pytest.mark.slow
def test_a_worker_does_it_and_ends_what_takes_too_long() -> None:
    pool = Pool("machine", VOCABULARY, dialects.load("kimi_k2").name, modules=MODULES)
    asked = exchange(body(tool("city", CITY)), whole(WRONG))
    found = pool.check(asked)
    assert found.seconds > 0
    assert replace(found, seconds=0.0) == asked.perform(STARTER)
    halves = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    endless = {"$defs": {**halves, "d40": False}, "properties": {"a": {"$ref": "#/$defs/d0"}}}
    said = message(("functions.f:0", "f", '{"a": 1}'))
    found = pool.check(exchange(body(tool("f", endless)), whole(said), 1))
    assert not isinstance(found, ShadowVerdict)
    assert found.error.problems[0].reason == TOO_SLOW
    assert isinstance(pool.check(replace(asked, number=2)), ShadowVerdict)
