"""What the models of the table have learnt to write, and what they are asked.

Owns: the tools, the turns whose bigrams go into the weights, and the requests. Must not know:
servers, what makes a reply right.

The turns have the faults of real models: tools that nobody declared, values of another type,
keys that are missing or unknown, markers inside a string. Bigrams mix them up with what is right.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from bench.demo.servers import MODEL_NAME
from bench.formats import writers
from bench.formats.writers import STYLES, Call, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.formats.catalogue import Format

_TOOLS: dict[str, dict[str, Any]] = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 20},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    "set_alarm": {
        "type": "object",
        "properties": {
            "hour": {"type": "integer", "minimum": 0, "maximum": 23},
            "unit": {"enum": ["am", "pm"]},
            "repeat": {"type": "boolean"},
        },
        "required": ["hour"],
        "additionalProperties": False,
    },
    "ping": {"type": "object", "properties": {}, "additionalProperties": False},
}
_CALLS = (
    Call("get_weather", {"city": "Paris", "days": 3}),
    Call("get_weather", {"city": "Paris", "days": 3}),
    Call("get_weather", {"days": 7, "city": "Rome"}),
    Call("get_weather", {"city": "Rome", "days": "3"}),
    Call("get_weather", {"city": 5, "days": 12}),
    Call("get_weather", {"city": "Paris"}),
    Call("set_alarm", {"hour": 7}),
    Call("set_alarm", {"hour": 7, "unit": "am"}),
    Call("set_alarm", {"hour": 30, "repeat": True}),
    Call("set_alarm", {"hour": 7, "unit": "noon"}),
    Call("ping", {}),
    Call("ping", {"hour": 7}),
    Call("evil", {"city": "Paris"}),
    Call("evil", {}),
)
_QUOTED = "</tool_call>"  # what a value quotes where the format has no marker of its own


def turns(row: Format) -> Iterator[str]:
    """Give the turns that a model of this format has learnt, most of them calls."""
    quoted = Call("get_weather", {"city": f"a{row.call or _QUOTED}b", "days": 3})
    for style in STYLES:
        for call in (*_CALLS, quoted):
            yield writers.write(row.name, Turn("", (call,)), style)
        if row.parallel:
            yield writers.write(row.name, Turn("", _CALLS[:1] + _CALLS[6:7]), style)
        if row.speaks:
            yield writers.write(row.name, Turn("Let me look.", _CALLS[:1]), style)
    yield writers.write(row.name, Turn("It is sunny."))


def bodies(count: int, max_tokens: int) -> list[dict[str, Any]]:
    """Draw chat requests; the same ones for the same arguments."""
    rng = Random(count)
    return [_body(rng, max_tokens) for _ in range(count)]


def _body(rng: Random, max_tokens: int) -> dict[str, Any]:
    names = rng.sample(sorted(_TOOLS), rng.randint(1, len(_TOOLS)))
    choice: Any = rng.choice(("auto", "auto", "auto", "auto", "required", "named"))
    if choice == "named":
        choice = {"type": "function", "function": {"name": rng.choice(names)}}
    return {
        "model": MODEL_NAME,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": _TOOLS[name]}}
            for name in names
        ],
        "tool_choice": choice,
        "stream": rng.random() < 0.5,
        "temperature": 1.0,
        "max_tokens": max_tokens,
        "return_token_ids": True,
    }
