import json
from dataclasses import replace
from typing import Any

import pytest

from enforcer.judging.judge import Fault, ReplyVerdict, judge
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.judging.rules import IdRule, ReplyRules
from tests.support.cases import each_case

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
    "required": ["city"],
    "additionalProperties": False,
}
EARLIER: list[dict[str, Any]] = [
    {"role": "user", "content": "both, please"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": f"functions.f:{n}", "function": {"name": "f", "arguments": "{}"}} for n in (0, 1)
        ],
    },
]
GOOD = ("functions.weather:0", "weather", {"city": "Oslo"})
NEXT = ("functions.weather:1", *GOOD[1:])


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": WEATHER}}


def body(
    *names: str, messages: list[dict[str, Any]] | tuple[Any, ...] = (), **more: Any
) -> dict[str, Any]:
    request = {"messages": list(messages), **more}
    return {**request, "tools": [tool(n) for n in names]} if names else request


def called(
    *calls: tuple[str, str, Any], finish: str = "tool_calls", content: str = ""
) -> ChatReply:
    made = tuple(ChatCall(id_, name, json.dumps(arguments)) for id_, name, arguments in calls)
    return ChatReply(200, finish_reason=finish, content=content, calls=made)


def only(*names: str, mode: str = "auto") -> dict[str, Any]:
    listed = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": listed}}


def test_a_valid_call_has_no_fault() -> None:
    assert judge(body("weather"), called(GOOD)) == ReplyVerdict(
        "tool_calls", complete=True, has_calls=True
    )


def test_text_has_no_fault() -> None:
    reply = ChatReply(200, finish_reason="stop", content="Hello.")
    assert judge(body("weather"), reply) == ReplyVerdict("stop", complete=True, has_calls=False)


def test_an_empty_reply_is_told_and_forgiven() -> None:
    verdict = judge(body("weather"), ChatReply(200, finish_reason="stop", reasoning="Well."))
    assert (verdict.empty, verdict.findings) == (True, ())
    assert not judge(body("weather"), SAID).empty
    assert not judge(body("weather"), called(GOOD)).empty
    assert not cut().empty


WHICH = GOOD[:2]
NAMED = {"type": "function", "function": {"name": "clock"}}
SAID = ChatReply(200, finish_reason="stop", content="Hello.")


@pytest.mark.parametrize(
    ("request_body", "reply", "fault"),
    [
        (body("clock"), called(GOOD), Fault.UNDECLARED),
        (body(), called(GOOD), Fault.UNDECLARED),
        (body("weather", tool_choice="none"), called(GOOD), Fault.UNDECLARED),
        (body("weather", "clock", tool_choice=only("clock")), called(GOOD), Fault.UNDECLARED),
        (body("weather"), called((*WHICH, {})), Fault.SCHEMA),
        (body("weather"), called((*WHICH, {"city": "Oslo", "unit": "K"})), Fault.SCHEMA),
        (body("weather"), called((*WHICH, {"city": "Oslo", "day": 1})), Fault.SCHEMA),
        (body("weather"), called(NEXT), Fault.ID),
        (body("weather"), called(("weather:0", *GOOD[1:])), Fault.ID),
        (body("weather"), called(GOOD, GOOD), Fault.ID),
        (body("weather", messages=EARLIER), called(GOOD), Fault.ID),
        (body("weather"), replace(SAID, content="<|im_end|>"), Fault.LEAK),
        (body("weather", tool_choice="required"), SAID, Fault.CHOICE),
        (body("weather", tool_choice=only("weather", mode="required")), SAID, Fault.CHOICE),
        (body("weather", "clock", tool_choice=NAMED), called(GOOD), Fault.CHOICE),
        (body("weather", parallel_tool_calls=False), called(GOOD, NEXT), Fault.CHOICE),
        (body("weather"), called(content="I call."), Fault.FINISH),
        (body("weather"), called(GOOD, finish="length"), Fault.FINISH),
        (body("weather"), ChatReply(400, "no such keyword"), Fault.REFUSED),
        (body("weather"), ChatReply(500, "Internal Server Error"), Fault.FAILED),
        (body("weather"), ChatReply(0, "ConnectError()"), Fault.FAILED),
        (body("weather"), ChatReply(200, "the stream ended"), Fault.FAILED),
    ],
)
def test_each_fault_is_found_and_no_other(request_body: Any, reply: Any, fault: Any) -> None:
    assert judge(request_body, reply).faults == {fault}


def test_tools_that_system_messages_declare_are_declared() -> None:
    declared = [{"role": "system", "tools": [tool("weather")]}]
    assert not judge(body(messages=declared), called(GOOD)).faults


def test_allowed_tools_may_be_called() -> None:
    assert not judge(body("weather", "clock", tool_choice=only("weather")), called(GOOD)).faults


