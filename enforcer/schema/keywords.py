"""JSON Schema's keywords of all supported drafts: their names, and the types of their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = """
$anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveRef $ref $schema additionalItems
additionalProperties allOf anyOf const contains contentEncoding contentMediaType contentSchema
default definitions dependencies dependentRequired dependentSchemas deprecated description else enum
examples exclusiveMaximum exclusiveMinimum format id if items maxContains maxItems maxLength
maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf
pattern patternProperties prefixItems properties propertyNames readOnly required then title type
unevaluatedItems unevaluatedProperties uniqueItems writeOnly
"""
_SILENT = "$comment default deprecated description examples readOnly title writeOnly"
KEYWORDS = tuple(_WORDS.split())
ANNOTATIONS = frozenset(_SILENT.split())  # keywords that constrain nothing


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_COUNT = (
    lambda value: _is_number(value) and value >= 0 and value == int(value),
    "must be a whole number, zero or more",
)
_NUMBER = (_is_number, "must be a number")
# A boolean is draft 4's.
_LIMIT = (lambda value: isinstance(value, bool) or _is_number(value), "must be a number")
_MAPPING = (lambda value: isinstance(value, dict), "must be an object")
_NAMES = (
    lambda value: isinstance(value, list) and all(isinstance(x, str) for x in value),
    "must be a list of property names",
)
_Check = tuple["Callable[[Any], bool]", str]
# The type that a keyword is about, and what its value must be.
_VALUES: dict[str, tuple[str, tuple[_Check, ...]]] = {
    **dict.fromkeys(("minLength", "maxLength"), ("string", (_COUNT,))),
    "pattern": ("string", ((lambda value: isinstance(value, str), "must be a string"),)),
    **dict.fromkeys(("minimum", "maximum"), ("number", (_NUMBER,))),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), ("number", (_LIMIT,))),
    "multipleOf": ("number", (_NUMBER, (lambda value: value > 0, "must be above zero"))),
    **dict.fromkeys(("minItems", "maxItems", "minContains", "maxContains"), ("array", (_COUNT,))),
    "uniqueItems": ("array", ((lambda value: isinstance(value, bool), "must be a boolean"),)),
    **dict.fromkeys(("minProperties", "maxProperties"), ("object", (_COUNT,))),
    **dict.fromkeys(("properties", "patternProperties"), ("object", (_MAPPING,))),
    "required": ("object", (_NAMES,)),
}
TYPE_OF = {keyword: of for keyword, (of, _) in _VALUES.items()} | {"items": "array"}


def what_is_wrong(keyword: str, value: Any) -> str | None:
    """Return what a keyword's value must be, as words for an error; None if it is that."""
    _, checks = _VALUES.get(keyword, ("", ()))
    return next((reason for fits, reason in checks if not fits(value)), None)
