"""What is told of a reply's calls: of those that were not declared, and of those that lack."""

from collections import Counter
from collections.abc import Callable
from contextvars import copy_context
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.parser import ParserManager

import enforcer
from enforcer.errors import ConfigurationError, InvalidVocabulary
from enforcer.vllm.config import names
from enforcer.vllm.intake import dialogs, startup
from enforcer.vllm.observe import request_context
from enforcer.vllm.observe.metric_defs import Outcome
from enforcer.vllm.replies import parser_choice
from enforcer.vllm.replies.tool_parser import EnforcedParser
from enforcer.vllm.server import runtime
from enforcer.vllm.server.side_table import notes
from tests import dialect_cases, vocabularies
from tests.support.cases import each_case

VOCABULARY = vocabularies.small()
TABLE = enforcer.Enforcer(VOCABULARY).table
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
HEADER = "<|im_assistant|>assistant<|im_middle|>"


def reply(*headers: str) -> list[int]:
    """Write a turn that makes a call of each header."""
    begin, end = "<|tool_call_begin|>", "<|tool_call_argument_begin|>{}<|tool_call_end|>"
    text = vocabularies.section(*(begin + header + end for header in headers))
    return vocabularies.write(VOCABULARY, text)


TEXT = vocabularies.write(VOCABULARY, "Let me")
BEGUN = reply("functions.get:0")[:-4]


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


def new_parser(request: Any) -> EnforcedParser:
    parser = EnforcedParser(None, request.tools)
    parser.set_prompt_token_ids(vocabularies.write(VOCABULARY, HEADER))
    return parser


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, counted: Counter[Outcome]) -> Counter[Outcome]:
    """Count what is told of calls from here on."""
    monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)
    return counted


@pytest.fixture(params=[parsed, streamed])
def read(request: Any, monkeypatch: Any) -> Callable[..., list[str]]:
    """Give a function that reads a reply to a request by an id, and names its calls."""
    monkeypatch.setattr(runtime, "table_for", lambda *_: TABLE)

    def _read(ids: list[int], known_as: str) -> list[str]:
        sent = ChatCompletionRequest(model="m", messages=[], tools=[TOOL], tool_choice="auto")
        dialogs.adopt(sent)  # as it is prepared
        request_context.known_as(known_as)
        found: list[str] = request.param(new_parser(sent), sent, ids)
        return found

    return lambda ids, known_as="chatcmpl-7": copy_context().run(_read, ids, known_as)


@each_case
def test_dropped_calls_have_a_line(read: Any, caplog: Any, headers: list[str], line: str) -> None:
    declared = [header for header in headers if header.startswith("functions.get:")]
    assert len(read(reply(*headers))) == len(declared)
    (said,) = (record for record in caplog.records if "call dropped" in record.getMessage())
    assert said.getMessage() == f"enforcer: call dropped{line}"
    assert said.levelname == "WARNING"


def test_without_an_id_the_line_has_the_tool_alone(read: Any, lines: Any) -> None:
    read(reply("functions.evil:0"), "")
    assert lines() == ['enforcer: call dropped tool="evil"']


def test_a_reply_of_declared_calls_has_no_line(read: Any, caplog: Any) -> None:
    assert read(reply("functions.get:0", "functions.get:1")) == ["get", "get"]
    assert not caplog.records


@pytest.mark.parametrize("reader", [parsed, streamed])
def test_ids_to_read_raise_no_alert(counted: Counter[Outcome], caplog: Any, reader: Any) -> None:
    """By /derender anybody sends any ids, and must not fire the alert of undeclared calls."""
    request, ids = chat("auto"), reply("functions.rm:0", "functions.get:1")
    assert copy_context().run(reader, new_parser(request), request, ids) == ["get"]
    assert counted[Outcome.COMPLETED] == 1
    assert Outcome.DROPPED not in counted
    assert not caplog.records


@pytest.mark.parametrize("reader", [parsed, streamed])
def test_a_reply_to_read_may_call_tools_of_messages(counted: Counter[Outcome], reader: Any) -> None:
    says = [{"role": "system", "content": "x", "tools": [TOOL]}]
    for more, found in (({}, ["get"]), ({"tool_choice": "none"}, [])):
        request = ChatCompletionRequest(model="m", messages=says, **more)
        ids = reply("functions.get:0")
        assert copy_context().run(reader, new_parser(request), request, ids) == found
        assert (request.tools, request.tool_choice) == (None, "none")
    assert counted[Outcome.COMPLETED] == 1


