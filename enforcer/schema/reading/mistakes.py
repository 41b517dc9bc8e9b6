"""Table of common mistakes in one subschema, by keyword, with the words of a cure.

The lint looks for all mistakes. An error about a keyword has the same words if the keyword's value
is one of them. Must not know: formulas, the schema around the subschema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from enforcer.regex.formats import FORMATS
from enforcer.schema.keywords import ANNOTATIONS, KEYWORDS, TYPE_OF, what_is_wrong
from enforcer.schema.reading.document import shown
from enforcer.schema.reading.identifiers import ONE

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_VALUE = "no value is valid here"
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_Schema = Mapping[str, Any]
# Takes a keyword, its value and the subschema; returns words, or None if it is no mistake.
_Row = Callable[[str, Any, _Schema], str | None]
_USE = "use " + ", ".join(f'"{each}"' for each in TYPES)
# Names of the types in programming languages, databases and other formats.
_ALIASES = {
    **dict.fromkeys(("float", "double", "decimal", "real", "numeric"), "number"),
    **dict.fromkeys(("int", "int32", "int64", "long", "short"), "integer"),
    **dict.fromkeys(("str", "text", "char", "varchar", "date", "datetime", "enum"), "string"),
    **dict.fromkeys(("list", "tuple", "set", "sequence"), "array"),
    **dict.fromkeys(("dict", "map", "mapping", "json", "struct"), "object"),
    **dict.fromkeys(("none", "nonetype", "nil", "undefined"), "null"),
    "bool": "boolean",
}
_ANYTHING = frozenset({"any", "mixed", "unknown", "*", ""})
_TYPE_OF_VALUES = {type(None): "null", bool: "boolean", int: "integer", float: "number"}
_TYPE_OF_VALUES |= {str: "string", list: "array", dict: "object"}
# Other names of keywords, and the type of their values.
_OTHER_NAMES: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("min", "minValue"), ("minimum", int | float)),
    **dict.fromkeys(("max", "maxValue"), ("maximum", int | float)),
    **dict.fromkeys(("options", "values", "choices", "allowedValues", "emum"), ("enum", list)),
    **dict.fromkeys(("regex", "regexp"), ("pattern", str)),
}
_FORMATS_MEANT = {
    **dict.fromkeys(("datetime", "timestamp"), "date-time"),
    **dict.fromkeys(("ip", "ip-address"), "ipv4"),
    "url": "uri",
    "guid": "uuid",
    "host-name": "hostname",
}
_NO_VALUES = frozenset({"password", "enum"})  # formats that say nothing about values
_BARE = frozenset({"integer", "number", "boolean"})  # types of values without quotes
_QUOTED = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?|true|false", re.IGNORECASE)
_ANCHORS = re.compile(r"\^|\$|\\[bB]|\(\?<?[=!]")
_SHORT = 3  # a pattern as `\S+` or `.+`: no empty string
_LONGEST = 20  # characters of a name that may be a type's
_MOST = 5  # wrong values that are listed


def mistake(schema: _Schema, keyword: str) -> str | None:
    """Return the mistake in a keyword's value and its cure; None if no known mistake."""
    rows = _TABLE.get(keyword, ()) if keyword in _TABLE or keyword in KEYWORDS else (_property,)
    found = (row(keyword, schema[keyword], schema) for row in rows)
    return next(filter(None, found), None)


def no_schema(value: object, path: str) -> str:
    """Return the error and its cure for a value in the place of a subschema."""
    around, _, name = path.rpartition(".")
    meant = _type_meant(value) if isinstance(value, str) else None
    cure = ""
    if value is None:
        cure = "; leave it out"
    elif isinstance(value, str) and value.lower() in {"true", "false"}:
        cure = f"; write {value.lower()} without quotes"
    elif meant and (name, meant) != ("type", "object"):
        cure = f'; write {{"type": "{meant}"}}'
    elif around.endswith(".properties") and name in KEYWORDS:
        cure = f"; in `properties` it is the name of a property: move `{name}` out of it"
    return f"a schema is an object or a boolean, not {shown(value)}{cure}"


def wrong_types(named: object) -> str | None:
    """Return the error and its cure for wrong names in `type`; None if all are types."""
    listed = named if isinstance(named, list) else [named]
    if not listed:
        return f"must name a type; {_USE}"
    wrong = [each for each in listed if each not in TYPES]
    return "; ".join(map(_wrong_type, wrong[:_MOST])) or None


