import json
from pathlib import Path
from typing import Any

import pytest

from bench.demo import transparency
from bench.demo.transparency import Markers
from enforcer.judging.judge import judge
from enforcer.judging.replies import ChatCall, ChatReply
from tests.support.cases import parametrized

S, B, A, E, Z, END, OPEN, CLOSE, OTHER, TEXT = range(10)
MARKERS = Markers(dict(zip(range(9), "SBAEZI<>?", strict=True)))
CALL = [B, TEXT, TEXT, A, TEXT, E]


@parametrized("demo/cases/transparency.toml", "turns")
def test_layout_of_a_turn(turn: str, calls: int, well_formed: bool) -> None:
    token_ids = ["SBAEZI<>?T".index(letter) for letter in turn.replace(" ", "")]
    assert MARKERS.well_formed(token_ids, calls) is well_formed


def test_markers_are_read_from_the_tokenizer(tmp_path: Path) -> None:
    added = [{"id": 7, "content": "<|im_end|>"}, {"id": 9, "content": "[PAD]"}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
    assert Markers.of_model(tmp_path).letters == {7: "I", 9: "?"}


def test_only_valid_turns_are_compared() -> None:
    plain = ChatReply(200, finish_reason="stop", content="a", token_ids=(TEXT, END))
    other = ChatReply(200, finish_reason="stop", content="b", token_ids=(TEXT, TEXT, END))
    broken = ChatReply(200, finish_reason="stop", content="", token_ids=(S, *CALL, Z, END))
    same = transparency.compare(
        [{"messages": []}] * 3, [plain, plain, broken], [plain, other, other], MARKERS
    )
    assert same == transparency.Transparency(valid=2, identical=1)


@pytest.mark.parametrize(("call_id", "compared"), [("functions.f:0", 1), ("call_1", 0)])
def test_dialogs_that_are_rendered_otherwise_are_not_compared(call_id: str, compared: int) -> None:
    call = {"id": call_id, "function": {"name": "f", "arguments": "{}"}}
    body = {"messages": [{"role": "assistant", "tool_calls": [call]}]}
    plain = ChatReply(200, finish_reason="stop", content="a", token_ids=(TEXT, END))
    assert transparency.compare([body], [plain], [plain], MARKERS).valid == compared


@parametrized("demo/cases/transparency.toml", "constrained")
def test_requests_constrained_by_vllm_are_not_compared(more: dict[str, Any], compared: int) -> None:
    call = ChatCall("functions.f:0", "f", "{}")
    named = more.get("tool_choice") not in (None, "auto", "none")
    ids = (S, *CALL, Z, END) if named else (TEXT, END)
    calls = (call,) if named else ()
    finish = "tool_calls" if named else "stop"
    reply = ChatReply(200, finish_reason=finish, content="a", calls=calls, token_ids=ids)
    body = {"messages": [], "tools": [{"function": {"name": "f"}}], **more}
    assert not judge(body, reply).findings
    assert transparency.compare([body], [reply], [reply], MARKERS).valid == compared
