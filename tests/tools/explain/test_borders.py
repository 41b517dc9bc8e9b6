"""What is said of markers and headers that are spelled, in every dialect."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from enforcer.tools.explain.turn import ExplainedMatcher
from enforcer.turn import dialects
from enforcer.turn.dialect import Ids
from tests.dialect_cases import NAMES, opening, served, vocabulary
from tests.explained_turns import start
from tests.support.cases import parametrized
from tests.support.tools import tool
from tests.vocabularies import feed, legal, write


def tools_of(example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Declare what an example calls."""
    properties: dict[str, dict[str, Any]] = {"get": {}}
    for call in example.get("calls", ()):
        for key, value in json.loads(call["arguments"]).items():
            properties.setdefault(call["name"], {})[key] = {"enum": [value, "other"]}
        properties.setdefault(call["name"], {})
    return [
        tool(name, {
            "type": "object", "properties": each, "additionalProperties": False,
        })
        for name, each in properties.items()
    ]  # fmt: skip


def history(name: str, example: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give a dialog with the calls that an example counts on from."""
    dialect = dialects.load(name)
    calls = example.get("calls", ())
    if dialect.ids is not Ids.WRITTEN or not calls:
        return []
    made = [
        {"id": dialect.header_text(calls[0]["name"], index), "type": "function",
         "function": {"name": calls[0]["name"], "arguments": "{}"}}
        for index in range(calls[0]["index"])
    ]  # fmt: skip
    return [{"role": "assistant", "tool_calls": made}] if made else []


def places(name: str, example: Mapping[str, Any]) -> list[ExplainedMatcher]:
    """Give matchers at every place of an example."""
    ids = write(vocabulary(name), example["text"])
    found = []
    for end in range(len(ids) + 1):
        matcher = start(
            served(name),
            tools_of(example),
            prompt_ids=opening(name),
            messages=history(name, example),
        )
        feed(matcher, ids[:end])
        found.append(matcher)
    return found


EXAMPLES = [
    pytest.param(name, example, id=f"{name}-{at}")
    for name in NAMES
    for at, example in enumerate(dialects.load(name).examples)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_there_are_words_wherever_an_id_is_legal(name: str, example: Mapping[str, Any]) -> None:
    for matcher in places(name, example):
        ids, found = legal(matcher), matcher.expected()
        assert ids, "an example leads nowhere"
        assert found.legal == len(ids)
        assert found.options, f"no words for {len(ids)} ids: {matcher!r}"
        assert legal(matcher) == ids, "asking has changed what is legal"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_the_markers_that_are_named_may_be_written(name: str, example: Mapping[str, Any]) -> None:
    for matcher in places(name, example):
        for option in matcher.expected().options:
            if option.what.startswith("the marker of"):
                (text,) = option.values
                ids = write(vocabulary(name), text)
                assert matcher.validate(ids) == len(ids), f"{text!r} at {matcher!r}"


@pytest.mark.parametrize("name", NAMES)
def test_how_a_demanded_call_begins(name: str) -> None:
    tools = [tool("get", {"type": "object"})]
    matcher = start(served(name), tools, "required", prompt_ids=opening(name))
    words = [option.what for option in matcher.expected().options]
    assert any(each.startswith("the marker of") for each in words), words


def told(name: str, text: str, **request: Any) -> list[str]:
    tools = [tool(each, {"type": "object"}) for each in ("get", "get_weather")]
    matcher = start(served(name), tools, prompt_ids=opening(name), **request)
    feed(matcher, write(vocabulary(name), text))
    return [option.what for option in matcher.expected().options]


@parametrized("tools/explain/cases/borders.toml", "places")
def test_places(dialect: str, text: str, words: list[str]) -> None:
    assert told(dialect, text) == words


def test_text_that_may_not_come_is_not_named() -> None:
    assert told("pythonic", "", tool_choice="required") == ["the marker of calls begin: `[`"]
