"""Lint of schemas: valid or nearly valid constructs that probably do not mean what was intended.

Mistakes that one subschema shows by itself are rows of `schema.reading.mistakes`. This module
finds mistakes that depend on the draft, on names declared around the subschema or on its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from enforcer.errors import Problem, UnsupportedSchema
from enforcer.schema.keywords import ANNOTATIONS, KEYWORDS
from enforcer.schema.reading.document import step
from enforcer.schema.reading.drafts import SINCE, Draft, draft_of, is_hidden
from enforcer.schema.reading.identifiers import LISTED, NAMED, ONE
from enforcer.schema.reading.mistakes import mistake, no_schema

_ONE = frozenset(ONE) - {"contentSchema"}  # an annotation
_NAMED = frozenset({*NAMED, "$defs"})
_NAMES = frozenset({"$schema", "$id", "id"})
# Keywords that constrain nothing by themselves.
_SAYING_NOTHING = ANNOTATIONS | _NAMES | {"$ref", "$defs", "definitions"}
_OLDER = frozenset({"$recursiveAnchor", "$vocabulary", "disallow", "divisibleBy", "extends"})
# Keywords that constrain values, in any draft.
_KEYWORDS = _OLDER.union(KEYWORDS) - ANNOTATIONS - _NAMES
_KNOWN = _KEYWORDS | _SAYING_NOTHING
# Keywords whose subschemas are about the same value; keywords that only test a subschema.
_IN_PLACE = frozenset(
    {*("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"), "dependencies"}
)
_ASKED = frozenset({"not", "if"})
# Keywords that may constrain the values of properties, besides `properties`.
_NAMING = frozenset(
    {
        *("$ref", "$dynamicRef", "$recursiveRef", "patternProperties"),
        *("propertyNames", "unevaluatedProperties", "enum", "const"),
    }
)
_MOST_NAMES = 5
_LONG = 40
_MARKS = frozenset("_/@#")  # begin a keyword that is switched off, or a comment
_ALIKE = 0.84  # ratio of `difflib`: one letter of six differs
OPEN = (
    "other properties than the declared are allowed, as `additionalProperties` is left out; set it "
    "to false, or let the server close such objects (ENFORCER_CLOSED_OBJECTS)"
)
_UNDECLARED = (
    "`required` names {names}, which `properties` does not declare, so that any value is allowed "
    "there; declare it, or correct the name"
)
_MISSPELT = "`{name:.60}` is no keyword of JSON Schema and says nothing; is `{meant}` meant?"
_HIDDEN = (
    "{keywords} beside `$ref` says nothing up to draft 7; write `allOf` with the reference in it, "
    "or name a newer draft in `$schema`"
)
_TOO_NEW = (
    "`{name}` came with {since} and says nothing in {draft}, which `$schema` names; name a newer "
    "draft there, or leave `$schema` out"
)
_BOOLEAN = (
    "`{name}` is a number since draft-06; this boolean is read as draft-04 has it, so that {read}; "
    "write the bound as a number, by `{name}` or by `{bound}`"
)
_Pending = tuple[Any, str, "frozenset[str] | None"]  # a subschema, its path, names around it
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_WRAPPERS = ("parameters", "input_schema", "inputSchema", "schema", "json_schema", "function")
_WRAPPED = "this is no schema but holds one, and any value fits it; write only its `{name}`"
_SILENT = "no keyword of it says anything about values, so that any value fits: is this a schema?"


def notes(schema: object, *, closed: bool = False) -> list[Problem]:
    """Return the mistakes of a schema, each with its cure, by `$.`-paths from the root.

    Args:
        schema: parsed JSON, within `Limits.depth`.
        closed: whether `Conventions.closed_objects` holds.

    """
    try:
        draft = draft_of(schema)
    except UnsupportedSchema:
        return []
    found: list[Problem] = []
    if isinstance(schema, Mapping) and _says_nothing(schema):
        inner = next((name for name in _WRAPPERS if isinstance(schema.get(name), Mapping)), None)
        if inner is not None:
            return [Problem("$", "", _WRAPPED.format(name=inner))]
        found.append(Problem("$", "", _SILENT))
    pending: list[_Pending] = [(schema, "$", frozenset())]
    for part, path, around in pending:
        if not isinstance(part, Mapping | bool):
            found.append(Problem(path, "", no_schema(part, path)))
        if not isinstance(part, Mapping):
            continue
        found += _of(part, path, draft, closed=closed)
        declared = _declared(part, around)
        if declared is not None:
            found += _undeclared(part, path, declared)
        for inner, at, keyword in _within(part, path):
            known = declared if keyword in _IN_PLACE else frozenset()
            pending.append((inner, at, None if keyword in _ASKED else known))
    return found


def _declared(schema: Mapping[str, Any], around: frozenset[str] | None) -> frozenset[str] | None:
    """Return the names declared by a schema, by its parts and around it.

    None if another keyword may constrain names.
    """
    if around is None:
        return None
    names, parts = set(around), [schema]
    for part in parts:
        if not _NAMING.isdisjoint(part) or part.get("additionalProperties", True) is not True:
            return None
        declared = part.get("properties")
        names.update(declared if isinstance(declared, Mapping) else ())
        within = _within(part, "")
        parts += [x for x, _, keyword in within if keyword in _IN_PLACE and isinstance(x, Mapping)]
    return frozenset(names)


def _undeclared(
    schema: Mapping[str, Any], path: str, declared: frozenset[str]
) -> Iterator[Problem]:
    required = schema.get("required")
    if not isinstance(required, list) or mistake(schema, "required"):
        return
    missing = [name for name in required if isinstance(name, str) and name not in declared]
    if missing:
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        names = ", ".join(f"`{name:.60}`" for name in missing[:_MOST_NAMES]) + more
        reason = _UNDECLARED.format(names=names)
        yield Problem(step(path, "required"), "required", reason)


def _says_nothing(schema: Mapping[str, Any]) -> bool:
    """Return whether no keyword constrains values; a schema of annotations alone is meant so."""
    return _KEYWORDS.isdisjoint(schema) and not _SAYING_NOTHING.issuperset(schema)


def _of(schema: Mapping[str, Any], path: str, draft: Draft, *, closed: bool) -> Iterator[Problem]:
    if is_hidden(schema, draft):
        beside = sorted(schema.keys() & _KEYWORDS - _SAYING_NOTHING)
        if beside:
            keywords = ", ".join(f"`{each}`" for each in beside[:5])
            yield Problem(path, "$ref", _HIDDEN.format(keywords=keywords))
        return
    for keyword in sorted(schema):
        reason = mistake(schema, keyword) or _misspelt(keyword)
        if reason is not None:
            yield Problem(step(path, keyword), keyword, reason)
    for keyword in sorted(schema.keys() & SINCE.keys()):
        if SINCE[keyword] > draft:
            reason = _TOO_NEW.format(name=keyword, since=SINCE[keyword], draft=draft)
            yield Problem(step(path, keyword), keyword, reason)
    if draft > Draft.DRAFT4:
        yield from _booleans(schema, path)
    said = {"additionalProperties", "unevaluatedProperties"}
    if "properties" in schema and said.isdisjoint(schema) and not closed:
        yield Problem(path, "additionalProperties", OPEN)


def _booleans(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for name, bound in _BOUNDS:
        flag = schema.get(name)
        if isinstance(flag, bool):
            read = f"without `{bound}` it says nothing"
            if bound in schema:
                read = f"`{bound}` itself is {'not ' if flag else ''}allowed"
            yield Problem(
                step(path, name), name, _BOOLEAN.format(name=name, bound=bound, read=read)
            )


def _misspelt(name: str) -> str | None:
    """Return the keyword that a name misspells, if it does; a leading `_` is meant so."""
    if len(name) >= _LONG or name[:1] in _MARKS or name in _KNOWN:
        return None
    letters = sorted(name.lower())  # the same letters in another order or case
    same = [known for known in _KEYWORDS if sorted(known.lower()) == letters]
    alike = same or get_close_matches(name, _KNOWN, 1, _ALIKE)
    meant = next((found for found in alike if found in _KEYWORDS), None)
    return None if meant is None else _MISSPELT.format(name=name, meant=meant)


def _within(schema: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str, str]]:
    """Yield the subschemas that a schema holds, with their paths and keywords."""
    for keyword, value in schema.items():
        at = step(path, keyword)
        if isinstance(value, Mapping) and keyword in _NAMED:
            named = ((inner, step(at, name), keyword) for name, inner in value.items())
            # `_NAMED` keywords may also hold lists of names, or subschemas that nothing refers to.
            is_schema = keyword in {"properties", "patternProperties"}
            yield from (each for each in named if is_schema or isinstance(each[0], Mapping))
        elif keyword in _ONE and not isinstance(value, list):
            yield value, at, keyword
        elif isinstance(value, list) and keyword in LISTED:
            yield from ((inner, step(at, i), keyword) for i, inner in enumerate(value))
