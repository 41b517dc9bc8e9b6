"""Recognizer of plain schemas, which are sure to compile, in microseconds.

Its condition is sufficient, not necessary: nearly all declared tools fulfil it, and other schemas
are compiled to find out. Must not know: engines.

The condition: typed objects, arrays and scalars with modest bounds, enumerated scalars,
unions of different types, references to definitions that are not recursive, and annotations;
required names are declared; nothing contradicts itself; everything is far below the limits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import msgspec

from enforcer.schema.keywords import ANNOTATIONS

_SIZE = 20_000  # characters of the schema as JSON text
_DEPTH = 8
_MOST = 150  # subschemas, or their cost in units
# Costs in units of a schema with a type alone: a number with bounds takes up to a thirtieth of the
# work that the machine does for one grammar (`machine.builder.MOST_WORK`), and some milliseconds
# where it is new; `_LISTED` listed values take as long as one schema.
_BOUNDED = 5
_LISTED = 8
_NAMES = 48  # properties of one object
_CHOICES = 64
_TEXT = 200
_LENGTH = 10_000
_ITEMS = 64
_NUMBER = 10**12
_TOO_MANY = _MOST + 1

# Characters and cost of a plain schema that compiles in some milliseconds.
_QUICK = 2_000
_MOST_QUICK = 40
# Small schemas whose cost is cached (a few megabytes): an agent sends its hundred tools each turn.
_SEEN = 2_048

_DIALECTS = (
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
_AT_ROOT = frozenset({"$schema", "$defs", "definitions"})
_OF_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_DEFINITION = re.compile(r"#/(\$defs|definitions)/([A-Za-z0-9_.\-]+)")
_ENUMERATED = (frozenset({"enum"}), frozenset({"const"}))
_VALUES = {"string": str, "integer": int, "number": int, "boolean": bool}
# The bounding keywords of each type, and the least and the greatest bound.
_BOUNDS = {
    "string": ("minLength", "maxLength", 0, _LENGTH),
    "integer": ("minimum", "maximum", -_NUMBER, _NUMBER),
    "number": ("minimum", "maximum", -_NUMBER, _NUMBER),
    "array": ("minItems", "maxItems", 0, _ITEMS),
}
_KINDS = frozenset({"object", "null", *_VALUES, *_BOUNDS})


def is_quick(schema: str) -> bool:
    """Return whether a schema of arguments, as JSON text, is plain and compiles in milliseconds."""
    return len(schema) <= _QUICK and _remembered_cost(schema) <= _MOST_QUICK


def is_plain(schema: str) -> bool:
    """Return whether a schema of arguments, as JSON text, is plain."""
    cost = _remembered_cost if len(schema) <= _QUICK else cost_of
    return cost(schema) <= _MOST


@lru_cache(_SEEN)
def _remembered_cost(schema: str) -> int:
    return cost_of(schema)


def cost_of(text: str) -> int:
    """Return the cost of a schema of arguments, as JSON text.

    Returns:
        The number of subschemas, expensive ones counted several times; above `_MOST` if
        the schema is not plain.

    """
    if len(text) > _SIZE:
        return _TOO_MANY
    try:
        schema = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        # Half a surrogate pair, or a number beyond all doubles: the compiler refuses it.
        return _TOO_MANY
    if not isinstance(schema, dict):
        return _TOO_MANY
    if not schema:
        return 1
    if schema.get("type") != "object":
        return _TOO_MANY
    if not _AT_ROOT.isdisjoint(schema):
        if "$schema" in schema and schema["$schema"] not in _DIALECTS:
            return _TOO_MANY
        root = {key: value for key, value in schema.items() if key not in _AT_ROOT}
        look = _Look(schema)
        return look.definitions() + look.count(root, _DEPTH)
    return _Look(schema).count(schema, _DEPTH)


class _Look:
    """The costs of one document's subschemas; `_TOO_MANY` for a subschema that is not plain."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def definitions(self) -> int:
        """Return the cost of all definitions, used or not."""
        found = 0
        for key in ("$defs", "definitions"):
            named = self._document.get(key, {})
            if not isinstance(named, dict) or not _are_texts(list(named)):
                return _TOO_MANY
            found += sum(self.count(each, _DEPTH) for each in named.values())
        return found

    def count(self, schema: Any, depth: int) -> int:
        """Return the cost of a subschema and all inside it, nested at most `depth` deep."""
        if schema is True:
            return 1
        if not isinstance(schema, dict) or depth == 0:
            return _TOO_MANY
        kind = schema.get("type")
        if kind == "object" and schema.keys() <= _OF_OBJECT:
            return self._object(schema, depth)
        keys = schema.keys() - ANNOTATIONS
        if len(keys) < len(schema):
            for key in schema.keys() - keys:
                if not _is_flat(schema[key]):
                    return _TOO_MANY
        if not keys:
            return 1
        if kind is None:
            return self._untyped(schema, keys, depth)
        if isinstance(kind, list):
            kind = _nullable(kind)
        if not isinstance(kind, str) or kind not in _KINDS:
            return _TOO_MANY
        if kind == "object":
            return self._object(schema, depth) if keys <= _OF_OBJECT else _TOO_MANY
        found = 1
        if kind == "array" and "items" in keys:
            found += self.count(schema["items"], depth - 1)
            keys = keys - {"items"}
        return found + _cost(schema, keys) if _is_simple(schema, kind, keys) else _TOO_MANY

    def _untyped(self, schema: dict[str, Any], keys: set[str], depth: int) -> int:
        if keys == {"$ref"}:
            return self.count(self._referred(schema), depth - 1)
        if keys == {"anyOf"}:
            options = schema["anyOf"]
            if not isinstance(options, list) or not options:
                return _TOO_MANY
            kinds = [self._kind(option) for option in options]
            # Different types, so that no two have to be intersected.
            if not all(kinds) or len(set(kinds)) < len(kinds):
                return _TOO_MANY
            return 1 + sum(self.count(option, depth - 1) for option in options)
        if keys in _ENUMERATED and _are_scalars(schema, (str, int, bool, type(None))):
            return 1 + _cost(schema, keys)
        return _TOO_MANY

    def _referred(self, schema: dict[str, Any]) -> Any:
        """Return the definition that a `$ref` leads to; None if it leads elsewhere."""
        reference = schema["$ref"]
        found = _DEFINITION.fullmatch(reference) if isinstance(reference, str) else None
        named = self._document.get(found[1]) if found else None
        return named.get(found[2]) if found and isinstance(named, dict) else None

    def _kind(self, schema: Any) -> str | None:
        """Return the one type of an alternative (integers are numbers); None if there is none."""
        if isinstance(schema, dict) and "$ref" in schema:
            schema = self._referred(schema)
        kind = schema.get("type") if isinstance(schema, dict) else None
        if kind == "integer":
            return "number"
        return kind if isinstance(kind, str) else None

    def _object(self, schema: dict[str, Any], depth: int) -> int:
        names = schema.get("properties", {})
        required = schema.get("required", ())
        others = schema.get("additionalProperties", True)
        if (
            not isinstance(names, dict)
            or len(names) > _NAMES
            or not _are_texts([*names])
            or not _are_texts(required)
            or len(names.keys() & required) < len(required)  # a name is missing, or comes twice
        ):
            return _TOO_MANY
        found = 1 if isinstance(others, bool) else 1 + self.count(others, depth - 1)
        for value in names.values():
            # Most have nothing but a type and a description.
            if depth > 1 and type(value) is dict and len(value) <= 2:  # noqa: PLR2004
                kind = value.get("type")
                is_told = len(value) == 1 or type(value.get("description")) is str
                if is_told and type(kind) is str and kind in _KINDS:
                    found += 1
                    continue
            found += self.count(value, depth - 1)
        return found


