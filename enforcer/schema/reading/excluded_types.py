"""Keywords for types that a subschema excludes, which therefore assert nothing.

Owns: what their values must be all the same: a schema with any other value is none. Must not know:
what the keywords mean, formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_limit(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict)


_COUNT = (_is_count, "must be a whole number, zero or more")
_NUMBER = (_is_number, "must be a number")
_LIMIT = (_is_limit, "must be a number")
_MAPPING = (_is_mapping, "must be an object")

# The type that a keyword is about, what its value is, and how to say so.
_KEYWORDS: dict[str, tuple[str, Callable[[Any], bool], str]] = {
    "minLength": ("string", *_COUNT),
    "maxLength": ("string", *_COUNT),
    "pattern": ("string", _is_text, "must be a string"),
    "minimum": ("number", *_NUMBER),
    "maximum": ("number", *_NUMBER),
    "exclusiveMinimum": ("number", *_LIMIT),
    "exclusiveMaximum": ("number", *_LIMIT),
    "multipleOf": ("number", lambda value: _is_number(value) and value > 0, "must be above zero"),
    "minItems": ("array", *_COUNT),
    "maxItems": ("array", *_COUNT),
    "minContains": ("array", *_COUNT),
    "maxContains": ("array", *_COUNT),
    "uniqueItems": ("array", lambda value: isinstance(value, bool), "must be a boolean"),
    "minProperties": ("object", *_COUNT),
    "maxProperties": ("object", *_COUNT),
    "properties": ("object", *_MAPPING),
    "patternProperties": ("object", *_MAPPING),
    "required": (
        "object",
        # A boolean beside another type is a leftover of draft 3, and common.
        lambda value: (
            isinstance(value, bool)
            or (isinstance(value, list) and all(isinstance(x, str) for x in value))
        ),
        "must be a list of property names",
    ),
}


def malformed(schema: dict[str, Any], types: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the keywords for types that are excluded whose value is wrong, and why."""
    for keyword, value in schema.items():
        found = _KEYWORDS.get(keyword)
        if found is not None:
            of, fits, reason = found
            excluded = of not in types and not (of == "number" and "integer" in types)
            if excluded and not fits(value):
                yield keyword, reason