def test_arguments_that_are_no_json_fail_the_schema() -> None:
    reply = ChatReply(200, finish_reason="tool_calls", calls=(ChatCall(*GOOD[:2], '{"city": "Os'),))
    [finding] = judge(body("weather"), reply).findings
    assert finding.fault is Fault.SCHEMA
    assert "not JSON" in finding.message


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1.5E+400", "[NaN]", '{"a": Infinity}']
)
def test_what_python_alone_reads_fails_the_schema(number: str) -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    asked = {"messages": [], "tools": [{"type": "function", "function": function}]}
    for arguments, faults in (
        ('{"v": 1e300, "w": "NaN"}', set()),
        (f'{{"v": {number}}}', {Fault.SCHEMA}),
    ):
        call = ChatCall("functions.f:0", "f", arguments)
        whole = judge(asked, ChatReply(200, finish_reason="tool_calls", calls=(call,)))
        assert whole.faults == faults
        # One that was cut off behind them is judged, too.
        cut_off = judge(
            {**asked, "stream": True}, ChatReply(200, finish_reason="length", calls=(call,))
        )
        assert cut_off.faults == faults


def test_a_pattern_of_a_script_is_judged() -> None:
    request = body("weather")
    parameters = {"properties": {"city": {"pattern": r"^\p{Lu}"}}}
    request["tools"][0]["function"]["parameters"] = parameters
    assert not judge(request, called(GOOD)).findings
    [finding] = judge(request, called((*GOOD[:2], {"city": "oslo"}))).findings
    assert "does not match" in finding.message


def test_a_schema_that_cannot_be_evaluated_is_said_to_be_at_fault() -> None:
    request = body("weather")
    request["tools"][0]["function"]["parameters"] = {"$ref": "#/nowhere"}
    [finding] = judge(request, called(GOOD)).findings
    assert finding.fault is Fault.SCHEMA
    assert "schema cannot be evaluated" in finding.message


def test_the_draft_is_the_one_that_the_schema_names() -> None:
    items = {"type": "array", "items": [{"type": "string"}]}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": items}}
    request = body("weather")
    request["tools"][0]["function"]["parameters"] = schema
    assert not judge(request, called((*GOOD[:2], {"x": ["a"]}))).faults
    assert judge(request, called((*GOOD[:2], {"x": [1]}))).faults == {Fault.SCHEMA}


def test_the_index_goes_on_from_the_history() -> None:
    reply = called(("functions.weather:2", *GOOD[1:]), ("functions.weather:3", *GOOD[1:]))
    assert not judge(body("weather", messages=EARLIER), reply).faults


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        (IdRule.KIMI, ("functions.weather:0", "functions.weather:1"), ("weather:0", "weather:1")),
        (IdRule.INDEX, ("weather:0", "weather:1"), ("weather:0", "weather:2")),
        (IdRule.UNIQUE, ("call_x", "call_y"), ("call_x", "call_x")),
        (IdRule.NINE, ("aB3dE6gH9", "aB3dE6gH8"), ("aB3dE6gH9", "call_xyz9")),
    ],
)
def test_rules_of_ids(rule: IdRule, right: tuple[str, str], wrong: tuple[str, str]) -> None:
    def faults(ids: tuple[str, str]) -> frozenset[Fault]:
        return judge(
            body("weather"), called(*((i, *GOOD[1:]) for i in ids)), ReplyRules(rule)
        ).faults

    assert not faults(right)
    assert faults(wrong) == {Fault.ID}


def cut(*arguments: str, stream: bool = True) -> ReplyVerdict:
    calls = tuple(ChatCall(f"functions.weather:{n}", "weather", a) for n, a in enumerate(arguments))
    reply = ChatReply(200, finish_reason="length", calls=calls)
    return judge(body("weather", tool_choice="required", stream=stream), reply)


def test_a_stream_that_was_cut_off_may_end_in_a_part_of_a_call() -> None:
    assert cut('{"city": "Os') == ReplyVerdict("others", complete=False, has_calls=False)
    assert not cut('{"city": "Oslo"}', '{"ci').faults
    assert not cut().faults


def test_whole_calls_of_a_stream_that_was_cut_off_are_judged() -> None:
    assert cut("{}", '{"ci').faults == {Fault.SCHEMA}
    assert cut("{}").faults == {Fault.SCHEMA}


def test_a_whole_reply_that_was_cut_off_reports_no_call() -> None:
    assert cut('{"city": "Os', stream=False).faults == {Fault.FINISH}
    assert not cut(stream=False).faults


def test_missing_parameters_take_any_object() -> None:
    request = {"messages": [], "tools": [{"type": "function", "function": {"name": "weather"}}]}
    assert not judge(request, called(GOOD)).faults
    assert judge(request, called((*GOOD[:2], [1]))).faults == {Fault.SCHEMA}


@each_case
def test_no_schema_that_is_malformed_ends_a_measurement(schema: Any) -> None:
    request = body("weather")
    request["tools"][0]["function"]["parameters"] = schema
    [finding] = judge(request, called(GOOD)).findings
    assert finding.fault is Fault.SCHEMA
    assert "schema cannot be evaluated" in finding.message
