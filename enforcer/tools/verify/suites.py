"""The requests of a measurement, made of files.

A suite of schemas gives one request a schema, as Kimi-Vendor-Verifier wraps it; recorded requests
are replayed if they can be judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enforcer import documents
from enforcer.errors import ConfigurationError
from enforcer.judging.judge import judge
from enforcer.judging.replies import OK, ChatReply

TOOL_NAME = "submit"
_PROMPT = "Call the tool `submit` once, with any arguments that its schema allows."
_HOISTED = ("$schema", "$id", "id", "$defs", "definitions")
_SHARED_PREFIXES = ("#/$defs/", "#/definitions/")
_VALUE_POINTER = "#/properties/value"
# Values that are data, whatever keys they have, and values whose keys are names.
_DATA = ("const", "enum", "default", "examples")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_TOOLS = (
    "it has tools, and --schemas takes schemas: write the schema of each tool's arguments "
    "(`parameters`) by itself, or send chat requests with these tools and `tool_choice: required` "
    "by --requests; `enforcer check` reads tools"
)
# The modes that Messages has as objects; Chat Completions has them as words.
_MODES = ("auto", "any", "none", "tool")
SHOWN = 5  # skipped records; most of them are alike


@dataclass(frozen=True, slots=True)
class Case:
    """One request.

    Attributes:
        name: the file and line that it comes from.
        body: what is sent, apart from the model and `stream`.
        at: of a recorded request, its place among the records of its file, from 0; else None.

    """

    name: str
    body: Mapping[str, Any]
    at: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedRequests:
    """The records of a file.

    Attributes:
        cases: the requests that can be sent, in order.
        skipped: all other records: where each stands, and why it cannot be sent.
        unreadable: lines that are no JSON: where each stands, and why. They may have been chat
            requests, which then are not measured.

    """

    cases: tuple[Case, ...] = ()
    skipped: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


def schema_cases(path: Path) -> list[Case]:
    """Make a request of each schema: a tool that must be called with a value that fits it.

    Args:
        path: a JSON or JSON Lines file, or a folder, of whose files those named `invalid…`
            are left out. A line is a schema, or an object that has one under `schema`.

    Raises:
        ConfigurationError: a file cannot be read, has tools, or there is no schema.

    """
    files = documents.files(path)
    if path.is_dir():
        files = [file for file in files if not Path(file).name.startswith("invalid")]
    cases = [
        Case(document.where, _schema_body(schema))
        for file in files
        for document in documents.read(file)
        for schema in _schemas(document)
    ]
    if not cases:
        raise ConfigurationError(
            f"no schemas in {path}; of a folder, files named `invalid…` are left out"
        )
    return cases


def _schemas(document: documents.Document) -> list[Any]:
    schemas = [
        value["schema"] if isinstance(value, dict) and "schema" in value else value
        for value in document.values
    ]
    for schema in schemas:
        if not isinstance(schema, dict | bool):
            raise ConfigurationError(f"{document.where}: a schema is an object, true or false")
        if isinstance(schema, dict) and _has_tools(schema):
            raise ConfigurationError(f"{document.where}: {_TOOLS}")
    return schemas


def _has_tools(value: Mapping[str, Any]) -> bool:
    """Return whether a value is a tool of any API, or lists some."""
    takes = "input_schema" in value or "inputSchema" in value
    named = isinstance(value.get("name"), str) and takes
    return value.get("type") == "function" or named or isinstance(value.get("tools"), list)


def _schema_body(schema: Any) -> dict[str, Any]:
    function = {
        "name": TOOL_NAME,
        "description": "Takes one value.",
        "parameters": wrap(schema),
    }
    return {
        "messages": [{"role": "user", "content": _PROMPT}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
    }


def wrap(schema: Any) -> dict[str, Any]:
    """Make a schema the one required property `value` of an object.

    What belongs to a document's root (`$id`, `$defs` and their like) moves to the new
    root, so that references into it still resolve; local references to anything else
    follow the schema to its new place.
    """
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "additionalProperties": False,
    }
    if not isinstance(schema, dict):
        return wrapped
    moved = _moved(schema, root=True)
    hoisted = {key: moved.pop(key) for key in _HOISTED if key in moved}
    wrapped["properties"] = {"value": moved}
    return {**wrapped, **hoisted}


def _moved(node: Any, *, root: bool = False) -> Any:
    """Copy a schema with its local references adapted to its new place."""
    if isinstance(node, list):
        return [_moved(item) for item in node]
    if not isinstance(node, dict):
        return node
    if not root and isinstance(node.get("$id"), str):
        return node  # a document of its own: its references are to itself
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
            local = value == "#" or value.startswith("#/")
            stays = not local or value.startswith(_SHARED_PREFIXES)
            copy[key] = value if stays else _VALUE_POINTER + value[1:]
        elif key in _NAMED and isinstance(value, dict):
            copy[key] = {name: _moved(schema) for name, schema in value.items()}
        else:
            copy[key] = value if key in _DATA else _moved(value)
    return copy


def recorded_cases(path: Path) -> RecordedRequests:
    """Read recorded chat requests, one a line: a body, or an object with it as `request` or `body`.

    What is no chat request is skipped, and a line that is no JSON spoils no other. The role
    `_input` of K2-Vendor-Verifier's files is sent as `system`, as it does.

    Raises:
        ConfigurationError: the file cannot be read, or has no chat request.

    """
    cases: list[Case] = []
    skipped: list[str] = []
    unreadable: list[str] = []
    for record in documents.records(path):
        if isinstance(record, documents.Unreadable):
            unreadable.append(record.message)
            continue
        for value in record.values:
            body = _body(value)
            if problem := _malformed(body):
                skipped.append(f"{record.where} is no chat request: {problem}")
            else:
                # Each record before it is one of the three.
                at = len(cases) + len(skipped) + len(unreadable)
                cases.append(Case(record.where, _sent(body), at))
    if not cases:
        told = "; ".join([*unreadable, *skipped[:SHOWN]])
        more = f" (and {len(skipped) - SHOWN} more)" if len(skipped) > SHOWN else ""
        raise ConfigurationError(f"no requests in {path}" + (f": {told}{more}" if told else ""))
    return RecordedRequests(tuple(cases), tuple(skipped), tuple(unreadable))


def _body(value: Any) -> Any:
    for key in ("request", "body"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            return value[key]
    return value


def _sent(recorded: Mapping[str, Any]) -> dict[str, Any]:
    body = dict(recorded)
    body["messages"] = [
        {**message, "role": "system"} if message.get("role") == "_input" else message
        for message in body["messages"]
    ]
    body.pop("n", None)  # one choice is judged
    body.pop("stream_options", None)  # only allowed in a streamed request
    return body


def _malformed(value: Any) -> str:
    """Return why a request cannot be judged; else empty."""
    if not isinstance(value, dict):
        return "it is not an object"
    if (whose := api_of(value)) in ("responses", "messages"):
        return f"it is one of the {whose.title()} API (verify replays Chat Completions only)"
    try:
        judge(value, ChatReply(OK, finish_reason="stop"))
    except (AttributeError, LookupError, TypeError) as error:
        return (
            "its `messages`, `tools` or `tool_choice` are not as Chat Completions has them: "
            f"{error!r}"
        )
    return ""


def api_of(body: Mapping[str, Any]) -> str:
    """Return the API of a body: "chat", "responses", "messages", or empty; of two, "chat"."""
    if "messages" not in body:
        return "responses" if "input" in body else ""
    choice, tools = body.get("tool_choice"), body.get("tools")
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    is_messages = (
        kind in _MODES
        or "system" in body
        or "anthropic_version" in body
        or (isinstance(tools, list) and any(_is_of_messages(tool) for tool in tools))
    )
    return "messages" if is_messages else "chat"


def _is_of_messages(tool: object) -> bool:
    return isinstance(tool, Mapping) and "input_schema" in tool and "function" not in tool
