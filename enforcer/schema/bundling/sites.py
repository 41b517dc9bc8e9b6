"""The subschemas of a schema, with the base of their references.

Owns: where subschemas stand or may stand, which identifier and dialect is in force there, and where
references lead. Must not know: documents, what other keywords mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from enforcer.schema.bundling.metaschemas import STANDARD, SchemaDialect, is_standard
from enforcer.schema.reading.drafts import Draft
from enforcer.schema.reading.identifiers import identifier, joined, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REFERENCES = ("$ref", "$dynamicRef")
# What has values in it, not schemas.
_VALUES = frozenset({"const", "enum", "default", "examples"})


class TooManySitesError(Exception):
    """A schema has more subschemas than are to be looked at."""


@dataclass(slots=True)
class Site:
    """An object that is a subschema, or may be one.

    Attributes:
        schema: the object itself; what is changed in it before the next site is asked for counts.
        base: URI that its references are relative to; empty if there is none.
        dialect: in force there.
        is_certain: whether keywords lead to it; else a reference alone can make a schema of it.

    """

    schema: dict[str, Any]
    base: str
    dialect: SchemaDialect
    is_certain: bool


@dataclass(frozen=True, slots=True)
class ResourceReference:
    """A reference that leads to another resource.

    Attributes:
        schema: the subschema that has it.
        keyword: its keyword there.
        uri: what it names, absolute, without fragment.
        fragment: what stands behind `#`.
        is_movable: whether another absolute reference may be written in its place.

    """

    schema: dict[str, Any]
    keyword: str
    uri: str
    fragment: str
    is_movable: bool

    def move(self, uri: str) -> None:
        """Let it name another URI."""
        self.schema[self.keyword] = f"{uri}#{self.fragment}" if self.fragment else uri


@dataclass(slots=True)
class Resources:
    """What a schema says about resources.

    Attributes:
        identifiers: URIs of the resources in it.
        references: those to resources that may be others.
        is_changed: whether anything in it was written otherwise.

    """

    identifiers: list[str] = field(default_factory=list)
    references: list[ResourceReference] = field(default_factory=list)
    is_changed: bool = False


def is_absolute(uri: str) -> bool:
    """Return whether a URI needs no base."""
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
    """Find identifiers and references, and write dialects of documents as those of the standard.

    Args:
        schema: is changed in place: `$schema` names a draft where it named a dialect of one, and
            keywords that mean nothing in the dialect are gone.
        dialect: of the schema.
        named: gives the dialect of a name; None if it is not known.
        most: how many objects are looked at; None for all.

    Raises:
        TooManySitesError: it has more.

    """
    found = Resources()
    for number, site in enumerate(_sites(schema, dialect, named)):
        if most is not None and number >= most:
            raise TooManySitesError
        _look(site, found, named)
    return found


def _look(site: Site, found: Resources, named: Callable[[str], SchemaDialect | None]) -> None:
    schema, draft = site.schema, site.dialect.draft
    name = schema.get("$schema")
    if site.is_certain:
        if isinstance(name, str) and not is_standard(name) and named(name) is not None:
            schema["$schema"] = STANDARD[draft]
            found.is_changed = True
        if identifier(schema, draft) is not None:
            found.identifiers.append(site.base)
    for keyword in site.dialect.dropped.intersection(schema):
        del schema[keyword]
        found.is_changed = True
    for keyword in _REFERENCES:
        written = schema.get(keyword)
        if not isinstance(written, str) or written.startswith("#"):
            continue
        target = joined(site.base, written)
        if target is not None:
            uri, fragment = urldefrag(target)
            # Of what only a reference makes a schema, the base may be another then.
            is_movable = site.is_certain or is_absolute(written)
            found.references.append(ResourceReference(schema, keyword, uri, fragment, is_movable))


def _sites(
    schema: dict[str, Any], dialect: SchemaDialect, named: Callable[[str], SchemaDialect | None]
) -> Iterator[Site]:
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
        yield Site(value, base, dialect, is_certain)
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
