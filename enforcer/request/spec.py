"""The spec of a request: its tools, response format and options as one checked value.

`spec_text` is its JSON text, `carrier` the fields that hold the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from enforcer.errors import SchemaLimit
from enforcer.request import history
from enforcer.request import response_format as formats
from enforcer.request import tools as tools_
from enforcer.request.options import Options
from enforcer.schema.limits import Limits, named

if TYPE_CHECKING:
    from enforcer.schema import OnUnsupported

_WISHES = ("on_unsupported", "finish_within_budget", "closed_objects")


class Settled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The decisions of the API server about a request, which the engine process follows.

    Attributes:
        dialect, engine: names of the tool-call format and the engine.
        options: the options of the request, its own wishes included.
        as_text: whether one of vLLM's own parsers reads the reply, by its text.

    """

    dialect: str
    engine: str
    options: Options
    as_text: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """The constraints of one request.

    Attributes:
        toolset: tools, choice and number of calls.
        first_index: number of calls in the dialog so far.
        response_format: the format of the text; None for free text.
        on_unsupported, finish_within_budget, closed_objects: override the server's options; None
            leaves them.
        settled: the API server's decisions; None before it has seen the spec.

    """

    toolset: tools_.ToolSet
    first_index: int
    response_format: formats.ResponseFormat | None = None
    on_unsupported: OnUnsupported | None = None
    finish_within_budget: bool | None = None
    closed_objects: bool | None = None
    settled: Settled | None = None

    def resolve(self, options: Options) -> Options:
        """Return the options of this request, given the host's own."""
        if self.settled is not None:
            return self.settled.options
        wished = {name: getattr(self, name) for name in _WISHES}
        words = {name: wish for name, wish in wished.items() if wish is not None}
        return options.changed(**words) if words else options


def read_fields(
    tools: object,
    tool_choice: object,
    parallel_tool_calls: object,
    messages: object,
    response_format: object,
) -> Spec:
    """Return the spec of the fields of a chat request, its schemas unchecked.

    Raises:
        InvalidTools: a field is not what a chat request carries.

    """
    return Spec(
        tools_.parse(tools, tool_choice, parallel_tool_calls),
        history.count_calls(messages),
        formats.parse(response_format),
    )


def refuse_large(spec: Spec, limits: Limits) -> None:
    """Raise SchemaLimit if a spec has too many tools or too many characters of schemas."""
    tools, wanted = spec.toolset.tools, spec.response_format
    size = sum(len(tool.schema) for tool in tools.values())
    size += 0 if wanted is None else len(wanted.source)
    reason = too_large(len(tools), size, limits)
    if reason is not None:
        raise SchemaLimit.of("$.tools" if tools else "$.response_format", "", reason)


def too_large(tools: int, size: int, limits: Limits) -> str | None:
    """Return the words for the limit that a request is over; None if it is within all.

    Args:
        tools: the number of tools.
        size: the characters of all schemas, that of the response format included.
        limits: the limits.

    """
    if tools > limits.tools:
        return f"{tools} tools, over {limits.tools} {named('tools')}; declare fewer"
    if size > limits.request:
        return (
            f"all schemas of the request have {size} characters together, over {limits.request} "
            f"{named('request')}; declare fewer or smaller ones"
        )
    return None


def bundled(spec: Spec, bundle: Callable[[str], str], most: int) -> Spec:
    """Return a spec whose schemas are bundled with the documents that they refer to.

    Args:
        spec: the spec.
        bundle: returns a schema with the documents that it refers to; see
            `enforcer.schema.bundling`.
        most: how many characters may be added to all schemas together.

    Returns:
        The spec itself if no schema refers to a document.

    Raises:
        SchemaLimit: more would be added; the path is that of the schema that goes over.

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
            raise SchemaLimit.of(path, "$ref", reason)
        return found

    schemas = {tool.name: put_into(tool.schema, tool.path) for tool in spec.toolset.tools.values()}
    wanted = spec.response_format
    if wanted is not None and wanted.kind is formats.FormatKind.JSON_SCHEMA:
        wanted = replace(wanted, source=put_into(wanted.source, formats.SCHEMA))
    return with_schemas(replace(spec, response_format=wanted), schemas) if added else spec


def with_schemas(spec: Spec, schemas: Mapping[str, str]) -> Spec:
    """Return a spec with the schemas of some tools, by name, replaced."""
    own = spec.toolset.tools
    changed = {
        name: msgspec.structs.replace(own[name], schema=schema) for name, schema in schemas.items()
    }
    return replace(spec, toolset=replace(spec.toolset, tools=tools_.Tools(own | changed)))
