"""Requests that are made to hurt a server, each of which once did.

Owns: their schemas and specs, and how each load is dressed for the Enforcer and for vLLM's own
constraint. Must not know: what the server does with them, what the neighbour is.

Tools go by `/v1/completions`, where no template writes them into the prompt: else the largest
would be refused for the prompt's length, before anything has looked at them. Every request has
words of its own, so that no cache helps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import enforcer
from bench.demo.servers import MODEL_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST = 48
_FORGED = (
    "{}",
    "nonsense",
    '{"version": 1}',
    json.dumps({"version": 1, "tools": [{}] * 20_000}),
    "[" * 50_000,
    json.dumps("x" * 500_000),
)


class Constraint(Enum):
    """Whose constraint a server is asked for."""

    ENFORCER = "enforcer"
    VLLM = "vLLM's own"


@dataclass(frozen=True, slots=True)
class Load:
    """Requests that arrive at once.

    Attributes:
        name: what the table calls them.
        count: how many.
        build: gives a route and a body, of a number that no other request has.
        patience: seconds after which the client goes away; None waits.

    """

    name: str
    count: int
    build: Callable[[str, Constraint], tuple[str, dict[str, Any]]]
    patience: float | None = None


def _body(**more: Any) -> dict[str, Any]:
    return {"model": MODEL_NAME, "max_tokens": _MOST, "temperature": 1, **more}


def _call(schema: Callable[[str], dict[str, Any]], **more: Any) -> Any:
    """Build requests that must call a tool with such a schema."""

    def build(word: str, constraint: Constraint) -> tuple[str, dict[str, Any]]:
        wanted = schema(word)
        if constraint is Constraint.VLLM:
            own = {"structured_outputs": {"json": wanted}}
            return "/v1/completions", _body(prompt="Hi", **own, **more)
        tool = {"type": "function", "function": {"name": "f", "parameters": wanted}}
        spec = enforcer.extra_body([tool], "required")
        return "/v1/completions", _body(prompt="Hi", **spec, **more)

    return build


def _format(schema: Callable[[str], dict[str, Any]]) -> Any:
    def build(word: str, _constraint: Constraint) -> tuple[str, dict[str, Any]]:
        wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema(word)}}
        messages = [{"role": "user", "content": "Hi"}]
        return "/v1/chat/completions", _body(messages=messages, response_format=wanted)

    return build


def _forged(word: str, _constraint: Constraint) -> tuple[str, dict[str, Any]]:
    spec = _FORGED[sum(word.encode()) % len(_FORGED)]
    tag = {"type": "structural_tag", "format": {"type": "any_text"}, "enforcer": spec}
    own = {"structural_tag": json.dumps(tag)}
    return "/v1/completions", _body(prompt="Hi", structured_outputs=own)


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    closed = {"additionalProperties": False}
    return {"type": "object", "properties": properties, **closed, **more}


def _values(count: int, length: int = 6) -> Callable[[str], dict[str, Any]]:
    def schema(word: str) -> dict[str, Any]:
        words = [f"{word}{at}".ljust(length, "x") for at in range(count)]
        return _object({"v": {"enum": words}}, required=["v"])

    return schema


def _properties(word: str) -> dict[str, Any]:
    return _object({f"{word}{at}": {"type": "integer"} for at in range(5_000)})


def _one_letters(word: str) -> dict[str, Any]:
    return {
        "type": "object",
        "patternProperties": {
            letter: {"type": "integer", "minimum": at}
            for at, letter in enumerate("abcdefghijkl", sum(word.encode()))
        },
    }


def _overlapping(word: str) -> dict[str, Any]:
    return {
        "type": "object",
        "patternProperties": {
            f"^{letter}.*{word[-1]}{letter}?": {"type": "integer", "minimum": at}
            for at, letter in enumerate("abcdefgh")
        },
        "additionalProperties": {"type": "boolean"},
    }


def _remembering(characters: int) -> Callable[[str], dict[str, Any]]:
    """Build schemas of a string in which so many characters back have to be remembered."""

    def schema(word: str) -> dict[str, Any]:
        pattern = {"type": "string", "pattern": f"a.{{{characters}}}b"}
        return _object({word: pattern}, required=[word])

    return schema


def _many_patterns(word: str) -> dict[str, Any]:
    patterns = [{"pattern": f"a.{{{at}}}a"} for at in range(5, 10)]
    return _object({word: {"type": "string", "allOf": patterns}}, required=[word])


def unconstrained(load: Load) -> Load:
    """Give the same bytes with the constraint under a name that vLLM does not know."""

    def build(word: str, constraint: Constraint) -> tuple[str, dict[str, Any]]:
        route, body = load.build(word, constraint)
        own = ("structured_outputs", "response_format")
        return route, {f"unknown_{key}" if key in own else key: body[key] for key in body}

    return replace(load, build=build)


def loads(letters: dict[str, int], only: Sequence[str] = ("",)) -> list[Load]:
    """List the loads.

    Args:
        letters: ids of the vocabulary, by text, towards which one load pushes the model.
        only: words, one of which a load's name has.

    """
    bias = {"logit_bias": {str(token_id): 60 for token_id in letters.values()}}
    every = [
        Load("12 one-letter patternProperties, abandoned", 6, _call(_one_letters), patience=0.5),
        Load("2,000 enum values", 4, _call(_values(2_000))),
        Load("20,000 enum values", 2, _call(_values(20_000))),
        Load("5,000 properties", 2, _call(_properties)),
        Load("3,000 values of 600 characters", 2, _call(_values(3_000, 600))),
        Load("a.{30}b, pushed to a and b", 12, _call(_remembering(30), **bias)),
        Load("a.{12}b, pushed to a and b", 12, _call(_remembering(12), **bias)),
        Load("five patterns like a.{5}a", 4, _call(_many_patterns)),
        Load("8 overlapping patternProperties", 4, _call(_overlapping)),
        Load("response_format of 20,000 values", 4, _format(_values(20_000))),
        Load("forged specs", 24, _forged),
    ]
    return [load for load in every if any(word in load.name for word in only)]
