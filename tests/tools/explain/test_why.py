"""Why an id may not come, around the calls of a turn."""

from contextlib import suppress
from typing import Any

import enforcer
from enforcer.errors import BudgetTooSmall, EnforcerError
from enforcer.tools.explain.turn import ExplainedMatcher
from enforcer.turn import dialects
from tests.explained_turns import ARGUMENTS, HEADER, SECTION, TOOLS, start, told, turn, why
from tests.support.cases import parametrized
from tests.support.tools import tool
from tests.vocabularies import feed, write
from tests.walks import V


def test_a_tool_that_is_not_declared() -> None:
    assert why(turn(HEADER), "think") == (
        "`functions.think` begins no header of a tool that may be called: expected the name of "
        "a tool: one of get, get_weather"
    )


@parametrized("tools/explain/cases/why.toml", "reasons")
def test_why_not(text: str, options: dict[str, Any], token: str, reason: str) -> None:
    assert reason in why(turn(text, **options), token)


def test_text_before_a_demanded_call_has_an_end() -> None:
    matcher = turn("", choice="required")
    while matcher.explain(97).legal:
        assert matcher.accept(97)
    assert "`tool_choice` demands a call, before which at most 32 tokens" in why(matcher, "a")


def closed(parameters: dict[str, Any], begun: str, dialect: str = "kimi_k2") -> ExplainedMatcher:
    """Start a turn with closed objects, of the 256 bytes and markers."""
    v = enforcer.Vocabulary.of_bytes(dialects.load(dialect).controls)
    m = start(enforcer.Enforcer(v, dialect, closed_objects=True), [tool("f", parameters)])
    feed(m, v.encode(begun, markers=True))
    return m


@parametrized("tools/explain/cases/why.toml", "closed")
def test_that_objects_are_closed(dialect: str, begun: str, refused: str) -> None:
    """Only where it is the reason: a schema may close its objects itself."""
    said: dict[str, Any]
    for said, is_reason in (({}, True), ({"additionalProperties": False}, False)):
        inner = {"properties": {"c": {}}, **said}
        parameters = {"properties": {"a": {"type": "integer"}, "aa": inner}, **said}
        reason = closed(parameters, begun, dialect).explain(ord(refused)).reason
        assert reason.startswith(f"`{refused}` ")
        assert ("objects are closed" in reason) is is_reason
        assert "expected " in reason


def test_what_is_refused_in_open_objects_too() -> None:
    of_f = ARGUMENTS.replace("get_weather", "f")
    properties = {"a": {"enum": ["b"]}, "d": {"pattern": "^e"}}
    for begun in ('{"d": "', '{"d": "e", "a": "', "{"):
        reason = closed({"properties": properties}, of_f + begun).explain(ord("x")).reason
        assert reason.startswith("`x` does not fit: expected")


def test_ids_that_stand_for_nothing() -> None:
    matcher = turn()
    hole = next(i for i in range(V.size) if not V.token_bytes(i))
    assert matcher.explain(hole).reason == f"token id {hole} has no text"
    assert "-1 is no token id" in matcher.explain(-1).reason
    assert f"{V.size} is no token id" in matcher.explain(V.size).reason


def test_a_turn_that_failed() -> None:
    matcher = turn(SECTION)
    matcher.fail(EnforcerError("the engine is gone"))
    assert told(matcher) == ["one of `[EOS]`, `<|im_end|>`"]
    assert "the turn has failed and may only end: the engine is gone" in why(
        matcher, "<|tool_call_begin|>"
    )


def least_turn(tools: list[dict[str, Any]], more: int = 0) -> ExplainedMatcher:
    """Start a demanded turn that may have the fewest ids, or some more."""
    served = enforcer.Enforcer(V, options=enforcer.Options(finish_within_budget=True))
    for budget in range(100):
        with suppress(BudgetTooSmall):
            start(served, tools, "required", budget=budget)
            return start(served, tools, "required", budget=budget + more)
    raise AssertionError


def test_too_few_ids_left() -> None:
    matcher = least_turn(TOOLS)
    assert "`a` would leave too few tokens to finish the turn within its budget" in why(
        matcher, "a"
    )
    feed(matcher, write(V, SECTION + "<|tool_call_begin|>"))
    assert told(matcher) == ["the name of a tool: get, written `functions.get:0`"]
    assert "would leave too few tokens" in why(matcher, "functions")
    matcher = least_turn(TOOLS[:1], more=12)
    feed(matcher, write(V, ARGUMENTS + '{"city":"'))
    while matcher.explain(V.find(b"x")).legal:
        assert matcher.accept(V.find(b"x"))
    assert "`x` would leave too few tokens" in why(matcher, "x")
