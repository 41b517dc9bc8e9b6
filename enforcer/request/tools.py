"""The tools, tool choice and other call options of a chat request, as one frozen `ToolSet`.

Schemas stay JSON text. Must not know: what a schema means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from enforcer.cache import Cache
from enforcer.errors import InvalidTools, brief
from enforcer.request.json_text import NULL, UNREADABLE, dump, misfit
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.schema.limits import Root
from enforcer.schema.reading.plain import is_plain, is_quick

# What OpenAI's API, MCP servers and Kimi's `functions.NAME:IDX` have in common, letters of
# any script included. A colon, white space or `<|` would make a header ambiguous.
_NAME = re.compile(r"[\w./-]{1,128}")
_SAID = '"type":"object"'  # may be left out of a tool's schema
_PATH = "$.tools"
_WITHIN = re.compile(r"\$\.tools\[(\d{1,9})\]")
_OBJECTS = (dict, Mapping)
_KEPT = 32_000_000  # bytes of the cache of tools, which an agent sends with every request
_WEIGHT = 3  # times the text: the text as key, its schemas, names and paths
_FORMAT = 500  # bytes of a tool's `arguments`, with their digest


class ToolChoice(Enum):
    """The tool choice: a turn may call, must not call, or must call."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


class Tool(msgspec.Struct, frozen=True, dict=True):
    """One declared function.

    Attributes:
        name: as declared.
        schema: its `parameters` as JSON text, by which grammars are cached; `"{}"` if missing.
        at: its index among the request's tools.

    """

    name: str
    schema: str
    at: int

    @property
    def path(self) -> str:
        """The path of its `parameters` in the request."""
        return f"{_PATH}[{self.at}].function.parameters"

    @cached_property
    def arguments(self) -> ResponseFormat:
        """The format of its arguments."""
        return ResponseFormat(FormatKind.JSON_SCHEMA, self.schema, Root.OBJECT, self.path)


class Tools(dict[str, Tool]):
    """Declared tools by name; cached by their JSON text."""

    @cached_property
    def slow(self) -> frozenset[str]:
        """The names of the tools whose schemas are not small and plain."""
        return frozenset(name for name, tool in self.items() if not is_quick(tool.schema))

    @cached_property
    def doubtful(self) -> tuple[Tool, ...]:
        """The tools whose schemas may be refused, since they are not plain."""
        return tuple(tool for tool in self.values() if not is_plain(tool.schema))


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools of a request, and the calls that it allows.

    Attributes:
        tools: all declared tools.
        allowed: names that may be called, in order of declaration; empty for `none`.
        choice: whether a call may, must or must not be made.
        parallel: whether a turn may have more than one call.

    """

    tools: Tools
    allowed: tuple[str, ...]
    choice: ToolChoice
    parallel: bool


class _Function(msgspec.Struct):
    name: Any = None
    parameters: msgspec.Raw = NULL


class _ToolEntry(msgspec.Struct):
    function: _Function | None = None
    type: Any = "function"


_DECODER = msgspec.json.Decoder(list[_ToolEntry] | None)
_sets = Cache(_KEPT)


def parse(tools: object, tool_choice: object, parallel_tool_calls: object) -> ToolSet:
    """Return the tool set of three fields of a chat request.

    `tool_choice` may be `None` (as if absent) or `auto`, which is `none` without tools, another
    word, a named function, or `{"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}`.

    Raises:
        InvalidTools: a field is malformed.

    """
    return choose(read(encoded(tools)), tool_choice, parallel_tool_calls)


def choose(tools: Tools, tool_choice: object, parallel_tool_calls: object) -> ToolSet:
    """Return the tool set of read tools and two fields of a request; raise as `parse` does."""
    if parallel_tool_calls is None:
        parallel_tool_calls = True
    if not isinstance(parallel_tool_calls, bool):
        raise InvalidTools("$.parallel_tool_calls", "it must be true or false")
    choice, names = _read_choice(tool_choice, tools)
    if choice is ToolChoice.REQUIRED and not names:
        raise InvalidTools(
            "$.tool_choice", "a call is demanded, but no tool is declared; declare one in `tools`"
        )
    allowed = () if choice is ToolChoice.NONE else names
    return ToolSet(tools, allowed, choice, parallel_tool_calls)


def encoded(tools: object) -> bytes:
    """Return the names and schemas of tools as JSON text, for `read`.

    Raises:
        InvalidTools: a value is not JSON; the path leads at most to a tool's `parameters`.

    """
    if isinstance(tools, Sequence) and not isinstance(tools, str | bytes):
        # One by one takes a third less time than together: each fits a processor's cache.
        parts = [dump(_bare(tool), f"{_PATH}[{at}]", 2) for at, tool in enumerate(tools)]
        return b"[%b]" % b",".join(parts)
    return dump(tools, _PATH, 3)


def _bare(tool: object) -> object:
    """Return a tool with its type, name and parameters alone; another value unchanged."""
    function = tool.get("function") if isinstance(tool, _OBJECTS) else None
    if not isinstance(tool, _OBJECTS) or not isinstance(function, _OBJECTS):
        return tool
    kept = {"type": tool["type"]} if "type" in tool else {}
    kept["function"] = {key: function[key] for key in ("name", "parameters") if key in function}
    return kept


def read(text: bytes) -> Tools:
    """Return the tools in a JSON text; cached.

    Raises:
        InvalidTools: the text is no list of tools.

    """
    return _sets.get(text, lambda: _read(text), lambda tools: _weight(text, tools))


def _weight(text: bytes, tools: Tools) -> int:
    return _WEIGHT * len(text) + _FORMAT * len(tools)


def _read(text: bytes) -> Tools:
    try:
        entries = _DECODER.decode(text) or ()
    except UNREADABLE as error:
        raise misfit(error, _PATH) from error
    tools = Tools()
    for at, entry in enumerate(entries):
        if entry.type != "function":
            reason = f"only tools of type 'function' are known, not {brief(entry.type)}"
            raise InvalidTools(f"{_PATH}[{at}].type", reason)
        if entry.function is None:
            reason = 'it is missing: a tool is {"type": "function", "function": {"name": …, …}}'
            raise InvalidTools(f"{_PATH}[{at}].function", reason)
        name = read_name(entry.function.name, f"{_PATH}[{at}].function.name")
        if name in tools:
            reason = f"the name {name!r} is declared twice"
            raise InvalidTools(f"{_PATH}[{at}].function.name", reason)
        schema = bytes(entry.function.parameters).decode()
        tools[name] = Tool(name, "{}" if schema == "null" else schema, at)
        if not schema.startswith(("{", "null")):
            reason = f"it must be a JSON Schema object, not {schema:.40}"
            raise InvalidTools(tools[name].path, reason)
    return tools


def rewritten(tools: Tools) -> bytes:
    """Return tools as JSON text, for `read`."""
    entries = [
        _ToolEntry(_Function(tool.name, msgspec.Raw(tool.schema.encode())))
        for tool in tools.values()
    ]
    return msgspec.json.encode(entries)


def index_at(path: str) -> int | None:
    """Return the index of the tool that a path in a request leads to; None if to no tool."""
    found = _WITHIN.match(path)
    return int(found[1]) if found else None


def as_text(schema: object, path: str) -> str:
    """Return a tool's schema, found at `path`, as JSON text; raise as `parse` does."""
    return dump(schema, path).decode()


