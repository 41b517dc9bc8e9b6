"""Where in a document identifiers stand: `$id`, `id`, `$anchor` and their like.

Owns: which values are subschemas that may have one, for the package `referencing`, which takes
every document for a valid one of its draft. Here the older forms that a newer draft has replaced
are followed too (`items` as a list), and what stands where a schema should, without being one, is
no place at all: whether that matters is for the readers of keywords to say. Must not know: how
references are followed, what keywords mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from referencing import Specification

from enforcer.schema.reading.drafts import Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Keywords whose value is a subschema, a list of them, or has some by names, as `$defs` has.
ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
LISTED = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
NAMED = ("definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")


_URIS = ("$id", "id")
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


def tolerant(base: Specification[Any], draft: Draft) -> Specification[Any]:
    """Return a draft's specification for any JSON value; wrong identifiers are none.

    Args:
        base: of the draft.
        draft: the draft.

    """
    has_defs = draft >= Draft.DRAFT2019
    names = _identifiers(draft)

    def is_named(contents: Any) -> bool:
        # The base takes every identifier that is there for a text.
        return (
            isinstance(contents, dict)
            and any(contents.get(name) is not None for name in names)
            and not any(wrong_identifiers(contents, draft))
        )

    def id_of(contents: Any) -> str | None:
        return base.id_of(contents) if is_named(contents) else None

    def anchors_in(_: Specification[Any], contents: Any) -> Iterable[Any]:
        return base.anchors_in(contents) if is_named(contents) else ()

    def subresources_of(contents: Any) -> Iterator[Any]:
        if isinstance(contents, dict):
            for keyword, value in contents.items():
                found = within(keyword, value, has_defs=has_defs)
                yield from (each for each in found if isinstance(each, dict))

    # Written with `attrs`, which the type checker is not told of.
    make: Callable[..., Specification[Any]] = Specification
    return make(
        name=base.name,
        id_of=id_of,
        subresources_of=subresources_of,
        anchors_in=anchors_in,
        maybe_in_subresource=base.maybe_in_subresource,
    )
