"""A recorded request of any API, in the form of Chat Completions.

Reads tools, tool choice and earlier calls of the bodies of Chat Completions, Responses and
Messages, and maps paths of errors back into the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from enforcer import documents
from enforcer.errors import ConfigurationError
from enforcer.schema import Root
from enforcer.tools.cli import declarations
from enforcer.tools.verify.suites import api_of

_CALLED = {"function_call", "tool_use"}  # a call in the dialog of Responses, of Messages


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request.

    Attributes:
        fields: arguments of `Enforcer.read_request`.
        body: the whole body, as it was written.
        api: the API of the body: "chat", "responses", "messages"; empty for tools alone.

    """

    fields: dict[str, Any]
    body: Mapping[str, Any]
    api: str
    _places: Mapping[str, str]

    def place(self, path: str) -> str:
        """Return the path in the file of a path in the request of Chat Completions."""
        for own, theirs in self._places.items():
            if path == own or path.startswith((f"{own}.", f"{own}[")):
                return theirs + path.removeprefix(own)
        return path


def read(file: str, choice: str | None = None) -> ChatRequest:
    """Read a request, or tools by themselves.

    Args:
        file: its path; `-` is the standard input.
        choice: what stands in for its `tool_choice`: a mode, or the name of a tool.

    Raises:
        ConfigurationError: it cannot be read, or is neither.

    """
    found = documents.read(file)
    if len(found) != 1:
        raise ConfigurationError(
            f"{file} has {len(found)} values, not one request or list of tools"
        )
    declared = declarations.find(found[0])
    if declared.unreadable:
        raise ConfigurationError(declared.unreadable[0])
    if not (declared.declared or declared.without_tools):
        raise ConfigurationError(f"{file} has no tool and no request")
    if any(one.root is Root.ANY and one.form is None for one in declared.declared):
        raise ConfigurationError(
            f"{file} has a JSON Schema by itself: make a tool of it, an object with a `name` and "
            "the schema as `parameters`"
        )
    body = declared.body
    api = api_of(body)
    fields: dict[str, Any] = {"tools": []}
    places: dict[str, str] = {}
    if api:
        fields |= _fields(body)
    if api == "chat" and "response_format" in body:
        fields["response_format"] = body["response_format"]  # JSON of any kind, or free text
    for one in declared.declared:
        if one.form is not None:
            fields["response_format"] = one.form
            places["$.response_format.json_schema.schema"] = one.path
            continue
        begin = f"$.tools[{len(fields['tools'])}].function"
        places |= {f"{begin}.parameters": one.path, f"{begin}.name": one.name_path}
        function = {"name": one.name, "parameters": one.schema}
        fields["tools"].append({"type": "function", "function": function})
    if choice is not None:
        is_mode = choice in ("auto", "none", "required")
        fields["tool_choice"] = choice if is_mode else _named(choice)
    return ChatRequest(fields, body, api, places)


def _fields(body: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"messages": _dialog(body)}
    if "tool_choice" in body:
        fields["tool_choice"] = _choice(body["tool_choice"])
    if "parallel_tool_calls" in body:
        fields["parallel_tool_calls"] = body["parallel_tool_calls"]
    choice = body.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("disable_parallel_tool_use"):
        fields["parallel_tool_calls"] = False
    return fields


def _dialog(body: Mapping[str, Any]) -> Any:
    """Return the messages, with the assistant's calls as `tool_calls`."""
    messages = body.get("messages", body.get("input"))
    if not isinstance(messages, list):
        return [] if "messages" not in body else messages
    return [_message(one) for one in messages]


def _message(one: Any) -> Any:
    if not isinstance(one, Mapping):
        return one
    content = one.get("content")
    parts = [one, *content] if isinstance(content, list) else [one]
    calls = [
        {"id": part.get("call_id", part.get("id")), "function": {"name": part.get("name")}}
        for part in parts
        if isinstance(part, Mapping) and part.get("type") in _CALLED
    ]
    return {"role": "assistant", "tool_calls": calls} if calls else one


def _choice(choice: Any) -> Any:
    """Return a `tool_choice` of any of the APIs as that of Chat Completions."""
    if not isinstance(choice, Mapping):
        return choice
    kind = choice.get("type")
    if kind in ("auto", "none"):
        return kind
    if kind == "any":
        return "required"
    if kind in ("function", "tool") and "function" not in choice:
        return _named(choice.get("name"))
    if kind == "allowed_tools" and "allowed_tools" not in choice:
        listed = choice.get("tools")
        named = [_choice(one) for one in listed] if isinstance(listed, list) else listed
        return {"type": kind, "allowed_tools": {"mode": choice.get("mode"), "tools": named}}
    return choice


def _named(name: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}
