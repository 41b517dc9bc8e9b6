"""Schemas to verify, and servers that hold them or do not."""

from __future__ import annotations

from typing import Any

from tests.fake_server import call, reply

SCHEMAS = [{"type": "integer"}, {"enum": ["a"]}]
GOOD = {"integer": '{"value": 1}', "enum": '{"value": "a"}'}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
USER = {"role": "user", "content": "hi"}


def enforced(body: dict[str, Any]) -> tuple[int, Any]:
    schema = body["tools"][0]["function"]["parameters"]["properties"]["value"]
    arguments = GOOD["enum" if "enum" in schema else "integer"]
    return reply(body, "tool_calls", calls=[call("submit", arguments)])


def loose(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return reply(body, "tool_calls", calls=[call("submit", '{"value": null}', index=3)])
