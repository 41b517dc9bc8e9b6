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
def test_layout_of_a_turn(token_ids: list[int], calls: int, expected: bool) -> None:
    assert MARKERS.well_formed(token_ids, calls) is expected


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
def test_requests_that_vllm_constrains_by_itself_are_not_compared(
    more: dict[str, Any], compared: int
) -> None:
    call = ChatCall("functions.f:0", "f", "{}")
    named = more.get("tool_choice") not in (None, "auto", "none")
    ids = (S, *CALL, Z, END) if named else (TEXT, END)
    calls = (call,) if named else ()
    finish = "tool_calls" if named else "stop"
    reply = ChatReply(200, finish_reason=finish, content="a", calls=calls, token_ids=ids)
    body = {"messages": [], "tools": [{"function": {"name": "f"}}], **more}
    assert not judge(body, reply).findings
    assert transparency.compare([body], [reply], [reply], MARKERS).valid == compared
