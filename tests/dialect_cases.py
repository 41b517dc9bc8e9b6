"""Vocabularies and requests to test every dialect with.

Owns: for each dialect, a small vocabulary with its control tokens and with tokens that go across
its borders. Must not know: what is tested with them.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import enforcer
from enforcer.turn import dialects
from enforcer.turn.matcher import Matcher
from enforcer.vocabulary import Vocabulary
from tests.support.cases import load
from tests.support.tools import tool
from tests.vocabularies import PIECES, feed, write

# Tokens over the borders of texts, names, JSON and markers; some over several at once.
CROSSING = [each.encode() for each in load("cases/dialects.toml")["crossing"]]


@cache
def vocabulary(name: str) -> Vocabulary:
    """Give the small vocabulary of a dialect; half of its optional control tokens are absent."""
    dialect = dialects.load(name)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += dict.fromkeys((*PIECES, *CROSSING))
    absent = sorted(dialect.tokens.spelled)[::2]
    controls = {}
    for control in dialect.controls:
        if control not in absent:
            controls[control] = len(tokens)
            tokens.append(control.encode())
    return Vocabulary(tokens, controls)


def knowing(name: str, *texts: bytes) -> Vocabulary:
    """Give the small vocabulary of a dialect with some tokens more, before its control tokens."""
    found = vocabulary(name)
    added = [text for text in texts if text not in found.texts]
    tokens, first = [*found.texts], min(found.controls.values())
    tokens[first:first] = added
    return Vocabulary(tokens, {each: at + len(added) for each, at in found.controls.items()})


@cache
def served(name: str) -> enforcer.Enforcer:
    """Give the enforcer of a dialect over its small vocabulary."""
    return enforcer.Enforcer(
        vocabulary(name), name, options=enforcer.Options(max_calls=3, preamble_ids=5)
    )


NAMES = dialects.available()


def opening(name: str) -> list[int]:
    """Give a prompt that opens a turn."""
    turn = dialects.load(name).turn
    found = vocabulary(name)
    begin = [found.control(each) for each in turn.begin[:1]]
    end = [] if turn.end is None else [found.control(turn.end)]
    return [*begin, *found.encode(turn.role or "assistant" * bool(end)), *end]


CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
TOOLS = [tool(name, CLOSED) for name in ("get", "get_weather", "a")]


def at(
    name: str, text: str, tools: list[dict[str, Any]] = TOOLS, **request: Any
) -> tuple[Matcher, Callable[..., Any]]:
    """Give the matcher after a text, and the ids of tokens by their bytes."""
    found = served(name).matcher(tools, **request)
    feed(found, write(vocabulary(name), text))
    return found, vocabulary(name).find