def _wrong_type(named: object) -> str:
    cure = _USE
    if named is None:
        cure = 'write "null" with quotes, or leave `type` out if any value is meant'
    elif isinstance(named, Mapping):
        cure = "if a property of that name is meant, move it into `properties`"
    elif named == "function":
        cure = "this is a whole tool: write only the schema, its `parameters`"
    elif isinstance(named, str) and named.lower() in _ANYTHING:
        cure = "leave `type` out if any value is meant"
    elif isinstance(named, str) and (meant := _type_meant(named)):
        cure = f'write "{meant}"'
    return f"{shown(named)} is no type; {cure}"


def _type_meant(named: str) -> str | None:
    close = get_close_matches(named[:_LONGEST].lower(), TYPES, 1, 0.8)
    return _ALIASES.get(named.lower()) or next(iter(close), None)


def _types(schema: _Schema) -> list[str]:
    """Return the types that a schema names; none if it names a wrong one."""
    named = schema.get("type", [])
    listed = named if isinstance(named, list) else [named]
    return [] if any(each not in TYPES for each in listed) else listed


def _type_words(schema: _Schema) -> str:
    return "`type: {}`".format(shown(schema["type"]).strip('"'))


def _fits(value: object, types: list[str]) -> bool:
    own = _TYPE_OF_VALUES.get(type(value), "")
    if isinstance(value, float) and value.is_integer():
        own = "integer"
    return not types or own in types or (own == "integer" and "number" in types)


def _is_quoted(value: object) -> bool:
    return isinstance(value, str) and _QUOTED.fullmatch(value) is not None


# The rows of the table.


def _type(_keyword: str, value: object, _schema: _Schema) -> str | None:
    return wrong_types(value)


def _null(keyword: str, value: object, _schema: _Schema) -> str | None:
    wrong = what_is_wrong(keyword, value) or "must not be null"
    return f"{wrong}; leave it out" if value is None else None


def _quoted(keyword: str, value: object, _schema: _Schema) -> str | None:
    bare = json.loads(str(value).lower()) if _is_quoted(value) else value
    if bare == value or what_is_wrong(keyword, bare) is not None:
        return None
    return f"{what_is_wrong(keyword, value)}; write {shown(bare)} without quotes"


def _required(_keyword: str, value: object, _schema: _Schema) -> str | None:
    if value is True:
        cure = "name this property in the `required` of the object around it"
    elif value is False:
        cure = "leave it out; a property is optional unless the object around it requires it"
    else:
        return None
    return f"`required` is a list of names since draft 4, not a boolean; {cure}"


def _properties(_keyword: str, value: object, _schema: _Schema) -> str | None:
    words = "must be an object that maps the name of each property to its schema"
    return words if isinstance(value, list) else None


def _excluded(keyword: str, value: object, schema: _Schema) -> str | None:
    """Return the words for a keyword that is about another type than the schema's."""
    of, types = TYPE_OF[keyword], _types(schema)
    if not types or of in types or (of == "number" and "integer" in types):
        return None
    if what_is_wrong(keyword, value) is not None:
        return None  # reported by another row
    if types == ["array"]:
        cure = "move it into `items`?"
    elif keyword == "required":
        cure = "name properties in the `required` of the object that has them"
    else:
        cure = f"is `type: {of}` meant?"
    return f"`{keyword}` says nothing about {_type_words(schema)}; {cure}"


def _closing(_keyword: str, _value: object, schema: _Schema) -> str | None:
    words = "`additionalProperties` says nothing about `type: array`; move it into `items`?"
    return words if schema.get("type") == "array" else None


def _listed(keyword: str, value: object, schema: _Schema) -> str | None:
    """Return the words for values of `enum` or `const` that the schema's type rules out."""
    values = [value] if keyword == "const" else value if isinstance(value, list) else []
    types = _types(schema)
    wrong = [each for each in values if not _fits(each, types)]
    if not wrong:
        return None
    kinds = sorted({_TYPE_OF_VALUES.get(type(each), "") for each in wrong})
    if len(wrong) < len(values):
        names = ", ".join(f'"{each}"' for each in [*types, *kinds])
        some = ", ".join(map(shown, wrong[:_MOST]))
        return f'{_type_words(schema)} rules out {some} of `enum`; write `"type": [{names}]`?'
    if types == ["array"]:
        cure = f"move `{keyword}` into `items`?"
    elif not _BARE.isdisjoint(types) and all(map(_is_quoted, wrong)):
        cure = f"write {', '.join(map(str, wrong[:_MOST]))} without quotes?"
    else:
        cure = f"is `type: {kinds[0]}` meant?" if len(kinds) == 1 else "leave `type` out?"
    return f"{NO_VALUE} (`{keyword}` contradicts {_type_words(schema)}); {cure}"


