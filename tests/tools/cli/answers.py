"""Schemas to verify, and servers that hold them or do not."""

from collections.abc import Callable
from typing import Any

from tests.fake_server import FakeServer, call, reply
from tests.support.tools import tool

Command = Callable[..., tuple[int, str, str]]
Check = Callable[..., tuple[int, dict[str, Any]]]
Run = Callable[..., tuple[int, list[str], list[str]]]
Verify = Callable[..., tuple[int, dict[str, Any] | None, str, FakeServer]]

SCHEMAS = [{"type": "integer"}, {"enum": ["a"]}]
GOOD = {"integer": '{"value": 1}', "enum": '{"value": "a"}'}
TOOL = tool("f", {"type": "object"})
USER = {"role": "user", "content": "hi"}
REQUEST = {"messages": [USER], "tools": [TOOL]}


def asks_enum(body: dict[str, Any]) -> bool:
    """Return whether a request has the second of the schemas."""
    return "enum" in body["tools"][0]["function"]["parameters"]["properties"]["value"]


def enforced(body: dict[str, Any]) -> tuple[int, Any]:
    arguments = GOOD["enum" if asks_enum(body) else "integer"]
    return reply(body, "tool_calls", calls=[call("submit", arguments)])


def calling(body: dict[str, Any]) -> tuple[int, Any]:
    return reply(body, "tool_calls", calls=[call("f", "{}")])


def stopping(body: dict[str, Any]) -> tuple[int, Any]:
    return reply(body, "stop", "Hello.")


def loose(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    return reply(body, "tool_calls", calls=[call("submit", '{"value": null}', index=3)])
