"""vLLM's coercion of raw values by the types that the schema declares.

Source: `extract_types_from_schema` and `coerce_to_schema_type` in vLLM 0.32's
`tool_parsers/utils.py`. Must not know: layouts, grammars.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

STRING = "string"
ONLY_STRING = frozenset({STRING})
_TYPES = frozenset({"null", "integer", "number", "boolean", "object", "array", STRING})
_ALIASES = {
    **dict.fromkeys(("str", "text", "varchar", "char", "enum"), STRING),
    **dict.fromkeys(("int", "int32", "int64", "uint", "uint32", "uint64"), "integer"),
    **dict.fromkeys(("long", "short", "unsigned"), "integer"),
    **dict.fromkeys(("float", "float32", "float64", "double"), "number"),
    "bool": "boolean",
    "dict": "object",
    **dict.fromkeys(("arr", "list", "sequence"), "array"),
}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def types_of_properties(schema: object) -> dict[str, frozenset[str]]:
    """Return the declared types of a tool's properties by name; other names are strings.

    Args:
        schema: the tool's parameters; only `properties` at the root count.

    """
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    return {
        name: frozenset(_types(each)) & _TYPES
        for name, each in properties.items()
        if isinstance(each, Mapping)
    }


def read_value(text: str, types: frozenset[str]) -> Any:
    """Return the value of a text, by the first declared type that fits in vLLM's order.

    Raises:
        RecursionError: the text is nested too deeply.

    """
    if "null" in types and text.lower() == "null":
        return None
    if "integer" in types:
        try:
            return int(text)
        except ValueError:
            pass  # the text of another type
    if "number" in types and (number := _number(text)) is not None:
        return number
    if "boolean" in types and (word := text.lower().strip()) in _BOOLEANS:
        return _BOOLEANS[word]
    if types & {"object", "array"} or STRING not in types:
        return _json(text)
    return text


def reads_digits_as_doubles(types: frozenset[str]) -> bool:
    """Return whether digits alone are read as a double (another number beyond 2**53)."""
    return "number" in types and "integer" not in types


def _types(schema: object) -> set[str]:
    if not isinstance(schema, Mapping):
        return {STRING}
    given = schema.get("type")
    listed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    found = {each for each in listed if isinstance(each, str)}
    values = schema.get("enum")
    found.update(map(_type_of, values) if isinstance(values, list) else ())
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = schema.get(keyword)
        for each in options if isinstance(options, list) else ():
            found |= _types(each)
    names = (each.strip().lower() for each in found or {STRING})
    return {_ALIASES.get(each, each) for each in names}


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number", str: STRING, list: "array"}
    return kinds.get(type(value), "object")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else value


def _json(text: str) -> Any:
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # raises ValueError for infinity and NaN
    except ValueError:
        return text
    return value
