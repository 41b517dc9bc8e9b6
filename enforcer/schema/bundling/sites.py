"""Search of a schema for subschemas, identifiers and references to other resources.

Must not know: documents, what other keywords mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from enforcer.schema.bundling.metaschemas import SchemaDialect, is_standard
from enforcer.schema.reading.drafts import STANDARD, Draft
from enforcer.schema.reading.identifiers import identifier, joined, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REFERENCES = ("$ref", "$dynamicRef")
# Keywords that hold values, not schemas.
_VALUES = frozenset({"const", "enum", "default", "examples"})


class TooManySitesError(Exception):
    """A schema has more objects than may be searched."""


@dataclass(frozen=True, slots=True)
class ResourceReference:
    """A reference to another resource.

    Attributes:
        schema: the subschema that has it.
        keyword: its keyword there.
        uri: its target, absolute, without fragment.
        fragment: the fragment, without `#`.
        is_movable: whether it may be replaced by another absolute reference.

    """

    schema: dict[str, Any]
    keyword: str
    uri: str
    fragment: str
    is_movable: bool

    def move(self, uri: str) -> None:
        """Change the reference to another URI, in place."""
        self.schema[self.keyword] = f"{uri}#{self.fragment}" if self.fragment else uri


@dataclass(slots=True)
class Resources:
    """The identifiers and references found in a schema.

    Attributes:
        identifiers: URIs of the resources in it.
        references: the references that may lead to other resources.
        is_changed: whether the schema was changed.

    """

    identifiers: list[str] = field(default_factory=list)
    references: list[ResourceReference] = field(default_factory=list)
    is_changed: bool = False


def is_absolute(uri: str) -> bool:
    """Return whether a URI has a scheme, and so needs no base."""
    try:
        return bool(urlsplit(uri).scheme)
    except ValueError:
        return False


def look_through(
    schema: dict[str, Any],
    dialect: SchemaDialect,
    named: Callable[[str], SchemaDialect | None],
    most: int | None = None,
) -> Resources:
    """Find identifiers and references, and rewrite dialects of metaschemas as drafts.

    Args:
        schema: changed in place: `$schema` names a draft where it named a dialect of one, and
            keywords that mean nothing in the dialect are removed.
        dialect: the schema's dialect.
        named: returns the dialect of a name; None if it is unknown.
        most: how many objects may be searched; None for all.

    Raises:
        TooManySitesError: the schema has more objects than `most`.

    """
    found = Resources()
    for number, (part, base, own, is_certain) in enumerate(_sites(schema, dialect, named)):
        if most is not None and number >= most:
            raise TooManySitesError
        if is_certain:
            name = part.get("$schema")
            if isinstance(name, str) and not is_standard(name) and named(name) is not None:
                part["$schema"] = STANDARD[own.draft]
                found.is_changed = True
            if identifier(part, own.draft) is not None:
                found.identifiers.append(base)
        for keyword in own.dropped.intersection(part):
            del part[keyword]
            found.is_changed = True
        found.references += _references(part, base, is_certain=is_certain)
    return found


def _references(
    part: dict[str, Any], base: str, *, is_certain: bool
) -> Iterator[ResourceReference]:
    for keyword in _REFERENCES:
        written = part.get(keyword)
        if not isinstance(written, str) or written.startswith("#"):
            continue
        target = joined(base, written)
        if target is not None:
            uri, fragment = urldefrag(target)
            # An object that only a reference makes a schema may have another base then.
            is_movable = is_certain or is_absolute(written)
            yield ResourceReference(part, keyword, uri, fragment, is_movable)


def _sites(
    schema: dict[str, Any], dialect: SchemaDialect, named: Callable[[str], SchemaDialect | None]
) -> Iterator[tuple[dict[str, Any], str, SchemaDialect, bool]]:
    """Yield all objects that are or may be subschemas.

    Changes made to an object before the next one is asked for are followed.

    Yields:
        The object; the base URI of its references, empty if there is none; its dialect; and
        whether keywords lead to it (else only a reference can make a schema of it).

    """
    stack: list[tuple[Any, str, SchemaDialect, bool]] = [(schema, "", dialect, True)]
    while stack:
        value, base, dialect, is_certain = stack.pop()
        if isinstance(value, list):
            stack.extend((each, base, dialect, False) for each in value if _holds(each))
            continue
        name = value.get("$schema")
        if is_certain and isinstance(name, str):
            dialect = named(name) or dialect
        own = identifier(value, dialect.draft)
        if own is not None:
            base = joined(base, own) or base
        yield value, base, dialect, is_certain
        for keyword, inner in value.items():
            if keyword in _VALUES or not _holds(inner):
                continue
            known = within(keyword, inner, has_defs=dialect.draft >= Draft.DRAFT2019)
            if known:
                stack.extend((each, base, dialect, is_certain) for each in known if _holds(each))
            else:
                stack.append((inner, base, dialect, False))


def _holds(value: object) -> bool:
    return isinstance(value, dict | list)
