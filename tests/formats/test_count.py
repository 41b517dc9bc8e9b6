"""The judge of the table counts a call as begun where one is, and nowhere else."""

import pytest

from bench.formats.catalogue import FORMATS
from bench.formats.count import begun, count
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.vocabulary import Vocabulary
from tests.support.tools import tool

TOOL = tool("w", {"properties": {"a": {"type": "string"}}})
BODY = {"messages": [], "tools": [TOOL], "tool_choice": "auto"}


GRANITE = FORMATS["granite_20b_fc"]
BYTES = Vocabulary.of_bytes([GRANITE.end])


def reply(text: str, *calls: str, content: str = "") -> ChatReply:
    """Give a reply of Granite's, whose marker is no token."""
    made = tuple(ChatCall("id", "w", arguments) for arguments in calls)
    reason = "tool_calls" if made else "stop"
    ids = (*text.encode(), BYTES.control(GRANITE.end))
    return ChatReply(200, "", reason, content, made, ids, "")


@pytest.mark.parametrize(
    ("text", "calls", "expected"),
    [
        ('<function_call>{"name": "w", "arguments": {}}', ("{}",), 1),
        ("Hi", (), 0),
        ("<function_call> w", (), 1),
        ('<function_call>… {"a": "<function_call>"}…', ('{"a": "<function_call>"}',), 1),
        (
            '<function_call>{"a": "<function_call>"}<function_call>',
            ('{"a": "<function_call>"}',),
            2,
        ),
    ],
)
def test_a_marker_in_arguments_is_no_call(text: str, calls: tuple[str, ...], expected: int) -> None:
    assert begun(GRANITE, BYTES, reply(text, *calls)) == expected


def test_a_call_that_the_client_did_not_get_is_lost() -> None:
    lost = reply("<function_call> w", content="w")
    whole = reply("<function_call>…", '{"a": "b"}')
    assert count(GRANITE, BYTES, [BODY], [lost])["lost"] == 1
    assert count(GRANITE, BYTES, [BODY], [whole]) == {"calls": 1}


def test_a_marker_that_is_a_token_is_text_where_it_is_spelled() -> None:
    row = FORMATS["hermes"]
    vocabulary = Vocabulary.of_bytes([row.end, row.call])
    spelled = tuple(row.call.encode())
    token = vocabulary.control(row.call)
    made = ChatReply(200, "", "stop", "", (), (*spelled, token, *spelled), "")
    assert begun(row, vocabulary, made) == 1
