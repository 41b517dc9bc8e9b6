"""A JSON document whose references can be followed.

Owns: looking up `$ref`, `$anchor`, `$id` and `$dynamicRef`, and the paths of what they lead to.
Must not know: what keywords mean.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag, urljoin

import jsonschema_specifications  # type: ignore[import-untyped]
import referencing.exceptions
import referencing.jsonschema as dialects
from referencing import Specification

from enforcer.errors import InvalidSchema, SchemaError, UnsupportedSchema
from enforcer.schema.reading.drafts import Draft, draft_of
from enforcer.schema.reading.identifiers import tolerant

if TYPE_CHECKING:
    from collections.abc import Hashable

_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")
_SHOWN = 64  # characters of a key in a path
_BASE = "urn:enforcer:schema"
_IDENTIFIERS = frozenset({"$id", "id"})
_TO_NOTHING = (
    TypeError,  # a pointer through what has no parts
    referencing.exceptions.PointerToNowhere,
    referencing.exceptions.NoSuchAnchor,
    referencing.exceptions.InvalidAnchor,
)
_LEADS = " -> "  # in a path, before the resource or anchor that a reference leads to


_BASES: dict[Draft, Specification[Any]] = {
    Draft.DRAFT4: dialects.DRAFT4,
    Draft.DRAFT6: dialects.DRAFT6,
    Draft.DRAFT7: dialects.DRAFT7,
    Draft.DRAFT2019: dialects.DRAFT201909,
    Draft.DRAFT2020: dialects.DRAFT202012,
}
_SPECIFICATIONS = {draft: tolerant(base, draft) for draft, base in _BASES.items()}
_BY_NAME = {base.name: draft for draft, base in _BASES.items()}


def step(path: str, key: str | int) -> str:
    """Extend a `$.`-path by one member or element; of a long key, its beginning and `…`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _PLAIN_NAME.match(key):
        return f"{path}.{key}"
    shown = key if len(key) <= _SHOWN else key[:_SHOWN] + "…"
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'


def members(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """Give a keyword's members; none where it is malformed, which its own reader notes."""
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


class Closing(Enum):
    """Whether the objects that a subschema describes are to be closed; see `closed_objects`."""

    OPEN = "never"
    WHOLE = "here, with all that the subschema is composed of"
    PART = "by a schema that this one is a part of"
    HANDED = "by each of its parts"


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema and how it was reached.

    Attributes:
        schema: the subschema.
        path: `$.`-path for messages.
        draft: the dialect in force.
        resolver: `referencing`'s resolver, where the document has identifiers.
        closing: whether its objects are to be closed.
        origin: path of the resource that it is a part of, which `#/…` leads to.

    """

    schema: Any
    path: str
    draft: Draft
    resolver: Any = None
    closing: Closing = Closing.OPEN
    origin: str = "$"

    @property
    def key(self) -> Hashable:
        """What decides the meaning of the subschema: itself, its draft, its scopes, its closing."""
        scopes: tuple[str, ...] = ()
        if self.resolver is not None:
            # Only the outermost resource that has an anchor counts, so a resource that is
            # entered again changes nothing: recursion has finitely many scopes.
            entered = [uri for uri, _ in self.resolver.dynamic_scope()]
            scopes = (self.resolver._base_uri, *dict.fromkeys(reversed(entered)))  # noqa: SLF001 - no public accessor
        return id(self.schema), self.draft, scopes, self.closing

    def child(self, *keys: str | int) -> Place:
        """Descend to a part of the subschema, which is about the same value."""
        return self._descend(keys, self.of_part)

    def below(self, *keys: str | int) -> Place:
        """Descend to a subschema that is about a member or an element of the value."""
        inner = Closing.OPEN if self.closing is Closing.OPEN else Closing.WHOLE
        return self._descend(keys, inner)

    def question(self, *keys: str | int) -> Place:
        """Descend to a subschema that is asked whether it holds, by `not`, `if`, `contains`."""
        return self._descend(keys, Closing.OPEN)

    @property
    def of_part(self) -> Closing:
        """How its parts are to be closed."""
        if self.closing is Closing.WHOLE:
            return Closing.PART
        return Closing.WHOLE if self.closing is Closing.HANDED else self.closing

    def _descend(self, keys: tuple[str | int, ...], closing: Closing) -> Place:
        schema, path = self.schema, self.path
        for key in keys:
            schema = schema[key]
            path = step(path, key)
        if not isinstance(schema, dict) or self.resolver is None:
            return Place(schema, path, self.draft, self.resolver, closing, self.origin)
        resolver, origin, draft = self.resolver, self.origin, self.draft
        own = draft_of(schema, draft, path) if _IDENTIFIERS & schema.keys() else draft
        resource = _SPECIFICATIONS[own].create_resource(schema)
        if resource.id() is not None:  # else `$schema` says nothing there
            resolver, origin, draft = resolver.in_subresource(resource), path, own
        return Place(schema, path, draft, resolver, closing, origin)


class SchemaDocument:
    """A whole schema; follows references inside it, never outside.

    Args:
        schema: the schema.
        scoped: whether identifiers occur in it, which references may go by.
        closing: whether its objects are to be closed.

    """

    def __init__(self, schema: object, *, scoped: bool, closing: Closing = Closing.OPEN) -> None:
        draft = draft_of(schema)
        self.root = Place(schema, "$", draft, closing=closing)
        if scoped and isinstance(schema, dict):
            self.root = replace(self.root, resolver=self._resolver(schema, draft))

    @staticmethod
    def _resolver(schema: dict[str, Any], draft: Draft) -> Any:
        resource = _SPECIFICATIONS[draft].create_resource(schema)
        base = resource.id() or _BASE
        # The standard's own metaschemas are at hand; nothing else outside is.
        registry = jsonschema_specifications.REGISTRY.with_resource(base, resource)
        return registry.crawl().resolver(base)

    def follow(self, place: Place, keyword: str) -> Place:
        """Return the subschema that a reference keyword leads to, about the same value.

        Raises:
            InvalidSchema: a reference to nothing.
            UnsupportedSchema: a reference out of the document.

        """
        ref = place.schema[keyword]
        resolver = place.resolver
        if resolver is None:
            if ref in ("", "#") or ref.startswith("#/"):
                return self._follow_pointer(place, ref, keyword)
            root = self.root.schema
            resolver = self._resolver(root if isinstance(root, dict) else {}, self.root.draft)
        try:
            if keyword == "$recursiveRef":
                found = dialects.lookup_recursive_ref(resolver)
                contents, there = found.contents, found.resolver
            else:
                contents, there = _looked_up(resolver, ref, dynamic=keyword == "$dynamicRef")
        except _TO_NOTHING:
            raise self._nowhere(place, ref, keyword, is_known=True) from None
        except (referencing.exceptions.Unresolvable, ValueError) as error:
            raise self._nowhere(place, ref, keyword) from error
        draft = draft_of(contents, _draft_there(there, place.draft))
        origin = self._origin(place, there)
        return Place(contents, _target(place, ref, origin), draft, there, place.of_part, origin)

    def _origin(self, place: Place, there: Any) -> str:
        """Name the resource that a reference leads into: the document's, the same, or another."""
        root = self.root.resolver
        base = there._base_uri  # noqa: SLF001 - no public accessor
        if place.resolver is not None and base == place.resolver._base_uri:  # noqa: SLF001
            return place.origin
        if root is not None and base == root._base_uri:  # noqa: SLF001
            return self.root.origin
        return f"{place.path.split(_LEADS, 1)[0]}{_LEADS}{base}"

    def _follow_pointer(self, place: Place, ref: str, keyword: str) -> Place:
        found = self.root
        for part in unquote(ref).split("/")[1:]:
            key: str | int = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found.schema, list) and str(key).isascii() and str(key).isdigit():
                key = int(key)
            try:
                found = found.child(key)
            except (KeyError, IndexError, TypeError):
                raise self._nowhere(place, ref, keyword) from None
        return replace(found, closing=place.of_part)

    @staticmethod
    def _nowhere(place: Place, ref: str, keyword: str, *, is_known: bool = False) -> SchemaError:
        problem_at = step(place.path, keyword)
        if is_known or ref.startswith("#"):
            where = "this schema" if ref.startswith("#") else "that document"
            reason = f"the reference {ref[:120]!r} leads to nothing in {where}"
            return InvalidSchema.of(problem_at, keyword, reason)
        reason = (
            f"the reference {ref[:120]!r} leads out of this schema; copy its target into `$defs`, "
            "or let the server be given its document (ENFORCER_DOCUMENTS)"
        )
        return UnsupportedSchema.of(problem_at, keyword, reason)


