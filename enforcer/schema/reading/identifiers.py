"""Identifiers of subschemas (`$id`, `id`, anchors), and the keywords that hold subschemas.

Forms that a newer draft has replaced are followed too (`items` as a list). Malformed subschemas are
skipped; the readers of keywords report them. Must not know: how references are followed, what
keywords mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from enforcer.errors import UnsupportedSchema
from enforcer.schema.reading.drafts import Draft, draft_of, is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Keywords whose value is a subschema, a list of subschemas, or a mapping to subschemas.
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
    """Yield the malformed identifier keywords of a subschema, each with the reason."""
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
    """Return the possible subschemas in a keyword's value.

    Args:
        keyword: the keyword.
        value: its value, any JSON.
        has_defs: whether the draft has the keyword `$defs`.

    """
    if isinstance(value, dict):
        if keyword in NAMED or (has_defs and keyword == "$defs"):
            return value.values()
        return (value,) if keyword in ONE else ()
    return value if isinstance(value, list) and keyword in LISTED else ()


def identifier(schema: dict[str, Any], draft: Draft) -> str | None:
    """Return the identifier of a resource, as written; None if the subschema is none."""
    found = schema.get("id" if draft is Draft.DRAFT4 else "$id")
    if not isinstance(found, str) or is_hidden(schema, draft):
        return None
    if draft <= Draft.DRAFT7 and found.startswith("#"):
        return None  # an anchor
    return found.rstrip("#")


def joined(base: str, reference: str) -> str | None:
    """Return a reference resolved against a base; None if it is no URI."""
    try:
        return urljoin(base, reference)
    except ValueError:
        return None


def uri_of(schema: Any, base: str, draft: Draft) -> str | None:
    """Return the URI of a subschema that is a resource; None if it is none."""
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
        base: the URI that its identifier is relative to.
        draft: the draft in force around it.
        path: its path; None to read an unknown dialect as the surrounding draft.

    Raises:
        UnsupportedSchema: it is in an unknown dialect, and `path` is given.

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
    """Yield the anchors of a subschema, and whether each is dynamic."""
    if any(wrong_identifiers(schema, draft)):
        return
    for keyword in _identifiers(draft):
        name = schema.get(keyword)
        if name is not None and keyword not in _URIS:
            yield name, keyword == "$dynamicAnchor"
        elif name is not None and draft <= Draft.DRAFT7 and name.startswith("#"):
            yield name[1:], False
