"""The response format of a recorded request.

Owns: where the bodies of Chat Completions, Responses and Messages have it, and vLLM's own
`structured_outputs`, as the server reads them. Must not know: how a format is enforced, tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from enforcer.request import carrier

_STRUCTURED = "structured_outputs"
_KINDS = ("regex", "choice", "grammar")


@dataclass(frozen=True, slots=True)
class Demanded:
    """A format, and where it stands.

    Attributes:
        form: as `enforcer.request.response_format.parse` takes it.
        path: where it stands in the document, from `$`: of a schema the schema itself, of
            anything else the object that holds it.
        schema: the JSON Schema; None for a format of another kind.

    """

    form: Mapping[str, Any]
    path: str
    schema: Any = None


def demanded(body: Mapping[str, Any], path: str) -> Demanded | None:
    """Find the format of a request's body; None for free text, or JSON of any kind.

    Args:
        body: a request of one of the three APIs, which has only the fields of its own.
        path: where it stands.

    """
    chat = body.get("response_format")
    if isinstance(chat, Mapping) and chat.get("type") != "text":
        return _of_chat(chat, f"{path}.response_format")
    for around in ("text", "output_config"):
        outer = body.get(around)
        own = outer.get("format") if isinstance(outer, Mapping) else None
        if isinstance(own, Mapping) and own.get("type") == "json_schema":
            schema = own.get("schema")
            # Without a schema the server asks for none.
            return None if schema is None else _json(schema, f"{path}.{around}.format.schema")
    outputs = body.get(_STRUCTURED)
    return (
        _of_structured(outputs, f"{path}.{_STRUCTURED}") if isinstance(outputs, Mapping) else None
    )


def _of_chat(form: Mapping[str, Any], path: str) -> Demanded | None:
    if form.get("type") == "json_object":
        return None
    wrapper = form.get("json_schema") if form.get("type") == "json_schema" else None
    schema = wrapper.get("schema") if isinstance(wrapper, Mapping) else None
    if schema is not None:
        return _json(schema, f"{path}.json_schema.schema")
    return Demanded(form, path)


def _of_structured(outputs: Mapping[str, Any], path: str) -> Demanded | None:
    if outputs.get("structural_tag") is not None:
        # Ours, where a client brings its own spec, says what the request itself says.
        ours = carrier.from_structural_tag(outputs["structural_tag"]) is not None
        return None if ours else Demanded({"type": "structural_tag"}, path)
    if (schema := outputs.get("json")) is not None:
        return _json(_parsed(schema), f"{path}.json")
    for kind in _KINDS:
        if (value := outputs.get(kind)) is not None:
            return Demanded({"type": kind, kind: value}, path)
    return None


def _json(schema: Any, path: str) -> Demanded:
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    return Demanded(form, path, schema)


def _parsed(schema: Any) -> Any:
    """Read a schema that is JSON text; what is none is told where schemas are compiled."""
    with suppress(ValueError, RecursionError):
        return json.loads(schema) if isinstance(schema, str) else schema
    return schema
