"""Tools and turns to explain.

Owns: them, and starting one. Must not know: what is said of them.
"""

import json
from collections.abc import Sequence
from typing import Any

import enforcer
from enforcer.tools.explain import ExplainedMatcher, explained
from enforcer.tools.explain.trace import Given, Trace, follow
from tests.support.cases import load
from tests.support.tools import tool
from tests.vocabularies import feed, write
from tests.walks import V

WEATHER = json.loads(load("cases/explained.toml")["weather"])
TOOLS = [tool("get_weather", WEATHER), tool("get", {"type": "object"})]
SECTION = "<|tool_calls_section_begin|>"
HEADER = SECTION + "<|tool_call_begin|>functions."
ARGUMENTS = HEADER + "get_weather:0<|tool_call_argument_begin|>"


def start(
    served: enforcer.Enforcer,
    *fields: Any,
    prompt_ids: Sequence[int] | None = None,
    budget: int | None = None,
    **named: Any,
) -> ExplainedMatcher:
    """Start a turn of a request's fields, in the order of `Enforcer.matcher`."""
    return explained(served, served.read_request(*fields, **named), prompt_ids, budget)


def turn(
    text: str = "",
    *,
    tools: list[dict[str, Any]] | None = TOOLS,
    choice: str | None = "auto",
    **options: Any,
) -> ExplainedMatcher:
    """Start a turn and write a text in which markers are spelled."""
    found = start(enforcer.Enforcer(V), tools, choice, **options)
    feed(found, write(V, text))
    return found


def followed(text: str, *more: Given, title: str = "") -> Trace:
    """Trace a turn of a text in which markers are spelled, and of more tokens."""
    return follow(turn(), [*map(Given, write(V, text)), *more], title)


def told(matcher: ExplainedMatcher) -> list[str]:
    """Give what may come next, in words, without the paths."""
    return [option.what for option in matcher.expected().options]


def why(matcher: ExplainedMatcher, token: str) -> str:
    """Say why the first id of a text is not legal."""
    (token_id, *_) = write(V, token)
    found = matcher.explain(token_id)
    assert not found.legal
    return found.reason
