"""The schemas that a file declares, in any form.

Known are a schema alone, tools and requests of OpenAI's two APIs and of Anthropic's, with the
response format of a request, and MCP servers' tool lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.schema import Root
from enforcer.schema.keywords import KEYWORDS

if TYPE_CHECKING:
    from enforcer.documents import Document

# The keys under which a tool of one kind or another has its schema.
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_STRUCTURED = "structured_outputs"  # vLLM's own field for response formats
# Any of these makes an object a schema; an object without them would be one by the letter of
# the standard, and fit everything.
_KEYWORDS = frozenset(KEYWORDS)


# What may stand around a request: JSON-RPC around an MCP result, recorders, batches.
_AROUND = ("result", "request", "body")
# What a request asks with: of a chat or Messages, Responses, completions.
_ASKING = ("messages", "input", "prompt")
# What it has beside them, one of which a schema may have by chance.
_BESIDE = frozenset({"model", "tools", "stream", "temperature", "max_tokens", "max_output_tokens"})
# Tools of the Responses API that a server runs itself or makes a schema for.
_WITHOUT_SCHEMA = frozenset(
    {
        *("web_search", "web_search_preview", "file_search", "code_interpreter", "computer_use"),
        *("computer_use_preview", "image_generation", "local_shell", "shell", "apply_patch"),
        *("mcp", "custom", "tool_search"),
    }
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One schema, with the tool or format that has it.

    Attributes:
        name: the tool's; None for a schema by itself, and for a request's format.
        schema: as declared; None where a tool declares none.
        root: whether the value must be an object, as a tool's arguments are.
        where: the file, and the line in JSON Lines.
        path: where the schema stands in the document, from `$`; of a format that is no schema, the
            object that holds it.
        form: the format that a request demands of its text, as
            `enforcer.request.response_format.parse` takes it, of which `schema` is the JSON
            Schema, if it is one; None for anything else than a request's format.
        request: where the request stands that it is a part of; None if it is of none.

    """

    name: object
    schema: Any
    root: Root
    where: str
    path: str
    form: Mapping[str, Any] | None = None
    request: str | None = None

    @property
    def name_path(self) -> str:
        """The path of a tool's name."""
        return self.path.rpartition(".")[0] + ".name"


@dataclass(slots=True)
class Declarations:
    """The contents of a document.

    Attributes:
        where: the file, and the line in JSON Lines.
        declared: the schemas, in the document's order.
        unreadable: messages about what is none of the kinds.
        without_tools: how many requests declare no tool, but for those that a server runs itself.
        functions: `where` and `path` of each list `functions`, which chat requests had before
            `tools`, and which vLLM does not read.
        body: a request, without what recorders put around it; the last one of several.

    """

    where: str
    declared: list[Declaration] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    without_tools: int = 0
    functions: list[dict[str, str]] = field(default_factory=list)
    body: Mapping[str, Any] = field(default_factory=dict, compare=False)


def find(document: Document) -> Declarations:
    """List the declarations of a document; a part of no known kind spoils no other one."""
    found = Declarations(document.where)
    _read(found, document.value, "$")
    return found


def _read(found: Declarations, value: Any, path: str) -> None:
    """Add to `found` the schemas, tools and requests in a JSON value."""
    if isinstance(value, list):
        for at, item in enumerate(value):
            _read(found, item, f"{path}[{at}]")
        return
    if isinstance(value, Mapping):
        for key in _AROUND:
            if isinstance(value.get(key), Mapping) and not isinstance(value.get("tools"), list):
                _read(found, value[key], f"{path}.{key}")
                return
        if _is_request(value):
            _read_request(found, value, path)
            return
        if (tool := _tool(value, path, found.where)) is not None:
            found.declared.append(tool)
            return
    if isinstance(value, bool) or (
        isinstance(value, Mapping) and (not value or not _KEYWORDS.isdisjoint(value))
    ):
        found.declared.append(Declaration(None, value, Root.ANY, found.where, path))
        return
    fits = isinstance(value, Mapping)
    why = " (an object without any keyword of JSON Schema would fit everything)" if fits else ""
    what = "neither a JSON Schema, nor a tool, a request or an MCP tool list"
    found.unreadable.append(f"{found.where}: `{path}` is {what}{why}")


def _is_request(value: Mapping[str, Any]) -> bool:
    """Return whether it is a request, or an MCP result, which lists tools as well."""
    if isinstance(value.get("properties"), dict):
        return False  # a schema, whatever else it has
    if isinstance(value.get("tools"), list) or isinstance(value.get("messages"), list):
        return True
    said = any(isinstance(value.get(key), str | list) for key in _ASKING)
    return said and not _BESIDE.isdisjoint(value)


