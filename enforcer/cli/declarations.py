"""The schemas in a file, whatever kind of declaration it is.

Owns: recognising a schema, tools of OpenAI's two APIs and of Anthropic's, requests of these
APIs, and MCP servers' tool lists. Must not know: what a schema means, where a request says of
which format its text is to be (that is `response_formats`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from enforcer.cli import response_formats
from enforcer.documents import Unreadable
from enforcer.schema import Root
from enforcer.schema.keywords import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.documents import Document

# The keys under which a tool of one kind or another has its schema.
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_SCHEMA = "schema (`parameters`, `input_schema`, `inputSchema`)"
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
    """One schema, and whose it is.

    Attributes:
        name: the tool's; None for a schema by itself, and for a request's format.
        schema: as declared; None where a tool declares none.
        root: whether the value must be an object, as a tool's arguments are.
        where: the file, and the line in JSON Lines.
        path: where the schema stands in the document, from `$`.
        name_path: where the name stands.
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
    name_path: str
    form: Mapping[str, Any] | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class WithoutTools:
    """A request that declares no tool, but for those that its server runs itself."""


@dataclass(frozen=True, slots=True)
class Functions:
    """A list `functions`, which chat requests had before `tools`, and which vLLM does not read.

    Attributes:
        where: the file, and the line in JSON Lines.
        path: where it stands there.

    """

    where: str
    path: str


_Stands = Declaration | Unreadable | WithoutTools | Functions


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in a document.

    Attributes:
        declared: the schemas, in the document's order.
        unreadable: what is none of the kinds.
        without_tools: how many requests declare no tool, but for those that a server runs itself.
        functions: what requests declare in a form that nothing is made of.

    """

    declared: tuple[Declaration, ...]
    unreadable: tuple[Unreadable, ...]
    without_tools: int
    functions: tuple[Functions, ...] = ()


def find(document: Document) -> Found:
    """List what a document declares; what is none of the kinds spoils nothing else in it."""
    found = list(_find(document.value, "$", document.where))
    return Found(
        tuple(one for one in found if isinstance(one, Declaration)),
        tuple(one for one in found if isinstance(one, Unreadable)),
        sum(isinstance(one, WithoutTools) for one in found),
        tuple(one for one in found if isinstance(one, Functions)),
    )


def _find(value: Any, path: str, where: str) -> Iterator[_Stands]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _find(item, f"{path}[{at}]", where)
        return
    if isinstance(value, Mapping):
        for key in _AROUND:
            if isinstance(value.get(key), Mapping) and not isinstance(value.get("tools"), list):
                yield from _find(value[key], f"{path}.{key}", where)
                return
        if _is_request(value):
            yield from _of_request(value, path, where)
            return
        if (tool := _tool(value, path, where)) is not None:
            yield tool
            return
    if isinstance(value, bool) or (
        isinstance(value, Mapping) and (not value or not _KEYWORDS.isdisjoint(value))
    ):
        yield Declaration(None, value, Root.ANY, where, path, path)
        return
    fits = isinstance(value, Mapping)
    why = " (an object without any keyword of JSON Schema would fit everything)" if fits else ""
    what = "neither a JSON Schema, nor a tool, a request or an MCP tool list"
    yield Unreadable(f"{where}: `{path}` is {what}{why}")


def _is_request(value: Mapping[str, Any]) -> bool:
    """Tell whether it is a request, or an MCP result, which lists tools as well."""
    if isinstance(value.get("properties"), dict):
        return False  # a schema, whatever else it has
    if isinstance(value.get("tools"), list) or isinstance(value.get("messages"), list):
        return True
    said = any(isinstance(value.get(key), str | list) for key in _ASKING)
    return said and not _BESIDE.isdisjoint(value)


def _of_request(value: Mapping[str, Any], path: str, where: str) -> Iterator[_Stands]:
    lists = [(value.get("tools"), f"{path}.tools")]
    messages = value.get("messages")
    for at, message in enumerate(messages if isinstance(messages, list) else ()):
        # Kimi's dynamic tools stand in system messages.
        if isinstance(message, Mapping):
            lists.append((message.get("tools"), f"{path}.messages[{at}].tools"))
    asked = [key for key in _ASKING if key in value]  # nothing in an MCP result
    found: list[Declaration | Unreadable] = []
    for tools, here in lists:
        if isinstance(tools, list):
            found += _listed(tools, here, where)
        elif tools is not None:
            found.append(Unreadable(f"{where}: `{here}` is not a list of tools"))
    if asked and not found:
        yield WithoutTools()
    if isinstance(messages, list) and value.get("functions"):
        yield Functions(where, f"{path}.functions")
    request = path if asked else None
    for one in found:
        yield replace(one, request=request) if isinstance(one, Declaration) else one
    # What a completion without a chat must be is left to vLLM.
    wanted = None if asked == ["prompt"] else response_formats.demanded(value, path)
    if wanted is not None:
        yield Declaration(
            *(None, wanted.schema, Root.ANY, where, wanted.path, wanted.path, wanted.form),
            request=path,
        )


def _listed(tools: list[Any], path: str, where: str) -> Iterator[Declaration | Unreadable]:
    for at, value in enumerate(tools):
        here = f"{path}[{at}]"
        kind = value.get("type") if isinstance(value, Mapping) else None
        if kind == "namespace" and isinstance(value.get("tools"), list):
            yield from _namespaced(value, here, where)
        elif not (isinstance(kind, str) and kind in _WITHOUT_SCHEMA):
            tool = _tool(value, here, where) if isinstance(value, Mapping) else None
            yield tool or Unreadable(f"{where}: `{here}` is not a function with a {_SCHEMA}")


def _namespaced(
    value: Mapping[str, Any], path: str, where: str
) -> Iterator[Declaration | Unreadable]:
    """List a namespace's functions under the names that vLLM shows the model."""
    for one in _listed(value["tools"], f"{path}.tools", where):
        shown = f"{value.get('name')}__"
        yield replace(one, name=f"{shown}{one.name}") if isinstance(one, Declaration) else one


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
