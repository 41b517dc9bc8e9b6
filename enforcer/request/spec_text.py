"""A spec as text, which travels from whoever builds it to the engine.

Owns: the form of the text, writing it, reading it with trust in nothing, and what a front end puts
into it. Must not know: what carries it (that is `carrier`), vLLM, vocabularies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidTools, brief
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.options import Options
from enforcer.request.spec import Settled, Spec
from enforcer.schema import OnUnsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HERE = "$.enforcer"  # the path of a spec, in errors about it
_VERSION = 3
_MOST_CALLS = 10**8  # an index of more than nine digits is not read back
_FIELDS = {
    *("version", "tools", "tool_choice", "parallel_tool_calls"),
    *("first_index", "response_format", "on_unsupported", "finish_within_budget"),
    *("closed_objects", "settled"),
}
_SETTLED_FIELDS = {"dialect", "engine", "options", "as_text"}
_NOT_JSON = (TypeError, ValueError, RecursionError)  # what `json.dumps` raises of it
_UNSETTLED = ',"settled":null}'


def write(
    tools: object,
    tool_choice: object,
    parallel: object,
    first_index: int,
    response_format: object = None,
    *,
    on_unsupported: OnUnsupported | str | None = None,
    finish_within_budget: bool | None = None,
    closed_objects: bool | None = None,
    settled: Settled | None = None,
) -> str:
    """Give the spec's text; what it says is checked by `read`.

    Args:
        tools, tool_choice, parallel: as a chat request carries them. Of the tools, names
            and parameters are kept.
        first_index: number of calls in the dialog so far.
        response_format: as `enforcer.request.response_format.parse` reads it.
        on_unsupported: an `OnUnsupported`, or its word; None leaves it to the server.
        finish_within_budget: likewise; see `Options`.
        closed_objects: likewise; see `enforcer.schema.Conventions`.
        settled: what the server has decided; a client leaves it out.

    Raises:
        InvalidTools: not JSON; its path is that of the tool's part, or of the other field.

    """
    if isinstance(on_unsupported, OnUnsupported):
        on_unsupported = on_unsupported.value
    spec: dict[str, Any] = {
        "version": _VERSION,
        "tools": [_bare(tool) for tool in tools] if isinstance(tools, list | tuple) else tools,
        "tool_choice": tool_choice,
        "parallel_tool_calls": parallel,
        "first_index": first_index,
        "response_format": response_format,
        "on_unsupported": on_unsupported,
        "finish_within_budget": finish_within_budget,
        "closed_objects": closed_objects,
        "settled": None if settled is None else _settled_json(settled),
    }
    try:
        return _encode(spec)
    except _NOT_JSON as error:
        path = next((path for path, part in _parts(spec) if not _is_json(part)), "$")
        raise InvalidTools(path, f"it is not JSON: {error}") from error


def _encode(spec: object) -> str:
    return json.dumps(spec, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _dump(spec: object) -> str:
    """Write again what has been read, to which a server has added."""
    try:
        return _encode(spec)
    except _NOT_JSON as error:
        raise InvalidTools("$", f"it is not JSON: {error}") from error


def _parts(spec: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Give what a client may have written of a spec, in parts as deep as in the whole.

    Each is a path and a part. No deeper path than to a tool's `parameters`, as where they are read.
    """
    tools = spec["tools"]
    for at, tool in enumerate(tools if isinstance(tools, list) else ()):
        function = tool.get("function") if isinstance(tool, Mapping) else None
        for key, value in function.items() if isinstance(function, Mapping) else ():
            yield f"$.tools[{at}].function.{key}", {"tools": [{"function": {key: value}}]}
        yield f"$.tools[{at}]", {"tools": [tool]}
    for name in ("tools", "tool_choice", "parallel_tool_calls"):
        yield f"$.{name}", {name: spec[name]}
    form = spec["response_format"]
    is_schema = isinstance(form, Mapping) and form.get("type") == "json_schema"
    path = "$.response_format"
    yield f"{path}.json_schema.schema" if is_schema else path, {"response_format": form}


def _is_json(part: object) -> bool:
    try:
        _encode(part)
    except _NOT_JSON:
        return False
    return True


