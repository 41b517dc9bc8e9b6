from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.demo import measuring
from bench.demo.measuring import Fault, Markers, judge
from bench.demo.sending import Call, Reply

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
    "required": ["city"],
    "additionalProperties": False,
}
EARLIER = [
    {"role": "user", "content": "both, please"},
    {
        "role": "assistant",
        "tool_calls": [
            {"id": f"functions.f:{n}", "function": {"name": "f", "arguments": "{}"}} for n in (0, 1)
        ],
    },
]


def body(*names, messages=(), **more):
    tools = [{"type": "function", "function": {"name": n, "parameters": WEATHER}} for n in names]
    request = {"messages": list(messages), **more}
    return {**request, "tools": tools} if tools else request


def called(*calls, finish="tool_calls", content=""):
    made = tuple(Call(id_, name, json.dumps(arguments)) for id_, name, arguments in calls)
    return Reply(200, finish_reason=finish, content=content, calls=made)


SAID = Reply(200, finish_reason="stop", content="Hello.")
GOOD = ("functions.weather:0", "weather", {"city": "Oslo"})


def test_a_valid_call_has_no_fault():
    verdict = judge(body("weather"), called(GOOD))
    assert (verdict.finish, verdict.has_calls, verdict.faults) == ("tool_calls", True, frozenset())


def test_text_has_no_fault():
    verdict = judge(body("weather"), SAID)
    assert (verdict.finish, verdict.has_calls, verdict.faults) == ("stop", False, frozenset())


@pytest.mark.parametrize(
    ("request_body", "reply", "fault"),
    [
        (body("clock"), called(GOOD), Fault.UNDECLARED),
        (body(), called(GOOD), Fault.UNDECLARED),
        (body("weather", tool_choice="none"), called(GOOD), Fault.UNDECLARED),
        (body("weather"), called(("functions.weather:0", "weather", {})), Fault.SCHEMA),
        (
            body("weather"),
            called(("functions.weather:0", "weather", {"city": "Oslo", "unit": "K"})),
            Fault.SCHEMA,
        ),
        (
            body("weather"),
            called(("functions.weather:0", "weather", {"city": "Oslo", "day": 1})),
            Fault.SCHEMA,
        ),
        (body("weather"), called(("functions.weather:1", *GOOD[1:])), Fault.ID),
        (body("weather"), called(("weather:0", *GOOD[1:])), Fault.ID),
        (body("weather"), called(GOOD, GOOD), Fault.ID),
        (body("weather", messages=EARLIER), called(GOOD), Fault.ID),
        (body("weather"), Reply(200, finish_reason="stop", content="<|im_end|>"), Fault.LEAK),
        (body("weather", tool_choice="required"), SAID, Fault.CHOICE),
        (body("weather"), Reply(200, finish_reason="stop"), Fault.EMPTY),
        (
            body(
                "weather",
                "clock",
                tool_choice={"type": "function", "function": {"name": "clock"}},
            ),
            called(GOOD),
            Fault.CHOICE,
        ),
        (
            body("weather", parallel_tool_calls=False),
            called(GOOD, ("functions.weather:1", *GOOD[1:])),
            Fault.CHOICE,
        ),
        (body("weather"), Reply(500, "Internal Server Error"), Fault.HTTP),
        (body("weather"), Reply(0, "ConnectError()"), Fault.HTTP),
    ],
)
def test_each_fault_is_found_and_no_other(request_body, reply, fault):
    assert judge(request_body, reply).faults == {fault}


def test_arguments_that_are_no_json_fail_the_schema():
    reply = Reply(200, finish_reason="tool_calls", calls=(Call(*GOOD[:2], '{"city": "Os'),))
    assert judge(body("weather"), reply).faults == {Fault.SCHEMA}


def test_the_index_goes_on_from_the_history():
    reply = called(("functions.weather:2", *GOOD[1:]), ("functions.weather:3", *GOOD[1:]))
    assert not judge(body("weather", messages=EARLIER), reply).faults


def test_a_reply_that_was_cut_off_is_not_judged_by_its_calls():
    verdict = judge(body("clock"), called(GOOD, finish="length"))
    assert (verdict.finish, verdict.has_calls, verdict.faults) == ("others", False, frozenset())


def test_missing_parameters_take_any_object():
    request = {"messages": [], "tools": [{"type": "function", "function": {"name": "weather"}}]}
    assert not judge(request, called(GOOD)).faults
    assert judge(request, called((*GOOD[:2], [1]))).faults == {Fault.SCHEMA}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["stop", "tool_calls", "others"]),
            st.booleans(),
            st.frozensets(st.sampled_from(list(Fault))),
        )
    )
)
def test_counts_add_up(drawn):
    verdicts = [measuring.Verdict(*one) for one in drawn]
    row = measuring.count(verdicts)
    assert row.requests == sum(row.finish.values()) == len(verdicts)
    assert 0 <= row.successful <= row.with_calls <= row.requests
    wrong = [v for v in verdicts if v.faults - {Fault.EMPTY}]
    assert row.right == len(verdicts) - len(wrong)
    assert row.perfect == (row.with_calls > 0 and not wrong)
    bad = sum(bool(v.faults & {Fault.UNDECLARED, Fault.SCHEMA}) for v in verdicts if v.has_calls)
    assert row.successful == row.with_calls - bad
    assert not row.perfect or row.accuracy == 1


S, B, A, E, Z, END, OPEN, CLOSE, OTHER, TEXT = range(10)
MARKERS = Markers(dict(zip(range(9), "SBAEZI<>?", strict=True)))
CALL = [B, TEXT, TEXT, A, TEXT, E]


@pytest.mark.parametrize(
    ("token_ids", "calls", "expected"),
    [
        ([TEXT, TEXT, END], 0, True),
        ([END], 0, True),
        ([S, *CALL, Z, END], 1, True),
        ([TEXT, S, *CALL, *CALL, Z, END], 2, True),
        ([OPEN, TEXT, CLOSE, TEXT, S, *CALL, Z, END], 1, True),
        ([S, *CALL, Z, END], 0, False),  # the parser dropped the call
        ([S, *CALL, Z, TEXT, END], 1, False),  # text after the section
        ([S, *CALL, Z, S, *CALL, Z, END], 2, False),  # a second section
        ([S, *CALL, TEXT, *CALL, Z, END], 2, False),  # text between calls
        ([S, Z, END], 0, False),  # an empty section
        ([S, *CALL, END], 1, False),  # the section is not closed
        ([TEXT], 0, False),  # cut off
        ([TEXT, OTHER, END], 0, False),  # another control token
        ([TEXT, E, TEXT, END], 0, False),  # a stray marker
    ],
)
def test_layout_of_a_turn(token_ids, calls, expected):
    assert MARKERS.well_formed(token_ids, calls) is expected


def test_markers_are_read_from_the_tokenizer(tmp_path):
    added = [{"id": 7, "content": "<|im_end|>"}, {"id": 9, "content": "[PAD]"}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    assert Markers.of_model(tmp_path).letters == {7: "I", 9: "?"}


def test_only_valid_turns_are_compared():
    plain = Reply(200, finish_reason="stop", content="a", token_ids=(TEXT, END))
    other = Reply(200, finish_reason="stop", content="b", token_ids=(TEXT, TEXT, END))
    broken = Reply(200, finish_reason="stop", content="", token_ids=(S, *CALL, Z, END))
    same = measuring.compare(
        [body("weather")] * 3, [plain, plain, broken], [plain, other, other], MARKERS
    )
    assert same == measuring.Transparency(valid=2, identical=1)
