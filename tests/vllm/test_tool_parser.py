"""What the log has of a reply with calls that its request did not declare."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

import enforcer
from enforcer.vllm import asked, runtime
from enforcer.vllm.tool_parser import EnforcedParser
from tests import vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable

VOCABULARY = vocabularies.small()
TABLE = enforcer.Enforcer(VOCABULARY).table
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
HEADER = "<|im_assistant|>assistant<|im_middle|>"


def reply(*headers: str) -> list[int]:
    """Write a turn that makes a call of each header."""
    calls = "".join(
        f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
        for header in headers
    )
    text = f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|><|im_end|>"
    return vocabularies.write(VOCABULARY, text)


def parsed(parser: EnforcedParser, request: Any, ids: list[int]) -> list[str]:
    _, _, calls = parser.parse("", request, True, ids)
    return [call.name for call in calls]


def streamed(parser: EnforcedParser, request: Any, ids: list[int]) -> list[str]:
    found = []
    prompt = vocabularies.write(VOCABULARY, HEADER)
    for at, token_id in enumerate(ids):
        delta = parser.parse_delta("", [token_id], request, prompt, finished=at == len(ids) - 1)
        found += [call.function.name for call in (delta and delta.tool_calls) or () if call.id]
    return found


@pytest.fixture(params=[parsed, streamed])
def read(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """Give a function that reads a reply to a request by an id, and names its calls."""
    monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)

    def _read(ids: list[int], known_as: str) -> list[str]:
        sent = ChatCompletionRequest(model="m", messages=[], tools=[TOOL], tool_choice="auto")
        parser = EnforcedParser(None, sent.tools)
        parser.set_prompt_token_ids(vocabularies.write(VOCABULARY, HEADER))
        asked.known_as(known_as)
        found: list[str] = request.param(parser, sent, ids)
        return found

    return lambda ids, known_as="chatcmpl-7": copy_context().run(_read, ids, known_as)


@pytest.mark.parametrize(
    ("headers", "line"),
    [
        (["functions.evil:0"], ' tool="evil" request="chatcmpl-7"'),
        (["functions.get:0", "functions.evil:1", "functions.worse:2"],
         ' tool="evil" request="chatcmpl-7"'),
        (["functions." + "x" * 99 + ":0"], f' tool="{"x" * 64}" request="chatcmpl-7"'),
        (["no\nheader", "functions.evil:1"], ' request="chatcmpl-7"'),
    ],
)  # fmt: skip
def test_a_reply_with_dropped_calls_has_one_line_that_names_the_first(
    read: Callable[..., list[str]],
    caplog: pytest.LogCaptureFixture,
    headers: list[str],
    line: str,
) -> None:
    declared = [header for header in headers if header.startswith("functions.get:")]
    assert len(read(reply(*headers))) == len(declared)
    (said,) = (record for record in caplog.records if "call dropped" in record.getMessage())
    assert said.getMessage() == f"enforcer: call dropped{line}"
    assert said.levelname == "WARNING"


def test_without_an_id_the_line_has_the_tool_alone(
    read: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    read(reply("functions.evil:0"), "")
    (said,) = (record.getMessage() for record in caplog.records)
    assert said == 'enforcer: call dropped tool="evil"'


def test_a_reply_of_declared_calls_has_no_line(
    read: Callable[..., list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    assert read(reply("functions.get:0", "functions.get:1")) == ["get", "get"]
    assert not caplog.records