def is_same(schema: str, other: str) -> bool:
    """Return whether two schemas, as `as_text` writes them, differ in the order of members alone.

    A missing `"type": "object"` at the root makes no difference: vLLM adds it to the tools of the
    Messages API. Schemas nested too deeply to be read, over every limit, are never the same.
    """
    if schema == other:
        return True
    # Equal schemas have no other lengths: so megabytes need not be read.
    if abs(len(schema) - len(other)) not in {0, len(_SAID), len(_SAID) + len(",")}:
        return False
    try:
        return _canonical(schema) == _canonical(other)
    except RecursionError:
        return False


def _canonical(schema: str) -> str:
    # As text, for `true` and `1` are the same to Python.
    return json.dumps({"type": "object", **json.loads(schema)}, sort_keys=True)


def read_name(name: object, path: str) -> str:
    """Return a tool's name.

    Raises:
        InvalidTools: the name is no string of 1 to 128 letters, digits, `_`, `-`, `.` and `/`.

    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidTools(
            path,
            f"{brief(name)} is not a tool name: use 1 to 128 letters, digits, '_', '-', '.' or '/'",
        )
    return name


def _read_choice(
    choice: object, declared: Mapping[str, Tool]
) -> tuple[ToolChoice, tuple[str, ...]]:
    """Return the tool choice and the names that may be called; raise `InvalidTools` if invalid."""
    names, path = tuple(declared), "$.tool_choice"
    match choice:
        case None | "auto":
            return (ToolChoice.AUTO if names else ToolChoice.NONE), names
        case str():
            named = json.dumps(choice) if choice in declared else '"NAME"'
            function = f'{{"type": "function", "function": {{"name": {named}}}}}'
            also = f"; a function is demanded by its name as {function}"
            return _read_mode(choice, path, tuple(ToolChoice), also), names
        case {"type": "function"}:
            return ToolChoice.REQUIRED, (_read_reference(choice, path, declared),)
        case {"type": "allowed_tools", "allowed_tools": {"tools": [*listed], **more}}:
            path += ".allowed_tools"
            modes = ToolChoice.AUTO, ToolChoice.REQUIRED
            mode = _read_mode(more.get("mode"), f"{path}.mode", modes)
            chosen = {
                _read_reference(entry, f"{path}.tools[{at}]", declared)
                for at, entry in enumerate(listed)
            }
            return mode, tuple(name for name in names if name in chosen)
        case {"type": "allowed_tools"}:
            reason = "it must be an object with `mode` and a list `tools`"
            raise InvalidTools(f"{path}.allowed_tools", reason)
        case Mapping():
            raise InvalidTools(f"{path}.type", "it must be 'function' or 'allowed_tools'")
    raise InvalidTools(path, f"it must be a word or an object, not {type(choice).__name__}")


def _read_mode(
    mode: object, path: str, known: tuple[ToolChoice, ...], also: str = ""
) -> ToolChoice:
    for choice in known:
        if choice.value == mode:
            return choice
    words = ", ".join(repr(choice.value) for choice in known)
    raise InvalidTools(path, f"{brief(mode)} is not one of {words}{also}")


def _read_reference(entry: object, path: str, declared: Mapping[str, Tool]) -> str:
    name: object = None
    match entry:
        case {"function": {"name": name}} if isinstance(name, str) and name in declared:
            return name
    reason = f"{brief(name)} is not a tool that `tools` declares"
    raise InvalidTools(f"{path}.function.name", reason)
