"""Whose API a body was written for.

Owns: what tells the bodies of Chat Completions, Responses and Messages apart. Must not know: what
they say, or what is done with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The modes that Messages has as objects; Chat Completions has them as words.
_MODES = ("auto", "any", "none", "tool")


def api_of(body: Mapping[str, Any]) -> str:
    """Name it: "chat", "responses", "messages", or nothing; where it could be two, "chat"."""
    if "messages" not in body:
        return "responses" if "input" in body else ""
    choice, tools = body.get("tool_choice"), body.get("tools")
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    is_messages = (
        kind in _MODES
        or "system" in body
        or "anthropic_version" in body
        or (isinstance(tools, list) and any(_is_theirs(tool) for tool in tools))
    )
    return "messages" if is_messages else "chat"


def _is_theirs(tool: object) -> bool:
    return isinstance(tool, Mapping) and "input_schema" in tool and "function" not in tool
