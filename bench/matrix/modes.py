"""The modes of calling that the matrix crosses with the routes.

Owns: a named mode's chat request. Must not know: routes, servers.
"""

from __future__ import annotations

from typing import Any

from bench.matrix.routes import Route

_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {
                "type": "object",
                "properties": {
                    "unit": {"enum": ["km", "mi"]},
                    "count": {"type": "integer", "minimum": 0, "maximum": 9},
                },
                "required": ["unit"],
                "additionalProperties": False,
            },
        },
    }
    for name in ("get_distance", "get_route")
]
_HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Draw a cat."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "img_gen", "arguments": '{"prompt": "cat"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    {"role": "user", "content": "How far is it to Paris?"},
]
_NAMED = {"type": "function", "function": {"name": "get_route"}}
_ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {
        "mode": "required",
        "tools": [{"type": "function", "function": {"name": "get_route"}}],
    },
}
_FORMAT = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": [1, 2]}}}

MODES: dict[str, dict[str, Any]] = {
    "auto": {"tools": _TOOLS, "tool_choice": "auto"},
    "absent": {"tools": _TOOLS},
    "null": {"tools": _TOOLS, "tool_choice": None},
    "none": {"tools": _TOOLS, "tool_choice": "none"},
    "required": {"tools": _TOOLS, "tool_choice": "required"},
    "one call": {"tools": _TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
    "named": {"tools": _TOOLS, "tool_choice": _NAMED},
    "allowed_tools": {"tools": _TOOLS, "tool_choice": _ALLOWED},
    "response_format": {"tools": _TOOLS, "response_format": _FORMAT},
    "no tools": {},
}
# Where vLLM's own request has no place for a mode.
_ONLY = {"allowed_tools": (Route.RESPONSES, Route.COMPLETIONS), "response_format": (Route.CHAT,)}
THINKING: dict[str, bool | None] = {"-": None, "open": True, "closed": False}


def body(mode: str, thinking: str, *, stream: bool) -> dict[str, Any]:
    """Build the chat request of a cell."""
    request = {"messages": _HISTORY, "stream": stream, **MODES[mode]}
    if THINKING[thinking] is not None:
        request["chat_template_kwargs"] = {"thinking": THINKING[thinking]}
    return request


def has(route: Route, mode: str) -> bool:
    """Tell whether a route can carry a mode."""
    return route in _ONLY.get(mode, tuple(Route))
