"""A parser of vLLM's own beside ours: which of the two prepares and reads which request."""

from types import SimpleNamespace
from typing import Any

import pytest
from vllm.parser.abstract_parser import Parser

import enforcer
from enforcer.request import carrier
from enforcer.vllm.replies import parser_choice
from enforcer.vllm.replies.tool_parser import EnforcedParser

TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object"}}}
TAG = enforcer.extra_body([TOOL])["structured_outputs"]["structural_tag"]
CLAIMED = carrier.structural_tag("{}")  # whether it is any good is looked at elsewhere


class Stock(Parser):  # type: ignore[misc]
    """A parser of vLLM's, as much as serving calls of it."""

    tool_parser_cls: type | None = object

    def __init__(self, tokenizer: Any, tools: Any = None, **_: Any) -> None:
        self.model_tokenizer = tokenizer
        self.made_of = (tokenizer, tools)
        self.prompt: Any = None

    def _apply_structural_tag(self, request: Any) -> Any:
        request.structured_outputs = {}
        return request

    def set_prompt_token_ids(self, ids: Any) -> None:
        self.prompt = ids

    def parse(self, text: str, _request: Any, *_: Any, **__: Any) -> tuple[str, str]:
        return "Stock", text

    def parse_delta(self, text: str, _ids: Any, _request: Any, *_: Any, **__: Any) -> Any:
        return self.parse(text, None)

    def count_reasoning_tokens(self, _: Any) -> int:
        return 1


class Own(Stock):
    """What stands in for ours."""

    def parse(self, text: str, _request: Any, *_: Any, **__: Any) -> tuple[str, str]:
        return "Own", f"{text} after {self.prompt}"

    def count_reasoning_tokens(self, _: Any) -> int:
        return 2


def request(tag: str | None) -> Any:
    own = None if tag is None else SimpleNamespace(structural_tag=tag)
    return SimpleNamespace(structured_outputs=own)


EITHER = parser_choice.beside(Stock, "kimi_k2")
OTHERS = [None, '{"type": "structural_tag", "format": {"type": "any_text"}}', "no JSON"]


@pytest.mark.parametrize("tag", [TAG, CLAIMED])
def test_ours_reads_what_brings_a_spec(monkeypatch: pytest.MonkeyPatch, tag: str) -> None:
    monkeypatch.setattr(parser_choice, "EnforcedParser", Own)
    parser = EITHER("tokenizer", ["tools"])
    parser.set_prompt_token_ids([1, 2])
    assert parser.parse("text", request(tag), True) == ("Own", "text after [1, 2]")
    assert parser.count_reasoning_tokens([3]) == 2
    streamed = EITHER("tokenizer", ["tools"])
    told = streamed.parse_delta("text", [3], request(tag), [1], finished=False)
    assert told == ("Own", "text after None")


@pytest.mark.parametrize("tag", OTHERS)
def test_vllms_own_reads_the_others(tag: str | None) -> None:
    parser = EITHER("tokenizer", ["tools"])
    parser.set_prompt_token_ids([1, 2])
    assert (parser.made_of, parser.prompt) == (("tokenizer", ["tools"]), [1, 2])
    assert parser.parse("text", request(tag)) == ("Stock", "text")
    assert parser.parse_delta("text", [3], request(tag), finished=True) == ("Stock", "text")
    assert parser.count_reasoning_tokens([3]) == 1


def test_who_reads_is_decided_once_and_not_at_each_token(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []

    def brings_spec(asked: Any) -> bool:
        looked.append(asked)
        return False

    monkeypatch.setattr(parser_choice, "brings_spec", brings_spec)
    parser = EITHER("tokenizer")
    for _ in range(5):
        parser.parse_delta("text", [3], request(None), finished=False)
    assert len(looked) == 1


@pytest.mark.parametrize("tag", [TAG, *OTHERS])
def test_who_prepares_a_request(tag: str | None) -> None:
    found = parser_choice.ours(EITHER, request(tag))
    assert found is (EnforcedParser if tag == TAG else None)
    assert parser_choice.ours(EnforcedParser, request(tag)) is EnforcedParser
    assert parser_choice.ours(Stock, request(tag)) is None
    assert parser_choice.ours(None, request(tag)) is None


@pytest.mark.parametrize("name", ["xlam", None])
def test_of_a_format_that_nobody_knows_vllm_reads_all_and_keeps_a_spec(name: str | None) -> None:
    made = parser_choice.beside(Stock, name)
    assert made("tokenizer").parse("text", request(TAG)) == ("Stock", "text")
    assert parser_choice.ours(made, request(TAG)) is None
    for tag in (TAG, *OTHERS):
        asked = request(tag)
        made("tokenizer")._apply_structural_tag(asked)
        assert asked.structured_outputs == (request(tag).structured_outputs if tag == TAG else {})


def test_without_a_tool_parser_nothing_is_left_to_ours() -> None:
    assert parser_choice.beside(None, "kimi_k2") is None

    class Silent(Stock):
        """Without --enable-auto-tool-choice there is no tool parser in it."""

        tool_parser_cls = None

    assert parser_choice.beside(Silent, "kimi_k2") is Silent
