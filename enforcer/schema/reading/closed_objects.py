"""The option `closed_objects`: an object whose schema declares `properties` has no others.

Unless the schema says otherwise. The whole composition counts, as the branches of an `allOf`
declare properties for one another; if only one part declares any, that part is closed by itself.
Schemas under `not`, `if` or `contains` are never closed, since that would let more values fit.
Must not know: formulas, how an object is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.schema.reading.document import Closing, SchemaLocation, members
from enforcer.schema.reading.drafts import is_hidden

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from enforcer.schema.reading.reader import SchemaReader

_SAID = ("additionalProperties", "unevaluatedProperties")


def closable(reader: SchemaReader, place: SchemaLocation) -> Closing:
    """Return how to close a subschema: as one whole (`PART`), or its parts each (`HANDED`)."""
    schema = place.schema
    if is_hidden(schema, place.draft):
        return Closing.HANDED
    if "properties" in schema or _says(reader, place):
        return Closing.PART
    # A reference, a branch of an `allOf`, or all alternatives of an `anyOf` or a `oneOf`.
    groups = [[target] for target in reader.targets(place)]
    groups += [[branch] for branch in _branches(place, "allOf")]
    if any(_says(reader, part) for (part,) in groups) and len(groups) > 1:
        return Closing.PART
    groups += [_branches(place, keyword) for keyword in ("anyOf", "oneOf")]
    declaring = sum(any(_declares(reader, each, frozenset()) for each in x) for x in groups)
    conditional = any(_declares(reader, each, frozenset()) for each in _conditional(reader, place))
    return Closing.HANDED if declaring == 1 and not conditional else Closing.PART


def declares(reader: SchemaReader, place: SchemaLocation) -> bool:
    """Return whether a subschema or its parts declare properties, and it names no others."""
    return not _says(reader, place) and _declares(reader, place, frozenset())


def _says(reader: SchemaReader, place: SchemaLocation) -> bool:
    """Return whether a subschema has a keyword for other properties."""
    schema = place.schema
    return isinstance(schema, dict) and any(
        reader.has(schema, keyword, place.draft) for keyword in _SAID
    )


def parts_of(reader: SchemaReader, place: SchemaLocation) -> Iterator[SchemaLocation]:
    """Yield the subschemas that constrain the same value, if they hold."""
    yield from reader.targets(place)
    if is_hidden(place.schema, place.draft):
        return
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from _branches(place, keyword)
    yield from _conditional(reader, place)


def _declares(reader: SchemaReader, place: SchemaLocation, around: frozenset[Hashable]) -> bool:
    schema = place.schema
    if not isinstance(schema, dict) or place.key in around:
        return False
    if "properties" in schema and not is_hidden(schema, place.draft):
        return True
    within = around | {place.key}
    return any(_declares(reader, part, within) for part in parts_of(reader, place))


def _branches(place: SchemaLocation, keyword: str) -> list[SchemaLocation]:
    listed = place.schema.get(keyword)
    count = len(listed) if isinstance(listed, list) else 0
    return [place.child(keyword, i) for i in range(count)]


def _conditional(reader: SchemaReader, place: SchemaLocation) -> Iterator[SchemaLocation]:
    schema, draft = place.schema, place.draft
    if reader.has(schema, "if", draft):
        yield from (place.child(word) for word in ("if", "then", "else") if word in schema)
    for keyword in ("dependentSchemas", "dependencies"):
        if reader.has(schema, keyword, draft):
            yield from (place.child(keyword, name) for name in members(schema, keyword))
