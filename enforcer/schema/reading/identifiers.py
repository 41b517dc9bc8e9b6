"""Where in a document identifiers stand: `$id`, `id`, `$anchor` and their like.

Owns: which values are subschemas that may have one, and which resources and anchors they name. The
older forms that a newer draft has replaced are followed too (`items` as a list), and what stands
where a schema should, without being one, is no place at all: whether that matters is for the
readers of keywords to say. Must not know: how references are followed, what keywords mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from enforcer.errors import UnsupportedSchema
from enforcer.schema.reading.drafts import Draft, draft_of, is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Keywords whose value is a subschema, a list of them, or has some by names, as `$defs` has.
ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
LISTED = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
NAMED = ("definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")


_URIS = frozenset({"$id", "id"})
_NO_TEXT = "must be a string that identifies this schema"
_NO_URI = "must be a URI reference"


def wrong_identifiers(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the keywords of a subschema that are no identifiers, and why."""
    for keyword in _identifiers(draft):
        value = schema.get(keyword)
        if value is None:
            continue
        if not isinstance(value, str):
            yield keyword, _NO_TEXT
        elif keyword in _URIS and not _is_uri(value):
            yield keyword, _NO_URI


def _identifiers(draft: Draft) -> tuple[str, ...]:
    if draft < Draft.DRAFT2019:
        return ("id",) if draft is Draft.DRAFT4 else ("$id",)
    anchors = ("$anchor", "$dynamicAnchor")
    return ("$id", *(anchors if draft is Draft.DRAFT2020 else anchors[:1]))


def _is_uri(text: str) -> bool:
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True


def within(keyword: str, value: object, *, has_defs: bool) -> Iterable[Any]:
    """List what may be subschemas in a keyword's value.

    Args:
        keyword: as it stands in a schema.
        value: its value, any JSON.
        has_defs: whether the draft has the keyword `$defs`.

    """
    if isinstance(value, dict):
        if keyword in NAMED or (has_defs and keyword == "$defs"):
            return value.values()
        return (value,) if keyword in ONE else ()
    return value if isinstance(value, list) and keyword in LISTED else ()


def identifier(schema: dict[str, Any], draft: Draft) -> str | None:
    """Return the identifier of a resource, as it is written; None where there is none."""
    found = schema.get("id" if draft is Draft.DRAFT4 else "$id")
    if not isinstance(found, str) or is_hidden(schema, draft):
        return None
    if draft <= Draft.DRAFT7 and found.startswith("#"):
        return None  # an anchor
    return found.rstrip("#")


def joined(base: str, reference: str) -> str | None:
    """Resolve a reference; None if it is no URI."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return None


def uri_of(schema: Any, base: str, draft: Draft) -> str | None:
    """Return the URI of a resource of a draft; None if any JSON is none."""
    if not isinstance(schema, dict) or any(wrong_identifiers(schema, draft)):
        return None
    own = identifier(schema, draft)
    return None if own is None else joined(base, own)


def resource_of(
    schema: Any, base: str, draft: Draft, path: str | None = None
) -> tuple[str, Draft] | None:
    """Return the URI and the draft of a subschema that is a resource; None if it is none.

    Args:
        schema: any JSON.
        base: what its identifier is relative to.
        draft: in force around it.
        path: of the subschema; None to read one in an unknown dialect by the draft around it.

    Raises:
        UnsupportedSchema: it is in an unknown dialect.

    """
    if not isinstance(schema, dict) or _URIS.isdisjoint(schema):
        return None
    try:
        own = draft_of(schema, draft, path or "$")
    except UnsupportedSchema:
        if path is not None:
            raise
        own = draft
    uri = uri_of(schema, base, own)
    return None if uri is None else (uri, own)


def anchors(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[str, bool]]:
    """Yield the names that a subschema has in its resource, and whether they are dynamic."""
    if any(wrong_identifiers(schema, draft)):
        return
    for keyword in _identifiers(draft):
        name = schema.get(keyword)
        if name is not None and keyword not in _URIS:
            yield name, keyword == "$dynamicAnchor"
        elif name is not None and draft <= Draft.DRAFT7 and name.startswith("#"):
            yield name[1:], False