def _settled_json(settled: Settled) -> dict[str, Any]:
    return {
        "dialect": settled.dialect,
        "engine": settled.engine,
        "options": settled.options.to_json(),
        "as_text": settled.as_text,
    }


def settle(text: str, settled: Settled) -> str:
    """Give a spec's text with what the server has decided in it; `read` has accepted it."""
    if text.endswith(_UNSETTLED):  # as `write` ends it; megabytes need not be read again
        return text.removesuffix("null}") + _dump(_settled_json(settled)) + "}"
    return _dump({**json.loads(text), "settled": _settled_json(settled)})


def put(text: str, mine: Spec) -> str:
    """Give a spec's text, which `read` has accepted, with the schemas of what `bundled` gave."""
    spec = json.loads(text)
    for tool in spec["tools"] or ():
        function = tool["function"]
        schema = mine.toolset.tools[function["name"]].schema
        if function.get("parameters") is not None:
            function["parameters"] = json.loads(schema)
    wanted = mine.response_format
    if wanted is not None and wanted.kind is formats.FormatKind.JSON_SCHEMA:
        schema = json.loads(wanted.source)
        spec["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return _dump(spec)


def isolate(text: str, names: Collection[str]) -> str:
    """Give a spec's text, which `read` has accepted, with tools that take any object."""
    spec = json.loads(text)
    for tool in spec["tools"]:
        if tool["function"]["name"] in names:
            tool["function"].pop("parameters", None)
    return _dump(spec)


def _bare(tool: Any) -> Any:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping):
        return tool
    kept = {key: function[key] for key in ("name", "parameters") if key in function}
    return {"type": tool.get("type", "function"), "function": kept}


def read(text: object) -> Spec:
    """Read a spec's text, trusting nothing in it.

    Raises:
        InvalidTools: not a spec, or one that a chat request could not have made.

    """
    try:
        spec = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise InvalidTools(HERE, f"the spec is not JSON: {error}") from error
    if not isinstance(spec, dict) or "version" not in spec:
        raise InvalidTools(HERE, "not a spec; build it with `enforcer.extra_body`")
    if spec["version"] != _VERSION or set(spec) != _FIELDS:
        raise InvalidTools(
            HERE,
            f"a spec in form {brief(spec['version'])}, and this server reads form {_VERSION}: "
            "give client and server the same version of the Enforcer",
        )
    first = spec["first_index"]
    if not isinstance(first, int) or isinstance(first, bool) or not 0 <= first < _MOST_CALLS:
        raise InvalidTools(
            f"{HERE}.first_index", f"it must be a whole number from 0 to {_MOST_CALLS - 1}"
        )
    toolset = tools_.parse(spec["tools"], spec["tool_choice"], spec["parallel_tool_calls"])
    return Spec(
        toolset,
        first,
        formats.parse(spec["response_format"]),
        _read_on_unsupported(spec["on_unsupported"]),
        _read_choice(spec, "finish_within_budget"),
        _read_choice(spec, "closed_objects"),
        _read_settled(spec["settled"]),
    )


def _read_choice(spec: Mapping[str, object], name: str) -> bool | None:
    value = spec[name]
    if value is not None and not isinstance(value, bool):
        raise InvalidTools(f"{HERE}.{name}", "it must be true or false")
    return value


def _read_settled(value: object) -> Settled | None:
    if value is None:
        return None
    try:
        if not isinstance(value, dict) or set(value) != _SETTLED_FIELDS:
            raise TypeError("not an object of these fields")  # noqa: TRY301 - one refusal
        dialect, engine, as_text = value["dialect"], value["engine"], value["as_text"]
        if not isinstance(dialect, str) or not isinstance(engine, str):
            raise TypeError("not names")  # noqa: TRY301
        if not isinstance(as_text, bool):
            raise TypeError("neither true nor false")  # noqa: TRY301
        return Settled(dialect, engine, Options.from_json(value["options"]), as_text)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidTools(
            f"{HERE}.settled", "only a server of the same version writes it: leave it out"
        ) from error


def _read_on_unsupported(value: object) -> OnUnsupported | None:
    if value is None:
        return None
    for option in OnUnsupported:
        if option.value == value:
            return option
    raise InvalidTools(f"{HERE}.on_unsupported", "it must be 'refuse', 'relax' or 'isolate'")
