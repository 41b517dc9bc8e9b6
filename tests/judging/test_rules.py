"""What a dialect's replies must look like."""

from dataclasses import replace
from typing import Any

import pytest

from enforcer.judging.judge import Fault, judge
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.judging.rules import KIMI_K2, IdRule, ReplyRules, rules_of
from enforcer.turn import dialects
from enforcer.turn.dialect import Ids

KIMI = dialects.load("kimi_k2")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
BODY = {"messages": [], "tools": [TOOL]}


def test_kimi_k2s_is_what_is_judged_by_where_nothing_is_said() -> None:
    assert rules_of(KIMI) == KIMI_K2
    assert KIMI_K2.ids is IdRule.KIMI
    assert {"<|tool_call_begin|>", "<|im_end|>", "</think>"} <= {*KIMI_K2.markers}


@pytest.mark.parametrize("ids", list(Ids))
def test_every_kind_of_id_has_a_rule(ids: Ids) -> None:
    assert isinstance(rules_of(replace(KIMI, ids=ids)).ids, IdRule)
    assert rules_of(replace(KIMI, ids=ids), IdRule.INDEX).ids is IdRule.INDEX


def test_a_reply_is_judged_by_them() -> None:
    calls = (ChatCall("call_1", "f", "{}"),)
    reply = ChatReply(200, finish_reason="tool_calls", content="<tool_call>", calls=calls)
    strict = judge(BODY, reply, ReplyRules(IdRule.NINE, ("<tool_call>",)))
    assert strict.faults == {Fault.ID, Fault.LEAK}
    assert not judge(BODY, reply, ReplyRules(IdRule.UNIQUE)).faults


def test_schemas_may_refer_to_documents_and_to_nothing_else() -> None:
    uri = "https://schemas.example.com/city"
    schema = {"properties": {"a": {"$ref": uri}}}
    body = {"messages": [], "tools": [{"function": {"name": "f", "parameters": schema}}]}

    def faults(arguments: str, schemas: dict[str, Any]) -> frozenset[Fault]:
        calls = (ChatCall("functions.f:0", "f", arguments),)
        reply = ChatReply(200, finish_reason="tool_calls", calls=calls)
        return judge(body, reply, rules_of(KIMI, schemas=schemas)).faults

    known = {uri: {"const": "Rome"}}
    assert not faults('{"a": "Rome"}', known)
    assert faults('{"a": "Oslo"}', known) == {Fault.SCHEMA}
    assert faults('{"a": "Rome"}', {}) == {Fault.SCHEMA}  # it cannot be evaluated; nobody is asked