def _default(_keyword: str, value: object, schema: _Schema) -> str | None:
    types, listed = _types(schema), schema.get("enum")
    if _fits(value, types):
        if not isinstance(listed, list) or value in listed:
            return None
        return f"the default {shown(value)} is not in `enum`; add it there, or correct it"
    cure = "correct it"
    if value is None:
        cure = 'leave it out, or add "null" to `type`'
    elif _is_quoted(value) and not _BARE.isdisjoint(types):
        cure = "write it without quotes"
    return f"the default {shown(value)} does not fit {_type_words(schema)}; {cure}"


def _nullable(_keyword: str, value: object, schema: _Schema) -> str | None:
    types = _types(schema)
    if value is not True or "null" in types or not types:
        return None
    names = ", ".join(f'"{each}"' for each in [*types, "null"])
    return (
        "`nullable` is no keyword of JSON Schema, so that null is not allowed here; write "
        f'`"type": [{names}]`'
    )


def _optional(_keyword: str, value: object, _schema: _Schema) -> str | None:
    words = (
        "`optional` is no keyword of JSON Schema: a property is optional unless the `required` of "
        "the object around it names it"
    )
    return words if isinstance(value, bool) else None


def _other_name(keyword: str, value: object, _schema: _Schema) -> str | None:
    meant, kind = _OTHER_NAMES[keyword]
    words = f"`{keyword}` is no keyword of JSON Schema and says nothing; is `{meant}` meant?"
    return words if isinstance(value, kind) and not isinstance(value, bool) else None


def _property(keyword: str, value: object, schema: _Schema) -> str | None:
    """Return the words for a property that is declared beside `properties`."""
    named, types = value.get("type") if isinstance(value, Mapping) else None, _types(schema)
    if named not in TYPES or (types and "object" not in types):
        return None  # a word of the author's own, such as `ui: {"type": …}` of a string
    return f"if `{keyword:.60}` is the name of a property, move it into `properties`"


def _slashes(_keyword: str, value: object, _schema: _Schema) -> str | None:
    is_between = isinstance(value, str) and value.startswith("/^") and "|" not in value
    words = f"{NO_VALUE}: the `/` before `^` is a part of the pattern; write it without slashes"
    return words if is_between else None


def _unanchored(_keyword: str, value: object, _schema: _Schema) -> str | None:
    if not isinstance(value, str) or len(value) <= _SHORT or _ANCHORS.search(value):
        return None
    return (
        "the pattern is looked for anywhere in the string, and other text may stand around it; "
        "write `^(?:...)$` if the whole string is meant"
    )


def _format(_keyword: str, value: object, schema: _Schema) -> str | None:
    known = not isinstance(value, str) or value in FORMATS or value in {"regex", *_NO_VALUES}
    types = _types(schema)
    if known or (types and "string" not in types):
        return None
    meant = _FORMATS_MEANT.get(str(value).lower())
    cure = f"is `{meant}` meant?" if meant else "write a `pattern`"
    return f"the format {value!r:.60} is not known, so that any string fits; {cure}"


_PLAIN = TYPE_OF.keys() - {"items", "properties", "patternProperties"}  # without subschemas
_MAY_BE_NULL = ANNOTATIONS | {"const", "format", "id", "type", "$id", "$schema", *ONE}
_ROWS: tuple[tuple[_Row, Iterable[str]], ...] = (
    (_type, ("type",)),
    (_null, (keyword for keyword in KEYWORDS if keyword not in _MAY_BE_NULL)),
    (_quoted, _PLAIN - {"pattern", "required"}),
    (_property, ("title", "description", "format", *_PLAIN)),
    (_required, ("required",)),
    (_properties, ("properties",)),
    (_excluded, TYPE_OF),
    (_closing, ("additionalProperties",)),
    (_listed, ("enum", "const")),
    (_default, ("default",)),
    (_nullable, ("nullable",)),
    (_optional, ("optional",)),
    (_other_name, _OTHER_NAMES),
    (_slashes, ("pattern",)),
    (_unanchored, ("pattern",)),
    (_format, ("format",)),
)
_TABLE: dict[str, list[_Row]] = {}
for _row, _keywords in _ROWS:
    for _keyword in _keywords:
        _TABLE.setdefault(_keyword, []).append(_row)
