"""Schemas so plain that they are sure to compile, told by one look.

Owns: a condition on the schema as it is written, under which compiling it cannot fail;
most declared tools fulfil it, and checking one costs microseconds. A schema that does not
is not refused, only compiled to find out. Must not know: engines.

The condition: typed objects, arrays and scalars, enumerated strings, and annotations;
required names are declared; all of it far below every limit.
"""

from __future__ import annotations

from typing import Any

_SIZE = 20_000  # characters of the schema as JSON text
_DEPTH = 8
_NODES = 150
_NAMES = 48  # of one object; fewer than the bits that engines track names by
_CHOICES = 64
_TEXT = 200

_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_ASSERTIONS: dict[str, frozenset[str]] = {
    "string": frozenset({"type", "enum"}),
    "array": frozenset({"type", "items"}),
    "object": frozenset({"type", "properties", "required", "additionalProperties"}),
    **{name: frozenset({"type"}) for name in _SCALARS - {"string"}},
}


def is_plain_object(schema: Any, size: int) -> bool:
    """Tell whether a schema of objects is plain.

    Args:
        schema: as parsed JSON.
        size: length of its JSON text.

    """
    if size > _SIZE or not isinstance(schema, dict):
        return False
    if not schema:
        return True
    if schema.get("type") != "object":
        return False
    return _count(schema, _DEPTH) <= _NODES


def _count(schema: Any, depth: int) -> int:
    """Count the schemas within a plain one; more than is allowed for one that is not."""
    if not isinstance(schema, dict) or depth == 0:
        return _NODES + 1
    kind = schema.get("type")
    known = _ASSERTIONS.get(kind) if isinstance(kind, str) else None
    if known is None or not all(
        key in known or (key in _ANNOTATIONS and _is_flat(value)) for key, value in schema.items()
    ):
        return _NODES + 1
    if kind == "array":
        return 1 + (_count(schema["items"], depth - 1) if "items" in schema else 0)
    if kind != "object":
        return 1 if _are_texts(schema.get("enum", ("",)), least=1) else _NODES + 1
    names = schema.get("properties", {})
    required = schema.get("required", ())
    if (
        not isinstance(names, dict)
        or len(names) > _NAMES
        or not _are_texts(list(names), least=0)
        or not isinstance(schema.get("additionalProperties", True), bool)
        or not _are_texts(required, least=0)
        or not names.keys() >= set(required)
        or len(set(required)) != len(required)
    ):
        return _NODES + 1
    return 1 + sum(_count(value, depth - 1) for value in names.values())


def _are_texts(value: Any, *, least: int) -> bool:
    """Tell whether a value is a list of not too many printable strings.

    Printable excludes lone surrogates, which no JSON text in UTF-8 can have.
    """
    return (
        isinstance(value, list | tuple)
        and least <= len(value) <= _CHOICES
        and all(isinstance(x, str) and len(x) <= _TEXT and x.isprintable() for x in value)
    )


def _is_flat(value: Any) -> bool:
    """Tell whether an annotation's value has no depth that a limit could be about."""
    if isinstance(value, list):
        return all(item is None or isinstance(item, str | int | float) for item in value)
    return value is None or isinstance(value, str | int | float)
