"""The engine with a structural tag of vLLM's own: our grammar, and a reply its parsers read."""

import json
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.exceptions import VLLMValidationError
from vllm.parser.parser_manager import ParserManager

from enforcer.errors import SchemaError, UnknownTag
from enforcer.judging.judge import Fault, judge
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.schema.bundling import Documents
from enforcer.turn import dialects
from enforcer.vllm.native import native_tags
from enforcer.vllm.native.misreadings import ReadableMatcher
from enforcer.vllm.observe import metrics
from enforcer.vllm.observe.metric_defs import Failure
from enforcer.vllm.server import runtime
from enforcer.vocabulary import Vocabulary
from tests.spec_cases import named
from tests.stock_tags import python_tag, tokenizer
from tests.vllm_managers import OPENED, begin
from tests.vocabularies import bits, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("installed")]

KIMI = dialects.load("kimi_k2")
LINES = (Path(__file__).parent / "native/rust_tags.jsonl").read_text("utf-8").splitlines()
CASES = [case for case in map(json.loads, LINES) if native_tags.concerns(case["tag"], KIMI)]
SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
EVIL = (
    f"{SECTION}<|tool_call_begin|>functions.evil:0<|tool_call_argument_begin|>{{}}"
    f"<|tool_call_end|>{SECTION_END}"
)
# Some requests differ in nothing that their tags tell.
DISTINCT = list({case["tag"]: case for case in CASES}.values())
CALL = next(case["tag"] for case in CASES if case["body"].get("tool_choice") == "required")


def vocabulary() -> Vocabulary:
    return runtime.table_for(tokenizer()).vocabulary


def takes(grammar: Any, text: str) -> bool:
    return bool(grammar.validate_tokens(ids := write(vocabulary(), text)) == ids)


def test_calls_fit_what_the_tag_declares_and_continue_the_dialog_s_counter(made: Any) -> None:
    call = "<|tool_call_begin|>x<|tool_call_argument_begin|>{}<|tool_call_end|>"
    grammar = begin(made, CALL, f"{OPENED}{SECTION}{call}{call}<|im_end|>{OPENED}")
    assert isinstance(grammar.matcher, ReadableMatcher)
    assert made.backend is None

    def header(name: str, index: int, arguments: str) -> str:
        marker = "<|tool_call_argument_begin|>"
        return f"{SECTION}<|tool_call_begin|>functions.{name}:{index}{marker}{arguments}"

    assert takes(grammar, header("get", 2, '{"a":1}<|tool_call_end|>'))
    assert not takes(grammar, header("get", 0, ""))
    assert not takes(grammar, header("evil", 2, ""))
    assert not takes(grammar, header("get", 2, '{"a":"'))
    assert not takes(grammar, header("get", 2, "{}"))
    assert not takes(grammar, "<|im_end|>")


def test_tools_without_a_schema_in_their_tag_are_counted(made: Any, monkeypatch: Any) -> None:
    found: list[str] = []
    monkeypatch.setattr(metrics, "relaxed", lambda how: found.append(how.value))
    begin(made, CALL)
    assert found == []
    free = [case["tag"] for case in CASES if case["level"] == "function"]
    tag = next(tag for tag in free if len(native_tags.left_free(tag, KIMI)) == 1)
    begin(made, tag)
    assert found == ["free"]


def test_an_unknown_tag_ends_its_request_and_nothing_else(made: Any) -> None:
    with pytest.raises(UnknownTag):
        begin(made, CALL.replace("tool_call_end", "tool_calls_end"))
    assert begin(made, CALL)


def test_a_schema_that_cannot_be_enforced_ends_its_request_before_generation(made: Any) -> None:
    data = json.loads(CALL.replace('"integer"', '"string","pattern":"(a"'))
    with pytest.raises(SchemaError):
        begin(made, json.dumps(data))


