"""The schemas in a file, whatever kind of declaration it is.

Owns: recognising a schema, tools of OpenAI's two APIs and of Anthropic's, chat requests,
and MCP servers' tool lists. Must not know: what a schema means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError
from enforcer.schema import Root

if TYPE_CHECKING:
    from enforcer.documents import Document

# The keys under which a tool of one kind or another has its schema.
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
# Any of these makes an object a schema; an object without them would be one by the letter of
# the standard, and fit everything.
_WORDS = """
$anchor $comment $defs $dynamicRef $id $recursiveRef $ref $schema additionalItems
additionalProperties allOf anyOf const contains default definitions dependencies
dependentRequired dependentSchemas deprecated description else enum examples
exclusiveMaximum exclusiveMinimum format id if items maxItems maxLength maxProperties
maximum minItems minLength minProperties minimum multipleOf not oneOf pattern
patternProperties prefixItems properties propertyNames readOnly required then title type
unevaluatedItems unevaluatedProperties uniqueItems writeOnly
"""
_KEYWORDS = frozenset(_WORDS.split())


# What may stand around a request: JSON-RPC around an MCP result, recorders, batches.
_AROUND = ("result", "request", "body")
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
    """One schema, and whose it is.

    Attributes:
        name: the tool's; None for a schema by itself.
        schema: as declared; None where a tool declares none.
        root: whether the value must be an object, as a tool's arguments are.
        where: the file, and the line in JSON Lines.
        path: where the schema stands in the document, from `$`.
        name_path: where the name stands.

    """

    name: object
    schema: Any
    root: Root
    where: str
    path: str
    name_path: str


def find(document: Document) -> list[Declaration]:
    """List what a document declares.

    Raises:
        ConfigurationError: it is none of the kinds.

    """
    return _find(document.value, "$", document.where)


def _find(value: Any, path: str, where: str) -> list[Declaration]:
    if isinstance(value, list):
        return [d for at, item in enumerate(value) for d in _find(item, f"{path}[{at}]", where)]
    if isinstance(value, Mapping):
        for key in _AROUND:
            if isinstance(value.get(key), Mapping) and not isinstance(value.get("tools"), list):
                return _find(value[key], f"{path}.{key}", where)
        if _is_request(value):
            return _of_request(value, path, where)
        if (tool := _tool(value, path, where)) is not None:
            return [tool]
    if isinstance(value, bool) or (
        isinstance(value, Mapping) and (not value or not _KEYWORDS.isdisjoint(value))
    ):
        return [Declaration(None, value, Root.ANY, where, path, path)]
    raise ConfigurationError(
        f"{where}: at `{path}` stands no JSON Schema, tool, chat request or MCP tool list "
        "(an object without any keyword of JSON Schema would fit everything)"
    )


def _is_request(value: Mapping[str, Any]) -> bool:
    """Tell whether tools are listed: a chat request, an MCP result."""
    return isinstance(value.get("tools"), list) and not isinstance(value.get("properties"), dict)


def _of_request(value: Mapping[str, Any], path: str, where: str) -> list[Declaration]:
    found = _listed(value["tools"], f"{path}.tools", where)
    messages = value.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        # Kimi's dynamic tools stand in system messages.
        if isinstance(message, Mapping) and isinstance(message.get("tools"), list):
            found += _listed(message["tools"], f"{path}.messages[{at}].tools", where)
    return found


def _listed(tools: list[Any], path: str, where: str) -> list[Declaration]:
    found = []
    for at, value in enumerate(tools):
        here = f"{path}[{at}]"
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "namespace" and isinstance(value.get("tools"), list):
            found += _namespaced(value, here, where)
            continue
        if kind in _WITHOUT_SCHEMA:
            continue
        tool = _tool(value, here, where) if isinstance(value, Mapping) else None
        if tool is None:
            raise ConfigurationError(f"{where}: at `{here}` stands no function with a schema")
        found.append(tool)
    return found


def _namespaced(value: Mapping[str, Any], path: str, where: str) -> list[Declaration]:
    """List a namespace's functions under the names that vLLM shows the model."""
    return [
        replace(one, name=f"{value.get('name')}__{one.name}")
        for one in _listed(value["tools"], f"{path}.tools", where)
    ]


def _tool(value: Mapping[str, Any], path: str, where: str) -> Declaration | None:
    if isinstance(value.get("function"), Mapping):
        value, path = value["function"], f"{path}.function"
    elif value.get("type") != "function" and not any(key in value for key in _SCHEMA_KEYS):
        return None
    if "name" not in value:
        return None
    key = next((key for key in _SCHEMA_KEYS if key in value), "parameters")
    return Declaration(
        name=value["name"],
        schema=value.get(key),
        root=Root.OBJECT,
        where=where,
        path=f"{path}.{key}",
        name_path=f"{path}.name",
    )
