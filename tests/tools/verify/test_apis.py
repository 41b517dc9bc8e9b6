"""Each API's bodies are told apart, also by what is wrong in them."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.tools.verify.apis import api_of

USER = {"role": "user", "content": "hi"}
CHAT_TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("body", "api"),
    [
        ({}, ""),
        ({"prompt": "hi"}, ""),
        ({"input": "hi"}, "responses"),
        ({"messages": [USER]}, "chat"),
        ({"messages": [USER], "input": "hi"}, "chat"),
        ({"messages": [USER], "tools": [CHAT_TOOL], "tool_choice": "auto"}, "chat"),
        ({"messages": [USER], "tool_choice": {"type": "function"}}, "chat"),
        ({"messages": [USER], "tools": [7, "input_schema", None]}, "chat"),
        ({"messages": [USER], "tools": [{**CHAT_TOOL, "input_schema": {}}]}, "chat"),
        ({"messages": [USER], "tools": 7, "tool_choice": {"type": []}}, "chat"),
        ({"messages": [USER], "tools": [{"name": "f", "input_schema": {}}]}, "messages"),
        ({"messages": [USER], "tool_choice": {"type": "any"}}, "messages"),
        ({"messages": [USER], "system": "x"}, "messages"),
        ({"messages": [USER], "anthropic_version": "bedrock-2023-05-31"}, "messages"),
    ],
)
def test_bodies_are_told_apart(body: dict[str, Any], api: str) -> None:
    assert api_of(body) == api
