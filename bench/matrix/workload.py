"""Chat requests whose calls a model without sense can finish.

Owns: tool sets of varied schemas, bounded enough for random weights to reach the end
of a call, and dialogs of varied history. Must not know: routes, servers.

No request has a `seed`: with one, vLLM 0.32's CPU build ends the whole engine when a
prefill is chunked ("CPU Generator does not use offset"), enforced or not.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEAVES: tuple[dict[str, Any], ...] = (
    {"type": "boolean"},
    {"type": "integer", "minimum": 0, "maximum": 99},
    {"type": "number", "minimum": -1, "maximum": 1},
    {"type": "null"},
    {"type": "string", "maxLength": 6},
    {"type": "string", "pattern": "^[a-z]{2,4}$"},
    {"type": "string", "format": "date"},
    {"enum": ["metric", "imperial", "größe"]},
    {"enum": [1, 2.5, None, True, "x"]},
    {"const": {"unit": "km"}},
    {"type": ["integer", "null"], "minimum": -5, "maximum": 5},
    {"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 3}]},
    {"oneOf": [{"type": "integer", "maximum": 9, "minimum": 0}, {"const": "none"}]},
)
_NAMES = (
    "city",
    "count",
    "flag",
    "größe",
    "unit",
    "from date",
    'qu"ote',
    "名前",
    "x",
    "xy",
    "opts",
)
_TOOLS = ("get", "get_weather", "get.weather-2", "a", "ab", "find_hotels", "Read", "send/mail")


def _schema(rng: Random, depth: int) -> dict[str, Any]:
    kind = rng.random()
    if depth and kind < 0.2:
        return _object(rng, depth - 1)
    if depth and kind < 0.35:
        most = rng.randint(1, 3)
        return {"type": "array", "items": _schema(rng, depth - 1), "maxItems": most}
    return dict(rng.choice(_LEAVES))


def _object(rng: Random, depth: int) -> dict[str, Any]:
    names = rng.sample(_NAMES, rng.randint(1, 4))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _schema(rng, depth) for name in names},
        "required": [name for name in names if rng.random() < 0.6],
    }
    if rng.random() < 0.8:
        schema["additionalProperties"] = False
    return schema


def tools(rng: Random) -> list[dict[str, Any]]:
    """Draw one to five tools."""
    declared = []
    for name in rng.sample(_TOOLS, rng.randint(1, 5)):
        function: dict[str, Any] = {"name": name, "description": f"{name}."}
        if rng.random() < 0.9:
            function["parameters"] = _object(rng, depth=2)
        if rng.random() < 0.3:
            function["strict"] = rng.random() < 0.5
        declared.append({"type": "function", "function": function})
    return declared


def messages(rng: Random) -> list[dict[str, Any]]:
    """Draw a dialog; half of them have calls, to a tool that nobody declares and with odd ids."""
    dialog: list[dict[str, Any]] = [{"role": "user", "content": "Draw a cat, please."}]
    if rng.random() < 0.5:
        ids = [rng.choice(("call_9f", "search:2", "functions_Read_0", "functions.img_gen:7"))]
        if rng.random() < 0.5:
            ids.append(ids[0] + "b")
        dialog.append(
            {
                "role": "assistant",
                "content": rng.choice(("", "One moment.")),
                "tool_calls": [
                    {
                        "id": call_id,
                        "type": "function",
                        "function": {"name": "img_gen", "arguments": '{"prompt": "cat"}'},
                    }
                    for call_id in ids
                ],
            }
        )
        dialog += [
            {"role": "tool", "tool_call_id": call_id, "content": "ok <|tool_call_end|>"}
            for call_id in ids
        ]
        dialog.append({"role": "user", "content": "And now the weather."})
    return dialog


def bodies(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Draw chat requests of all kinds; the same ones for the same arguments."""
    rng = Random(f"workload {seed}")
    for _ in range(count):
        body: dict[str, Any] = {
            "messages": messages(rng),
            "temperature": rng.choice((0.0, 0.7, 1.0, 1.5)),
            "stream": rng.random() < 0.5,
        }
        if rng.random() < 0.93:
            body["tools"] = tools(rng)
            named = {"name": rng.choice(body["tools"])["function"]["name"]}
            choices: Any = (
                "required",
                "required",
                "auto",
                "none",
                {"function": named},
                None,
                "absent",
            )
            choice = rng.choice(choices)
            if isinstance(choice, dict):
                choice = {"type": "function", "function": named}
            if choice != "absent":
                body["tool_choice"] = choice
            if rng.random() < 0.4:
                body["parallel_tool_calls"] = rng.random() < 0.3
        if rng.random() < 0.3:
            body["chat_template_kwargs"] = {"thinking": rng.random() < 0.5}
        yield body
