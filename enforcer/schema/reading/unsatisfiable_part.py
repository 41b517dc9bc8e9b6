"""Diagnosis of an unsatisfiable schema: the innermost part that no value fits, and why.

One pass of a deletion filter (Chinneck, Dravnieks 1991) finds the conflicting keywords:
without any one of them, some value would fit. Must not know: formulas, engines.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress, islice
from typing import TYPE_CHECKING, Any

from enforcer.errors import Problem
from enforcer.schema.reading.document import SchemaLocation, step
from enforcer.schema.reading.drafts import is_hidden
from enforcer.schema.reading.mistakes import NO_VALUE, mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from enforcer.schema.reading.reader import SchemaReader

_NO_VALUE = "no JSON value fits this part of the schema, so a call could never be completed"
_NO_OBJECT = (
    'arguments are a JSON object, and no object fits this schema; let `type` be "object", or look '
    "for constraints that exclude one another"
)
_ENDLESS = (
    f"{_NO_VALUE}: each would have to hold another one, without an end; make a property on the "
    "way optional"
)
_EXCLUSIVE = f"{_NO_VALUE}; look for constraints that exclude one another"
_CONFLICT = f"{_NO_VALUE}: {{keywords}} rule out one another's values"
_NOTHING = f"{_NO_VALUE}: {{keywords}} rules out every value"
_CLOSED = (
    " (often `additionalProperties: false` in one part of an `allOf`, which knows no other "
    "part's properties; `unevaluatedProperties: false` beside the `allOf` does)"
)
_NO_BRANCH = "no JSON value fits any of these, so a call could never be completed"
_MOST_KEYWORDS = 30  # tried without, one at a time
_UNDECLARED = (
    "{name!r:.80} is required, but no property of that name is declared, and "
    "`additionalProperties` is false; declare it, or require it no longer"
)


def unsatisfiable_part(reader: SchemaReader, fits: Callable[[SchemaLocation], bool]) -> Problem:
    """Return the problem of a document that no value fits.

    Args:
        reader: the document's reader, which follows its references.
        fits: returns whether any value fits a subschema by itself.

    """
    root = place = reader.document.root
    seen: set[Hashable] = set()
    while place.key not in seen:
        seen.add(place.key)
        inner = next((each for each in _necessary(reader, place) if not fits(each)), None)
        if inner is None:
            if place is root and fits(root):
                return Problem(root.path, "", _NO_OBJECT)
            return _innermost(place, fits)
        place = inner
    return Problem(place.path, "", _ENDLESS)


def _necessary(reader: SchemaReader, place: SchemaLocation) -> Iterator[SchemaLocation]:
    """Yield the subschemas that some part of every value has to fit."""
    schema = place.schema
    if not isinstance(schema, dict):
        return
    yield from reader.targets(place)
    if is_hidden(schema, place.draft):
        return
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword, [])
        if keyword == "allOf" or len(branches) == 1:
            yield from (place.child(keyword, i) for i in range(len(branches)))
    declared = schema.get("properties", {})
    for name in schema.get("required", []):
        if name in declared:
            yield place.below("properties", name)
    yield from _elements(reader, place, schema)


def _elements(
    reader: SchemaReader, place: SchemaLocation, schema: dict[str, Any]
) -> Iterator[SchemaLocation]:
    least, tuples = schema.get("minItems", 0), "items"
    if reader.has(schema, "prefixItems", place.draft):
        tuples = "prefixItems"
    listed = schema.get(tuples, [])
    prefix = len(listed) if isinstance(listed, list) else 0
    yield from (place.below(tuples, i) for i in range(min(prefix, int(least))))
    if least > prefix and not isinstance(schema.get("items", []), list):
        yield place.below("items")
    if reader.has(schema, "contains", place.draft) and schema.get("minContains", 1):
        yield place.question("contains")


def _innermost(place: SchemaLocation, fits: Callable[[SchemaLocation], bool]) -> Problem:
    """Return the problem of an unsatisfiable subschema whose necessary parts are satisfiable."""
    schema = place.schema
    if not isinstance(schema, dict):
        return Problem(place.path, "", _NO_VALUE)
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        declared = schema.get("properties", {})
        missing = [name for name in schema.get("required", []) if name not in declared]
        if missing:
            reason = _UNDECLARED.format(name=missing[0])
            return Problem(step(place.path, "required"), "required", reason)
    for keyword in ("anyOf", "oneOf"):
        branches = range(len(schema.get(keyword, [])))
        if branches and not any(fits(place.child(keyword, i)) for i in branches):
            return Problem(step(place.path, keyword), keyword, _NO_BRANCH)
    involved = _involved(place, fits)
    if not involved:
        return Problem(place.path, "", _EXCLUSIVE)
    for keyword in involved:
        known = mistake(schema, keyword)
        if known is not None and known.startswith(NO_VALUE):
            return Problem(step(place.path, keyword), keyword, known)
    reason = (_CONFLICT if len(involved) > 1 else _NOTHING).format(keywords=_listed(involved))
    return Problem(place.path, "", reason + (_CLOSED if "allOf" in involved else ""))


def _involved(place: SchemaLocation, fits: Callable[[SchemaLocation], bool]) -> list[str]:
    """Return the keywords without any one of which some value would fit."""
    shorter = [
        {name: value for name, value in place.schema.items() if name != keyword}
        for keyword in islice(place.schema, _MOST_KEYWORDS)
    ]
    # All alive until the end, since a location is identified by the `id` of its schema.
    fitting = [fits(replace(place, schema=schema)) for schema in shorter]
    return list(compress(place.schema, fitting))


def _listed(keywords: list[str]) -> str:
    quoted = [f"`{each}`" for each in keywords]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