def chat(choice: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(model="m", messages=[], tools=[TOOL], tool_choice=choice)


def responses(choice: Any) -> ResponsesRequest:
    tools = [{"type": "function", "name": "get", "parameters": {}}]
    return ResponsesRequest(input="", tools=tools, tool_choice=choice)


ROUTES: dict[str, Callable[[Any], Any]] = {"chat": chat, "responses": responses}
REPLIES = {"text": TEXT, "half a call": BEGUN}
REPLIES |= {name: reply(f"functions.{name}:0") for name in ("get", "evil")}


@pytest.mark.parametrize("reader", [parsed, streamed])
@each_case
def test_a_demanded_call_that_was_not_begun_is_counted(
    counted: Counter[Outcome], reader: Any, *, route: str, choice: Any, said: str, lacks: bool
) -> None:
    request = ROUTES[route](choice)
    copy_context().run(reader, new_parser(request), request.model_copy(), REPLIES[said])
    assert counted[Outcome.NOT_BEGUN] == lacks


def test_each_of_several_replies_is_counted(counted: Counter[Outcome]) -> None:
    """The first makes vLLM forget that a call was demanded."""
    request = chat("required")

    def _read() -> None:
        for _ in range(3):
            parsed(new_parser(request), request, TEXT)

    copy_context().run(_read)
    assert request.tool_choice == "auto"
    assert counted[Outcome.NOT_BEGUN] == 3


def test_the_rest_of_a_call_begun_in_the_prompt_is_a_call(counted: Counter[Outcome]) -> None:
    request = chat("required")
    parser = new_parser(request)
    parser.set_prompt_token_ids([*vocabularies.write(VOCABULARY, HEADER), *BEGUN])
    assert parsed(parser, request, reply("functions.get:0")[len(BEGUN) :]) == []
    assert counted[Outcome.NOT_BEGUN] == 0


def test_a_reply_cut_by_length_right_behind_calls_has_none(counted: Counter[Outcome]) -> None:
    """No call comes under `length`, whoever's number it is that ends the reply."""
    request, ids = chat("auto"), reply("functions.get:0")[:-1]
    assert copy_context().run(parsed, new_parser(request), request, ids) == ["get"]
    notes(request).most_ids = len(ids)
    assert copy_context().run(parsed, new_parser(request), request, ids) == []
    assert counted == {Outcome.COMPLETED: 1, Outcome.CUT_OFF: 1}


composed = partial(parser_choice.compose_parser, lambda *_, **__: None)


def test_a_server_without_auto_tools_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the flag vLLM leaves calls out of whole replies, and says nothing of it."""
    monkeypatch.setenv(names.PARSER_VARIABLE, "")
    with pytest.raises(ConfigurationError, match="needs --enable-auto-tool-choice"):
        composed(ParserManager, "kimi_k2_enforced", enable_auto_tools=False)
    made = composed(ParserManager, "kimi_k2_enforced", enable_auto_tools=True)
    assert made is EnforcedParser


def test_a_server_says_that_it_enforces_once_it_has_read_the_vocabulary(
    monkeypatch: Any, known: Any
) -> None:
    """With another format's parser it does not start, and must not have said that it enforces."""
    said: list[str | None] = []
    monkeypatch.setenv(names.PARSER_VARIABLE, "")
    monkeypatch.setattr(runtime, "pool", Mock)
    monkeypatch.setattr(startup, "say", lambda parser, _: said.append(parser))
    tokenizer = known(dialect_cases.vocabulary("hermes"))
    with pytest.raises(InvalidVocabulary, match=r"--tool-call-parser .* no control token"):
        composed(ParserManager, "kimi_k2_enforced", tokenizer=tokenizer)
    assert said == []
    composed(ParserManager, "hermes_enforced", tokenizer=tokenizer)
    assert said == ["hermes_enforced"]


@pytest.fixture
def beside_stock(monkeypatch: pytest.MonkeyPatch, known: Any) -> Callable[[], Any]:
    """Start a server with a parser of vLLM's own, and the plugin."""

    def compose() -> Any:
        pool = Mock()
        monkeypatch.setenv(names.PARSER_VARIABLE, "")
        monkeypatch.setattr(runtime, "pool", lambda: pool)
        composed(ParserManager, "hermes", tokenizer=known(dialect_cases.vocabulary("hermes")))
        return pool

    return compose


def test_what_checks_specs_is_started_beside_vllms_parser(beside_stock: Any) -> None:
    assert beside_stock().warm.call_count == 1


def test_a_broken_document_ends_the_start_beside_vllms_parser(
    beside_stock: Any, monkeypatch: Any, tmp_path: Path, use: Any
) -> None:
    (tmp_path / "city.json").write_text("{")
    monkeypatch.setattr(runtime, "documents", cache(runtime.documents.__wrapped__))
    use(documents=str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"city\.json is not JSON"):
        beside_stock()
