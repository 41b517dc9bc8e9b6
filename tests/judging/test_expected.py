"""What a dialect's replies must look like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from enforcer.judging import expected
from enforcer.judging.judge import MARKERS, Fault, IdRule, ReplyRules, judge
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.turn import dialects
from enforcer.turn.dialect import Ids

KIMI = dialects.load("kimi_k2")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
BODY = {"messages": [], "tools": [TOOL]}


def test_kimi_k2s_is_what_is_judged_by_where_nothing_is_said() -> None:
    found = expected.of(KIMI)
    assert found.ids is ReplyRules().ids
    assert set(found.markers) == {*MARKERS, "[EOS]"}


@pytest.mark.parametrize("ids", list(Ids))
def test_every_kind_of_id_has_a_rule(ids: Ids) -> None:
    assert isinstance(expected.of(replace(KIMI, ids=ids)).ids, IdRule)
    assert expected.of(replace(KIMI, ids=ids), IdRule.INDEX).ids is IdRule.INDEX


def test_a_reply_is_judged_by_them() -> None:
    reply = ChatReply(
        finish_reason="tool_calls",
        content="<tool_call>",
        calls=(ChatCall("call_1", "f", "{}"),),
        status=200,
    )
    strict = judge(BODY, reply, ReplyRules(IdRule.NINE, ("<tool_call>",)))
    assert strict.faults == {Fault.ID, Fault.LEAK}
    assert not judge(BODY, reply, ReplyRules(IdRule.UNIQUE)).faults


def test_schemas_may_refer_to_documents_and_to_nothing_else() -> None:
    uri = "https://schemas.example.com/city"
    schema = {"properties": {"a": {"$ref": uri}}}
    body = {"messages": [], "tools": [{"function": {"name": "f", "parameters": schema}}]}

    def faults(arguments: str, schemas: dict[str, Any]) -> frozenset[Fault]:
        reply = ChatReply(
            200, finish_reason="tool_calls", calls=(ChatCall("functions.f:0", "f", arguments),)
        )
        return judge(body, reply, expected.of(KIMI, schemas=schemas)).faults

    known = {uri: {"const": "Rome"}}
    assert not faults('{"a": "Rome"}', known)
    assert faults('{"a": "Oslo"}', known) == {Fault.SCHEMA}
    assert faults('{"a": "Rome"}', {}) == {Fault.SCHEMA}  # it cannot be evaluated; nobody is asked


@pytest.mark.parametrize(
    ("metrics", "dialect"),
    [
        (None, None),
        ("", None),
        (
            'enforcer_dialect{dialect="hermes"} 0.0\nenforcer_dialect{dialect="kimi_k2"} 2.0\n',
            "kimi_k2",
        ),
        ('# HELP enforcer_dialect x\nenforcer_dialect{dialect="kimi_k3"} 1.0\n', "kimi_k3"),
        # One of several servers behind one address.
        ('enforcer_dialect{dialect="hermes"} 1.0\nenforcer_dialect{dialect="kimi_k2"} 1.0\n', None),
    ],
)
def test_a_server_tells_its_format(metrics: str | None, dialect: str | None) -> None:
    assert expected.told(metrics) == dialect
