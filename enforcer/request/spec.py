"""What a request allows, as text that travels through vLLM.

Owns: the spec's form, and the `extra_body` that carries it. Must not know: vLLM's
code (only which request fields reach its engine), vocabularies, schemas.

The spec rides as an extra key in a structural tag, which vLLM hands through
unread. The tag's own format is a token that no vocabulary has: xgrammar reads it, and
fails to compile it, so that an engine without the plugin ends the request with an error
rather than run unenforced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError, InvalidTools, Problem, SchemaLimit, brief
from enforcer.request import history
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.options import Options
from enforcer.schema import OnUnsupported
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema.limits import Limits

KEY = "enforcer"
HERE = f"$.{KEY}"  # the path of a spec, in errors about it
# How a server's refusal begins where no request without a spec is served.
REQUIRES = "this server serves enforced requests only"
# The operator's setting that a refused switch names.
ALLOW = "ENFORCER_ALLOW_CLIENT"
_VERSION = 3
_MOST_CALLS = 10**8  # an index of more than nine digits is not read back
_FIELDS = {
    *("version", "tools", "tool_choice", "parallel_tool_calls"),
    *("first_index", "response_format", "on_unsupported", "finish_within_budget"),
    *("closed_objects", "settled"),
}
_SETTLED_FIELDS = {"dialect", "engine", "options", "as_text"}
_KEPT = 8_000_000  # characters of a tag whose spec is kept: of 4,000,000 of schemas, escaped
_UNSETTLED = ',"settled":null}'
_IMPOSSIBLE = {"type": "token", "token": 2**31 - 1}


class Route(Enum):
    """Which part of vLLM enforces.

    Attributes:
        PLUGIN: the plugin, in vLLM's structured outputs.
        LOGITS_PROCESSOR: the logits processor, on servers that cannot have the plugin.

    """

    PLUGIN = "plugin"
    LOGITS_PROCESSOR = "logits_processor"


@dataclass(frozen=True, slots=True)
class Settled:
    """What the server that checked a request has decided, so that no other host needs to know.

    Attributes:
        dialect, engine: by name.
        options: what holds for this request, its own wishes included.
        as_text: whether a parser of vLLM's own reads the reply, by its text.

    """

    dialect: str
    engine: str
    options: Options
    as_text: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """What one request allows, apart from its prompt.

    Attributes:
        toolset: tools, choice and number of calls.
        first_index: number of calls in the dialog so far.
        response_format: what text must fit; None for free text.
        on_unsupported, finish_within_budget, closed_objects: overrule the enforcer's own
            options; None leaves them.
        settled: what the front end has decided; None where none has seen it yet.

    """

    toolset: tools_.ToolSet
    first_index: int
    response_format: ResponseFormat | None = None
    on_unsupported: OnUnsupported | None = None
    finish_within_budget: bool | None = None
    closed_objects: bool | None = None
    settled: Settled | None = None

    def resolve(self, options: Options) -> Options:
        """Give the options that hold for this request, where `options` are the host's own."""
        if self.settled is not None:
            return self.settled.options
        finish, conventions = self.finish_within_budget, options.conventions
        if self.closed_objects is not None:
            conventions = replace(conventions, closed_objects=self.closed_objects)
        return replace(
            options,
            on_unsupported=self.on_unsupported or options.on_unsupported,
            conventions=conventions,
            finish_within_budget=options.finish_within_budget if finish is None else finish,
        )


