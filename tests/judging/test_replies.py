import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.judging.replies import ChatCall, ChatReply, joined, whole
from tests.fake_server import call, reply

CALLS = st.lists(
    st.builds(
        lambda name, arguments: call(name, json.dumps(arguments)),
        st.text(min_size=1, max_size=5),
        st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=2),
    ),
    max_size=3,
)


@given(st.sampled_from(["stop", "tool_calls", "length"]), st.none() | st.text(max_size=9), CALLS)
def test_a_stream_reads_as_the_same_reply_whole(
    finish: str, content: str | None, calls: list[dict[str, Any]]
) -> None:
    one = whole(reply({}, finish, content, calls)[1])
    assert one == joined(reply({"stream": True}, finish, content, calls)[1])
    assert (one.answered, one.finish_reason, one.content) == (True, finish, content or "")
    assert [(c.id, c.name, c.arguments) for c in one.calls] == [
        (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls
    ]


def test_the_parts_of_parallel_calls_may_be_mixed() -> None:
    def part(index: int, **more: Any) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": [{"index": index, **more}]}}]}

    got = joined(
        [
            part(0, id="functions.f:0", function={"name": "f", "arguments": ""}),
            part(0, function={"arguments": '{"a"'}),
            part(1, id="functions.g:1", function={"name": "g", "arguments": "{}"}),
            part(0, function={"arguments": ": 1}"}),
            {"choices": [{"delta": {}, "finish_reason": "tool_calls", "token_ids": [1, 2]}]},
        ]
    )
    calls = (ChatCall("functions.f:0", "f", '{"a": 1}'), ChatCall("functions.g:1", "g", "{}"))
    assert got == ChatReply(200, finish_reason="tool_calls", calls=calls, token_ids=(1, 2))


def test_the_first_choice_is_read() -> None:
    choices = [{"index": n, "delta": {"content": str(n)}, "finish_reason": "stop"} for n in (1, 0)]
    assert joined([{"choices": choices}]).content == "0"


def test_reasoning_has_two_names() -> None:
    for name in ("reasoning", "reasoning_content"):
        message = {"content": None, name: "so"}
        got = whole({"choices": [{"message": message, "finish_reason": "stop"}]})
        assert (got.reasoning, got.content) == ("so", "")


@pytest.mark.parametrize(
    "value", [None, [], {}, {"choices": []}, {"choices": [{}]}, {"choices": [{"message": 1}]}, 7]
)
def test_what_is_no_completion_is_an_error(value: Any) -> None:
    assert not whole(value).answered


@pytest.mark.parametrize("event", [None, 7, {"choices": [7]}, {"choices": [{"delta": 7}]}])
def test_what_is_no_chunk_is_an_error(event: Any) -> None:
    assert not joined([event]).answered


@pytest.mark.parametrize("wrong", [7, ["a"], {"a": 1}])
@pytest.mark.parametrize("field", ["content", "reasoning", "id", "name", "arguments"])
def test_what_is_no_text_where_one_belongs_is_an_error(field: str, wrong: Any) -> None:
    fields = {"content": "a", "reasoning": "b", "id": "c", "name": "d", "arguments": "{}"}
    fields[field] = wrong
    function = {"name": fields["name"], "arguments": fields["arguments"]}
    calls = [{"index": 0, "id": fields["id"], "function": function}]
    said = {"content": fields["content"], "reasoning": fields["reasoning"], "tool_calls": calls}
    got = whole({"choices": [{"message": said, "finish_reason": "stop"}]})
    assert not got.answered
    assert "where a text belongs" in got.error
    assert "where a text belongs" in joined([{"choices": [{"delta": said}]}]).error


def test_an_index_that_is_none_is_an_error() -> None:
    parts = [{"index": "a", "function": {}}, {"index": 0, "function": {}}]
    assert not joined([{"choices": [{"delta": {"tool_calls": parts}}]}]).answered


def test_a_stream_without_an_end_is_an_error() -> None:
    assert "without a finish_reason" in joined([{"choices": [{"delta": {"content": "x"}}]}]).error


def test_what_the_server_aborts_is_no_answer() -> None:
    begun = [call("f", '{"a')]
    for got in (
        whole(reply({}, "abort", calls=begun)[1]),
        joined(reply({"stream": True}, "abort", calls=begun)[1]),
    ):
        assert not got.answered
        assert (got.error, got.finish_reason) == ("the server aborted the reply", "abort")


def test_an_error_in_a_stream_is_an_error() -> None:
    for error, status in (({"message": "died", "code": 503}, 503), ("died", 500)):
        got = joined([{"error": error}])
        assert got.status == status
        assert "died" in got.error
