"""What one request allows, as a checked value, and what a server does to it before it settles it.

Its text is `spec_text`'s affair, how it travels `carrier`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from enforcer.errors import SchemaLimit
from enforcer.request.options import Options
from enforcer.request.response_format import SCHEMA, FormatKind
from enforcer.request.tools import Tools
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from enforcer.request.response_format import ResponseFormat
    from enforcer.request.tools import ToolSet
    from enforcer.schema import OnUnsupported
    from enforcer.schema.limits import Limits


_WISHES = ("on_unsupported", "finish_within_budget", "closed_objects")


class Settled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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

    toolset: ToolSet
    first_index: int
    response_format: ResponseFormat | None = None
    on_unsupported: OnUnsupported | None = None
    finish_within_budget: bool | None = None
    closed_objects: bool | None = None
    settled: Settled | None = None

    def resolve(self, options: Options) -> Options:
        """Return the options that hold for this request, where `options` are the host's own."""
        if self.settled is not None:
            return self.settled.options
        wished = {name: getattr(self, name) for name in _WISHES}
        words = {name: wish for name, wish in wished.items() if wish is not None}
        return options.changed(**words) if words else options


def refuse_large(spec: Spec, limits: Limits) -> None:
    """Refuse what no schema of a request exceeds, and all of them together do.

    Args:
        spec: as somebody has sent it.
        limits: those of the request.

    Raises:
        SchemaLimit: there are too many tools, or too much is said of them.

    """
    tools, wanted = spec.toolset.tools, spec.response_format
    size = sum(len(tool.schema) for tool in tools.values())
    size += 0 if wanted is None else len(wanted.source)
    reason = too_large(len(tools), size, limits)
    if reason is not None:
        raise SchemaLimit.of("$.tools" if tools else "$.response_format", "", reason)


def too_large(tools: int, size: int, limits: Limits) -> str | None:
    """Return what is too much of a request; None if nothing is.

    Args:
        tools: how many it declares.
        size: characters of all schemas, that of its format among them.
        limits: those of the request.

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
    """Return a spec whose schemas have in them what they refer to outside of themselves.

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
            raise SchemaLimit.of(path, "$ref", reason)
        return found

    schemas = {tool.name: put_into(tool.schema, tool.path) for tool in spec.toolset.tools.values()}
    wanted = spec.response_format
    if wanted is not None and wanted.kind is FormatKind.JSON_SCHEMA:
        wanted = replace(wanted, source=put_into(wanted.source, SCHEMA))
    return with_schemas(replace(spec, response_format=wanted), schemas) if added else spec


def with_schemas(spec: Spec, schemas: Mapping[str, str]) -> Spec:
    """Return a spec whose named tools have other schemas."""
    own = spec.toolset.tools
    changed = {name: own[name]._replace(schema=schema) for name, schema in schemas.items()}
    return replace(spec, toolset=replace(spec.toolset, tools=Tools(own | changed)))
