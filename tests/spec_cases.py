"""Tools as a chat request declares them, for tests of what becomes of a spec."""

from __future__ import annotations

from typing import Any

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get",
        "description": "Gets.",
        "strict": True,
        "parameters": {"type": "object", "properties": {"città": {"enum": ["東京", 3.33]}}},
    },
}


def named(name: str) -> dict[str, Any]:
    """Declare a tool by its name alone."""
    return {"type": "function", "function": {"name": name}}