def _cost(schema: dict[str, Any], keys: set[str]) -> int:
    """Return the additional cost of bounds or listed values of a plain schema."""
    if "minimum" in keys or "maximum" in keys:
        return _BOUNDED - 1
    return len(schema.get("enum", ())) // _LISTED


def _nullable(kinds: list[Any]) -> str | None:
    """Return the type that a list names beside `null`."""
    others = [kind for kind in kinds if kind != "null"]
    return others[0] if len(others) == 1 and len(kinds) <= 2 else None  # noqa: PLR2004


def _is_simple(schema: dict[str, Any], kind: str, keys: set[str]) -> bool:
    """Return whether the keywords beside annotations are plain, and contradict nothing."""
    keys = keys - {"type"}
    if keys in _ENUMERATED:
        return kind in _VALUES and _are_scalars(schema, (_VALUES[kind],))
    if kind == "string" and keys == {"format"}:
        return isinstance(schema["format"], str) and schema["format"] != "regex"
    if kind not in _BOUNDS:
        return not keys
    low, high, lowest, limit = _BOUNDS[kind]
    least, most = schema.get(low, lowest), schema.get(high, limit)
    are_bounds = type(least) is int is type(most) and lowest <= least <= most <= limit
    return keys <= {low, high} and are_bounds


def _are_scalars(schema: dict[str, Any], types: tuple[type, ...]) -> bool:
    """Return whether the listed values are scalars of some types, few and small."""
    values = schema["enum"] if "enum" in schema else [schema["const"]]
    if not isinstance(values, list) or not 0 < len(values) <= _CHOICES:
        return False
    if any(type(each) not in types for each in values):
        return False
    numbers = [each for each in values if type(each) is int]
    texts = [each for each in values if isinstance(each, str)]
    return all(-_NUMBER <= each <= _NUMBER for each in numbers) and _are_texts(texts)


def _are_texts(value: Any) -> bool:
    """Return whether a value is a short list of short printable strings.

    Lone surrogates, which no JSON text in UTF-8 can have, are not printable.
    """
    if not isinstance(value, (list, tuple)) or len(value) > _CHOICES:
        return False
    try:
        text = "".join(value)
    except TypeError:
        return False
    if len(text) > _TEXT and max(map(len, value)) > _TEXT:
        return False
    return text.isprintable()


def _is_flat(value: Any) -> bool:
    """Return whether an annotation's value has no depth that could be over a limit."""
    if isinstance(value, str):
        return True
    if isinstance(value, list):
        return all(item is None or isinstance(item, str | int | float) for item in value)
    return value is None or value == {} or isinstance(value, int | float)