def _read_request(found: Declarations, value: Mapping[str, Any], path: str) -> None:
    found.body = value
    lists = [(value.get("tools"), f"{path}.tools")]
    messages = value.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        # Kimi's dynamic tools stand in system messages.
        if isinstance(message, Mapping):
            lists.append((message.get("tools"), f"{path}.messages[{at}].tools"))
    asked = [key for key in _ASKING if key in value]  # nothing in an MCP result
    before = len(found.declared) + len(found.unreadable)
    for tools, here in lists:
        if isinstance(tools, list):
            listed = _listed(found, tools, here)
            found.declared += [replace(one, request=path if asked else None) for one in listed]
        elif tools is not None:
            found.unreadable.append(f"{found.where}: `{here}` is not a list of tools")
    found.without_tools += bool(asked) and len(found.declared) + len(found.unreadable) == before
    if isinstance(messages, list) and value.get("functions"):
        found.functions.append({"where": found.where, "path": f"{path}.functions"})
    # What a completion without a chat must be is left to vLLM.
    wanted = None if asked == ["prompt"] else demanded(value, path, found.where)
    if wanted is not None:
        found.declared.append(wanted)


def _listed(found: Declarations, tools: list[Any], path: str) -> Iterator[Declaration]:
    for at, value in enumerate(tools):
        here = f"{path}[{at}]"
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "namespace" and isinstance(value.get("tools"), list):
            # vLLM shows the model the functions of a namespace under such names.
            for one in _listed(found, value["tools"], f"{here}.tools"):
                yield replace(one, name=f"{value.get('name')}__{one.name}")
        elif not (isinstance(kind, str) and kind in _WITHOUT_SCHEMA):
            tool = _tool(value, here, found.where) if isinstance(value, Mapping) else None
            if tool is not None:
                yield tool
            else:
                keys = ", ".join(f"`{key}`" for key in _SCHEMA_KEYS)
                what = f"not a function with a schema ({keys})"
                found.unreadable.append(f"{found.where}: `{here}` is {what}")


def _tool(value: Mapping[str, Any], path: str, where: str) -> Declaration | None:
    if isinstance(value.get("function"), Mapping):
        value, path = value["function"], f"{path}.function"
    elif value.get("type") != "function" and not any(key in value for key in _SCHEMA_KEYS):
        return None
    if "name" not in value:
        return None
    key = next((key for key in _SCHEMA_KEYS if key in value), "parameters")
    return Declaration(value["name"], value.get(key), Root.OBJECT, where, f"{path}.{key}")


def demanded(body: Mapping[str, Any], path: str, where: str) -> Declaration | None:
    """Return the format that a request demands of its text; None for free text, or any JSON.

    Args:
        body: a request of one of the three APIs, which has only the fields of its own.
        path: where it stands in the document.
        where: the file, and the line in JSON Lines.

    """

    def declare(form: Mapping[str, Any], at: str, schema: Any = None) -> Declaration:
        return Declaration(None, schema, Root.ANY, where, f"{path}.{at}", form, request=path)

    def of_schema(schema: Any, at: str) -> Declaration:
        return declare({"type": "json_schema", "json_schema": {"schema": schema}}, at, schema)

    chat, kind = body.get("response_format"), _within(body, "response_format", "type")
    if isinstance(chat, Mapping) and kind != "text":
        schema = _within(chat, "json_schema", "schema") if kind == "json_schema" else None
        if schema is not None:
            return of_schema(schema, "response_format.json_schema.schema")
        return None if kind == "json_object" else declare(chat, "response_format")
    for around in ("text", "output_config"):
        if _within(body, around, "format", "type") == "json_schema":
            schema = _within(body, around, "format", "schema")
            # Without a schema the server asks for none.
            return None if schema is None else of_schema(schema, f"{around}.format.schema")
    if (tag := _within(body, _STRUCTURED, "structural_tag")) is not None:
        # Ours, where a client brings its own spec, says what the request itself says.
        ours = carrier.from_structural_tag(tag) is not None
        return None if ours else declare({"type": "structural_tag"}, _STRUCTURED)
    if (schema := _within(body, _STRUCTURED, "json")) is not None:
        # What is no JSON text is told where schemas are compiled.
        with suppress(ValueError, RecursionError):
            schema = json.loads(schema) if isinstance(schema, str) else schema
        return of_schema(schema, f"{_STRUCTURED}.json")
    for kind in ("regex", "choice", "grammar"):
        if (value := _within(body, _STRUCTURED, kind)) is not None:
            return declare({"type": kind, kind: value}, _STRUCTURED)
    return None


def _within(value: Any, *keys: str) -> Any:
    """Return the value under keys of nested objects; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