def write(
    tools: object,
    tool_choice: object,
    parallel: object,
    first_index: int,
    response_format: object = None,
    *,
    on_unsupported: str | None = None,
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
        on_unsupported: "refuse", "relax" or "isolate"; None leaves it to the server.
        finish_within_budget: likewise; see `Options`.
        closed_objects: likewise; see `enforcer.schema.Conventions`.
        settled: what the server has decided; a client leaves it out.

    Raises:
        InvalidTools: not JSON.

    """
    spec = {
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
    return _dump(spec)


def _dump(spec: object) -> str:
    try:
        return json.dumps(spec, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTools("$.tools", f"they are not JSON: {error}") from error


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


def refuse_large(spec: Spec, limits: Limits) -> None:
    """Refuse what no schema of a request exceeds, and all of them together do.

    Args:
        spec: as somebody has sent it.
        limits: those of the request.

    Raises:
        SchemaLimit: there are too many tools, or too much is said of them.

    """
    tools, wanted = spec.toolset.tools, spec.response_format
    if len(tools) > limits.tools:
        reason = f"{len(tools)} tools, over {limits.tools} {named('tools')}; declare fewer"
        raise SchemaLimit((Problem("$.tools", "", reason),))
    size = sum(len(tool.schema) for tool in tools.values())
    size += 0 if wanted is None else len(wanted.source)
    if size > limits.request:
        reason = (
            f"all schemas of the request have {size} characters together, over {limits.request} "
            f"{named('request')}; declare fewer or smaller ones"
        )
        raise SchemaLimit((Problem("$.tools" if tools else "$.response_format", "", reason),))


def bundled(spec: Spec, bundle: Callable[[str], str], most: int) -> Spec:
    """Give a spec whose schemas have in them what they refer to outside of themselves.

    Args:
        spec: as somebody has sent it.
        bundle: puts the operator's documents into a schema; see `enforcer.schema.bundling`.
        most: characters that may be added to all schemas together.

    Returns:
        The spec itself where none refers to a document.

    Raises:
        SchemaLimit: more would be added; leads to the schema with which it becomes too much.

    """
    added = 0

    def put_into(schema: str, path: str) -> str:
        nonlocal added
        found = bundle(schema)
        added += len(found) - len(schema)
        if added > most:
            reason = (
                f"the documents that the schemas up to this one refer to have over {most} "
                f"characters together {named('size')}; refer to smaller ones"
            )
            raise SchemaLimit((Problem(path, "$ref", reason),))
        return found

    tools = {
        name: replace(tool, schema=put_into(tool.schema, tool.path))
        for name, tool in spec.toolset.tools.items()
    }
    wanted = spec.response_format
    if wanted is not None and wanted.kind is formats.FormatKind.JSON_SCHEMA:
        path = "$.response_format.json_schema.schema"
        wanted = replace(wanted, source=put_into(wanted.source, path))
    if tools == spec.toolset.tools and wanted == spec.response_format:
        return spec
    return replace(spec, toolset=replace(spec.toolset, tools=tools), response_format=wanted)


def put(text: str, mine: Spec) -> str:
    """Give a spec's text, which `read` has accepted, with the schemas of what `bundled` gave."""
    spec = json.loads(text)
    for tool in spec["tools"]:
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


def structural_tag(spec: str) -> str:
    """Wrap a spec's text for `structured_outputs.structural_tag`."""
    return json.dumps({"type": "structural_tag", "format": _IMPOSSIBLE, KEY: spec})


def from_structural_tag(tag: object) -> str | None:
    """Find the spec's text in a structural tag; None if it carries none."""
    if not isinstance(tag, str) or f'"{KEY}"' not in tag:
        return None
    return _found(tag) if len(tag) <= _KEPT else _find(tag)


def _find(tag: str) -> str | None:
    try:
        data = json.loads(tag)
    except (ValueError, RecursionError):
        return None  # vLLM says what is wrong with it
    return data.get(KEY) if isinstance(data, dict) else None


# Each prompt of a list and each of `n` replies brings a copy, which is asked several times.
_found = lru_cache(maxsize=4)(_find)


def from_extra(extra: object) -> str | None:
    """Find the spec's text in `vllm_xargs`; None if there is none, or a word that switches."""
    found = extra.get(KEY) if isinstance(extra, Mapping) else None
    return found if isinstance(found, str) and found.lstrip().startswith("{") else None


def extra_body(
    tools: object,
    tool_choice: object = "auto",
    *,
    parallel_tool_calls: object = True,
    messages: object = None,
    response_format: object = None,
    on_unsupported: str | None = None,
    finish_within_budget: bool | None = None,
    closed_objects: bool | None = None,
    via: Route | str = Route.PLUGIN,
) -> dict[str, Any]:
    """Build what makes vLLM enforce one request, for an OpenAI client's `extra_body`.

    Args:
        tools: as a chat request carries them.
        tool_choice: likewise.
        parallel_tool_calls: likewise.
        messages: likewise; the dialog's calls are counted.
        response_format: likewise.
        on_unsupported: "relax" enforces the nearest superset of a schema that cannot be
            enforced exactly, where the server allows it; "isolate" likewise, and what has none
            takes any object.
        finish_within_budget: see `Options`; where the server allows it.
        closed_objects: see `Conventions`; where the server allows it.
        via: how the server enforces; a `Route`, or its value.

    Raises:
        InvalidTools: a field is not what a chat request carries.
        ConfigurationError: there is no such route.

    """
    try:
        route = Route(via)
    except ValueError:
        known = ", ".join(f"enforcer.Route.{each.name}" for each in Route)
        raise ConfigurationError(f"`via` is {brief(via)}, which is none of {known}") from None
    if tool_choice == "auto" and not tools:
        tool_choice = None
    first = history.count_calls(messages)
    spec = write(
        tools,
        tool_choice,
        parallel_tool_calls,
        first,
        response_format,
        on_unsupported=on_unsupported,
        finish_within_budget=finish_within_budget,
        closed_objects=closed_objects,
    )
    read(spec)
    if route is Route.LOGITS_PROCESSOR:
        return {"vllm_xargs": {KEY: spec}}
    return {"structured_outputs": {"structural_tag": structural_tag(spec)}}
