"""A recorded request of any API, in the form of Chat Completions.

Owns: where the bodies of Chat Completions, Responses and Messages say which tools there are, what
must be called and what has been, and leading errors back to where it stood. Must not know: options
of commands, how a request is enforced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enforcer import documents
from enforcer.cli import declarations
from enforcer.errors import ConfigurationError
from enforcer.schema import Root
from enforcer.verify.apis import api_of

if TYPE_CHECKING:
    from enforcer.cli.declarations import Declaration

_CALLED = {"function_call", "tool_use"}  # a call in the dialog of Responses, of Messages


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request.

    Attributes:
        fields: what `Enforcer.matcher` takes of it.
        body: the whole, as it was written.
        api: whose body it is: "chat", "responses", "messages"; empty for tools by themselves.

    """

    fields: dict[str, Any]
    body: Mapping[str, Any]
    api: str
    _tools: tuple[Declaration, ...]
    _format: Declaration | None

    def place(self, path: str) -> str:
        """Give the place in the file of one in the request of Chat Completions."""
        for at, one in enumerate(self._tools):
            begin = f"$.tools[{at}].function"
            for own, theirs in (
                (f"{begin}.parameters", one.path),
                (f"{begin}.name", one.name_path),
            ):
                if path == own or path.startswith((f"{own}.", f"{own}[")):
                    return theirs + path.removeprefix(own)
        begin = "$.response_format.json_schema.schema"
        if self._format is not None and path.startswith(begin):
            return self._format.path + path.removeprefix(begin)
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
    tools = tuple(one for one in declared.declared if one.form is None)
    form = next((one for one in declared.declared if one.form is not None), None)
    body = _body(found[0].value)
    fields: dict[str, Any] = {
        "tools": [
            {"type": "function", "function": {"name": one.name, "parameters": one.schema}}
            for one in tools
        ]
    }
    api = api_of(body)
    if api:
        fields |= _fields(body)
    if form is not None:
        fields["response_format"] = form.form
    elif api == "chat" and "response_format" in body:
        fields["response_format"] = body["response_format"]  # JSON of any kind, or free text
    if choice is not None:
        fields["tool_choice"] = _as_choice(choice)
    return ChatRequest(fields, body, api, tools, form)


def _as_choice(given: str) -> Any:
    """Give a mode, or the name of a tool, as `tool_choice`."""
    return given if given in ("auto", "none", "required") else _named(given)


def _body(value: object) -> dict[str, Any]:
    """Give the request of a record, or the value itself."""
    found = value.get("request", value.get("body", value)) if isinstance(value, Mapping) else {}
    return dict(found)


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
    """Give the messages, with what an assistant has called as `tool_calls`."""
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
    """Give a `tool_choice` of any of the APIs as that of Chat Completions."""
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