def _looked_up(resolver: Any, ref: str, *, dynamic: bool) -> tuple[Any, Any]:
    """Give what a reference leads to, and the resolver there.

    `referencing` takes every reference to a dynamic anchor for a dynamic one, and stays in the
    resource that it has left: `#/…` would lead to nothing there, or to something else.
    """
    uri, name = urldefrag(ref if ref.startswith("#") else urljoin(resolver._base_uri, ref))  # noqa: SLF001
    if not name or name.startswith("/"):
        found = resolver.lookup(ref)
        return found.contents, found.resolver
    there = resolver.lookup("#" if ref.startswith("#") else uri).resolver
    registry = there._registry  # noqa: SLF001
    uri = there._base_uri  # noqa: SLF001
    anchor = registry.anchor(uri, name).value
    if dynamic and isinstance(anchor, dialects.DynamicAnchor):
        for entered, _ in there.dynamic_scope():  # the outermost is the last one
            with suppress(referencing.exceptions.NoSuchAnchor):
                other = registry.anchor(entered, name).value
                if isinstance(other, dialects.DynamicAnchor):
                    anchor, uri = other, entered
        there = there._evolve(base_uri=uri)  # noqa: SLF001
    return anchor.resource.contents, there


def _draft_there(there: Any, default: Draft) -> Draft:
    """Give the draft of the resource that a resolver stands in."""
    resource = there._registry.get(there._base_uri)  # noqa: SLF001
    if resource is None:
        return default
    return _BY_NAME.get(resource._specification.name, default)  # noqa: SLF001


def _target(place: Place, ref: str, origin: str) -> str:
    """Give the path of what a reference leads to, by the resource that it is in."""
    pointer = urldefrag(ref).fragment
    if _LEADS in origin:
        return f"{origin}#{unquote(pointer)}" if pointer else origin
    if pointer and not pointer.startswith("/"):
        # Without what led there before: a tree that refers to itself has no end of that.
        return f"{place.path.split(_LEADS, 1)[0]}{_LEADS}{ref}"
    path = origin
    for part in unquote(pointer).split("/")[1:]:
        path = step(path, part.replace("~1", "/").replace("~0", "~"))
    return path
