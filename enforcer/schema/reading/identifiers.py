"""Where in a document identifiers stand: `$id`, `id`, `$anchor` and their like.

Owns: which values are subschemas that may have one, for the package `referencing`, which takes
every document for a valid one of its draft. Here the older forms that a newer draft has replaced
are followed too (`items` as a list), and what stands where a schema should, without being one, is
no place at all: whether that matters is for the readers of keywords to say. Must not know: how
references are followed, what keywords mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from referencing import Specification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Keywords whose value is a subschema, a list of them, or has some by names, as `$defs` has.
ONE = (
    *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
    *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
)
LISTED = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
NAMED = ("definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")


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


def tolerant(base: Specification[Any], *, has_defs: bool) -> Specification[Any]:
    """Return a draft's specification for any JSON value.

    Args:
        base: of the draft.
        has_defs: whether it has the keyword `$defs`.

    """

    def id_of(contents: Any) -> str | None:
        return base.id_of(contents) if isinstance(contents, dict) else None

    def anchors_in(_: Specification[Any], contents: Any) -> Iterable[Any]:
        return base.anchors_in(contents) if isinstance(contents, dict) else ()

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