def test_what_a_tag_refers_to_is_enforced(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = "https://schemas.example.com/seven"
    tag = CALL.replace('{"type":"integer"}', f'{{"$ref":"{uri}"}}')
    assert tag != CALL
    with pytest.raises(SchemaError, match="leads out of this schema"):
        begin(made, tag)
    monkeypatch.setattr(runtime, "documents", lambda: Documents({uri: {"const": 7}}))
    begun = f"{SECTION}<|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
    assert takes(begin(made, tag), begun + '{"a":7}')
    assert not takes(begin(made, tag), begun + '{"a":8}')


@pytest.mark.parametrize(
    "params",
    [
        *({"allowed_token_ids": [1]}, {"min_tokens": 3}),
        *({"logit_bias": {1: float("-inf")}}, {"stop_token_ids": [1]}),
    ],
)
def test_conflicting_options_fail(made: Any, params: dict[str, Any], failed: list[Any]) -> None:
    with pytest.raises(VLLMValidationError):
        begin(made, CALL, **params)
    assert [why for why, *_ in failed] == [Failure.REFUSED]  # no operator is alerted


@pytest.mark.parametrize("own", [{"choice": [SECTION]}, {"regex": r"<\|tool_call_end\|>"}])
def test_spelled_markers_are_refused(made: Any, failed: list[Any], own: dict[str, Any]) -> None:
    tool = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
    tag = python_tag({"tools": [tool], "structured_outputs": own}, "parameter")
    assert tag is not None
    grammar = begin(made, tag)
    text = own.get("choice", ["<|tool_call_end|>"])[0]
    bitmask = np.zeros((1, -(-len(tokenizer()) // 32)), dtype=np.int32)
    for token in vocabulary().encode(text)[:-1]:
        assert grammar.accept_tokens("r", [token])
    grammar.fill_bitmask(bitmask, 0)
    assert grammar.matcher.failure is not None
    assert [why for why, *_ in failed] == [Failure.REFUSED]


def test_stop_ids_that_end_the_turn_are_taken(made: Any) -> None:
    assert begin(made, CALL, stop_token_ids=[vocabulary().control("<|im_end|>")])


def test_a_tag_without_calls_is_vllm_s(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Mock()
    monkeypatch.setattr("vllm.v1.structured_output.XgrammarBackend", backend)
    tag = '{"type": "structural_tag", "format": {"type": "const_string", "value": "abc"}}'
    assert begin(made, tag) is backend.return_value.compile_grammar.return_value
    assert backend.return_value.compile_grammar.call_args.args[1] == tag


def stock_reply(text: str, body: dict[str, Any]) -> Any:
    """Read a whole reply as vLLM's Python front end does, from its text."""
    sent = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **body}
    asked = ChatCompletionRequest.model_validate(sent)
    parsers = {"tool_parser_name": "kimi_k2", "reasoning_parser_name": "kimi_k2"}
    parser_class = ParserManager.get_parser(
        **parsers, enable_auto_tools=True, model_name="m", tokenizer=tokenizer()
    )
    parser = parser_class(tokenizer(), asked.tools)
    _, content, calls = parser.parse(text, asked, enable_auto_tools=True)
    listed = tuple(ChatCall(c.id or "", c.name, c.arguments) for c in calls or ())
    return ChatReply(200, "", "tool_calls" if listed else "stop", content or "", listed)


def walk(grammar: Any, rng: Random, wild: int = 60, longest: int = 500) -> list[int] | None:
    """Sample a turn from the masks alone, wildly at first, then with its end in view."""
    known = vocabulary()
    ends = ("<|im_end|>", SECTION_END, "<|tool_call_end|>", "</think>")
    ways_out = [known.control(name) for name in (*ends, SECTION, "<|tool_call_begin|>")]
    # What closes a value, or makes the one key that the schemas require, and a value for it.
    closing = [write(known, text)[0] for text in ("}", '":', "a", '"', "]", ":", "1")]
    script = known.encode(rng.choice((EVIL, EVIL.replace("evil", "get"), "<|tool_call_end|>")))
    begins = rng.choice((0, 0, wild // 2))
    mask = np.zeros((1, known.words), dtype=np.int32)
    ids: list[int] = []
    while len(ids) < longest:
        grammar.fill_bitmask(mask, 0)
        allowed = bits(mask[0])
        controls = [token for token in sorted(allowed) if token in known.control_ids]
        token = rng.choice(controls if controls and rng.random() < 0.3 else sorted(allowed))
        if len(ids) >= begins and script:
            # Spells calls in ordinary ids as long as it may, as a user could make a model do.
            token = script.pop(0) if script[0] in allowed else token
        elif len(ids) > wild and rng.random() < 0.9:
            wanted = [*ways_out, *rng.sample(closing, len(closing))]
            token = next((t for t in wanted if t in allowed), token)
        assert grammar.accept_tokens("r", [token])
        if token == ways_out[0]:
            return ids
        ids.append(token)
    return None


@pytest.mark.parametrize("case", DISTINCT, ids=range(len(DISTINCT)))
def test_vllms_own_parser_reads_valid_calls_of_any_turn(made: Any, case: dict[str, Any]) -> None:
    body = {"parallel_tool_calls": True, **case["body"], "messages": []}
    if case["level"] != "parameter":
        body["tools"] = [
            tool if tool["function"].get("strict") else named(tool["function"]["name"])
            for tool in body["tools"]
        ]
    thinking = body.get("chat_template_kwargs", {}).get("thinking", False)
    body["chat_template_kwargs"] = {"thinking": thinking}
    ended = called = 0
    for seed in range(6):
        grammar = begin(made, case["tag"], OPENED + ("<think>" if thinking else ""))
        ids = walk(grammar, Random(seed))
        if ids is None:
            continue
        ended += 1
        reply = stock_reply(vocabulary().decode(ids).decode(errors="replace"), body)
        found = judge(body, reply).findings
        assert not [f for f in found if f.fault is not Fault.LEAK], (reply, ids)
        called += bool(reply.calls)
    assert ended > 2
    assert called or body.get("tool_choice") != "required"
