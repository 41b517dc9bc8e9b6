"""A schema document whose references (`$ref`, `$dynamicRef`, `$recursiveRef`) can be followed.

Must not know: what other keywords mean.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urldefrag

import jsonschema_specifications  # type: ignore[import-untyped]

from enforcer.errors import InvalidSchema, SchemaError, UnsupportedSchema
from enforcer.schema.reading.drafts import Draft, draft_of
from enforcer.schema.reading.identifiers import anchors, joined, resource_of, uri_of, within

if TYPE_CHECKING:
    from collections.abc import Hashable

_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")
_SHOWN = 64  # characters of a key in a path
_LONGEST = 60  # characters of a wrong value in a message
_BASE = "urn:enforcer:schema"
_LEADS = " -> "  # in a path, before the resource or anchor that a reference leads to


def step(path: str, key: str | int) -> str:
    """Return a `$.`-path extended by one member or element; a long key is cut off by `…`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _PLAIN_NAME.match(key):
        return f"{path}.{key}"
    shown = key if len(key) <= _SHOWN else key[:_SHOWN] + "…"
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'


def shown(value: object) -> str:
    """Return a value as JSON text for a message; a long text is cut off by `…`."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def members(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """Return the members of a keyword's value; none if it is missing or malformed."""
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


class Closing(Enum):
    """The scope in which the objects of a subschema are closed; see `closed_objects`."""

    OPEN = "never"
    WHOLE = "here, with all that the subschema is composed of"
    PART = "by a schema that this one is a part of"
    HANDED = "by each of its parts"


@dataclass(frozen=True, slots=True)
class SchemaLocation:
    """A subschema, and the path and scopes by which it was reached.

    Attributes:
        schema: the subschema.
        path: `$.`-path for messages.
        draft: the draft in force.
        base: URI of its resource; empty in a document without identifiers.
        scope: the dynamic scope: URIs of the resources left on the way, the outermost first.
        closing: how its objects are to be closed.
        origin: path of its resource, to which `#/…` is relative.

    """

    schema: Any
    path: str
    draft: Draft
    base: str = ""
    scope: tuple[str, ...] = ()
    closing: Closing = Closing.OPEN
    origin: str = "$"

    @property
    def key(self) -> Hashable:
        """A key that is equal for locations with the same meaning."""
        # Only the outermost resource that has an anchor counts, so a resource that is entered
        # again changes nothing: recursion has finitely many scopes.
        scopes = (self.base, *dict.fromkeys(self.scope))
        return id(self.schema), self.draft, scopes, self.closing

    def child(self, *keys: str | int) -> SchemaLocation:
        """Return the location of a part that is about the same value."""
        return self._descend(keys, self.of_part)

    def below(self, *keys: str | int) -> SchemaLocation:
        """Return the location of a subschema about a member or an element of the value."""
        inner = Closing.OPEN if self.closing is Closing.OPEN else Closing.WHOLE
        return self._descend(keys, inner)

    def question(self, *keys: str | int) -> SchemaLocation:
        """Return the location of a subschema that is only tested, by `not`, `if` or `contains`."""
        return self._descend(keys, Closing.OPEN)

    @property
    def of_part(self) -> Closing:
        """The closing of its parts."""
        if self.closing is Closing.WHOLE:
            return Closing.PART
        return Closing.WHOLE if self.closing is Closing.HANDED else self.closing

    def _descend(self, keys: tuple[str | int, ...], closing: Closing) -> SchemaLocation:
        """Return the location below these keys, with its own draft and resource if it has one."""
        schema, path = self.schema, self.path
        for key in keys:
            schema = schema[key]
            path = step(path, key)
        found = SchemaLocation(
            schema, path, self.draft, self.base, self.scope, closing, self.origin
        )
        if not self.base or (own := resource_of(schema, self.base, self.draft, path)) is None:
            return found
        return replace(found.entering(own[0]), draft=own[1], origin=path)

    def entering(self, uri: str) -> SchemaLocation:
        """Return the location as a part of another resource, with its own one in the scope."""
        return self if uri == self.base else replace(self, base=uri, scope=(*self.scope, self.base))


class SchemaDocument:
    """A whole schema; follows references inside it, never outside.

    Args:
        schema: the schema.
        scoped: whether identifiers occur in it.
        closing: how its objects are to be closed.

    """

    def __init__(self, schema: object, *, scoped: bool, closing: Closing = Closing.OPEN) -> None:
        draft, base = draft_of(schema), ""
        if scoped and isinstance(schema, dict):
            base, _ = resource_of(schema, _BASE, draft) or (_BASE, draft)
        self.root = SchemaLocation(schema, "$", draft, base, closing=closing)
        self._resources: dict[str, tuple[Any, Draft]] = {base: (schema, draft)}
        # By URI and name: the subschema, its draft, and whether the anchor is dynamic.
        self._anchors: dict[tuple[str, str], tuple[Any, Draft, bool]] = {}
        if base:
            self._index(schema, _BASE, draft)

    def _index(self, schema: Any, base: str, draft: Draft) -> None:
        """Register the resources and anchors of a document."""
        queue = [(schema, base, draft)]
        for part, around, default in queue:
            uri, own = resource_of(part, around, default) or (around, default)
            if uri != around or part is schema:
                self._resources.setdefault(uri, (part, own))
            for name, is_dynamic in anchors(part, own):
                self._anchors.setdefault((uri, name), (part, own, is_dynamic))
            for keyword, value in part.items():
                inner = within(keyword, value, has_defs=own >= Draft.DRAFT2019)
                queue.extend((each, uri, own) for each in inner if isinstance(each, dict))

    def _resource(self, uri: str) -> tuple[Any, Draft] | None:
        """Return the resource of a URI and its draft; also the metaschemas of the standard."""
        if uri not in self._resources:
            standard = jsonschema_specifications.REGISTRY.get(uri)
            if standard is not None:
                self._index(standard.contents, uri, draft_of(standard.contents))
        return self._resources.get(uri)

    def follow(self, place: SchemaLocation, keyword: str) -> SchemaLocation:
        """Return the location that a reference keyword leads to, about the same value.

        Raises:
            InvalidSchema: there is nothing at the target.
            UnsupportedSchema: the target is outside of the document.

        """
        ref = place.schema[keyword]
        is_own = not ref or ref.startswith("#")
        target = place.base + ref if is_own else joined(place.base, ref)
        uri, name = urldefrag(target or "")
        found = None if target is None else self._resource(uri)
        if found is None:
            raise self._nowhere(place, ref, keyword)
        there = replace(place, schema=found[0], draft=found[1], path="$").entering(uri)
        try:
            if name and not name.startswith("/"):
                there = self._anchored(there, name, is_dynamic=keyword == "$dynamicRef")
            else:
                there = self._outermost(there) if keyword == "$recursiveRef" else there
                there = _pointed(there, name)
        except (KeyError, IndexError, TypeError):
            raise self._nowhere(place, ref, keyword, is_known=True) from None
        origin = self._origin(place, there.base)
        draft = there.draft
        if there.base:
            _, around = self._resources.get(there.base, (None, place.draft))
            draft = draft_of(there.schema, around)
        path = _target(place, ref, origin)
        return SchemaLocation(
            there.schema, path, draft, there.base, there.scope, place.of_part, origin
        )

    def _anchored(self, place: SchemaLocation, name: str, *, is_dynamic: bool) -> SchemaLocation:
        """Return the location of an anchor; of a dynamic one, in the outermost resource with it."""
        uri, found = place.base, self._anchors[place.base, name]
        if is_dynamic and found[2]:
            for outer in place.scope:
                other = self._anchors.get((outer, name))
                if other is not None and other[2]:
                    uri, found = outer, other
                    break
        return replace(place, schema=found[0], draft=found[1]).entering(uri)

    def _outermost(self, place: SchemaLocation) -> SchemaLocation:
        """Return the outermost resource of the scope reached through `$recursiveAnchor`s alone."""
        found = place
        for uri in (place.base, *reversed(place.scope)):
            schema, draft = self._resources[uri]
            if not (isinstance(schema, dict) and schema.get("$recursiveAnchor")):
                break
            found = replace(place, schema=schema, draft=draft).entering(uri)
        return found

    def _origin(self, place: SchemaLocation, base: str) -> str:
        """Return the path of the resource with a URI: the same, the document's, or another."""
        if base == place.base:
            return place.origin
        if base == self.root.base:
            return self.root.origin
        return f"{place.path.split(_LEADS, 1)[0]}{_LEADS}{base}"

    @staticmethod
    def _nowhere(
        place: SchemaLocation, ref: str, keyword: str, *, is_known: bool = False
    ) -> SchemaError:
        problem_at = step(place.path, keyword)
        if is_known or ref.startswith("#"):
            where = "this schema" if ref.startswith("#") else "that document"
            reason = f"the reference {ref[:120]!r} leads to nothing in {where}"
            return InvalidSchema.of(problem_at, keyword, reason)
        reason = (
            f"the reference {ref[:120]!r} leads out of this schema; copy its target into `$defs`, "
            "or provide its document (ENFORCER_DOCUMENTS, or `Enforcer(documents=…)`)"
        )
        return UnsupportedSchema.of(problem_at, keyword, reason)


def _pointed(place: SchemaLocation, pointer: str) -> SchemaLocation:
    for part in unquote(pointer).split("/")[1:]:
        key: str | int = part.replace("~1", "/").replace("~0", "~")
        if isinstance(place.schema, list) and part.isascii() and part.isdigit():
            key = int(key)
        # Identifiers are read by the surrounding draft, whatever `$schema` says.
        schema = place.schema[key]
        uri = uri_of(schema, place.base, place.draft) if place.base else None
        place = replace(place, schema=schema).entering(uri or place.base)
    return place


def _target(place: SchemaLocation, ref: str, origin: str) -> str:
    """Return the path of a reference's target.

    Args:
        place: the location of the reference.
        ref: the reference as written.
        origin: the path of the target's resource.

    """
    pointer = urldefrag(ref).fragment
    if _LEADS in origin:
        return f"{origin}#{unquote(pointer)}" if pointer else origin
    if pointer and not pointer.startswith("/"):
        # Without earlier references, whose number a recursive schema does not bound.
        return f"{place.path.split(_LEADS, 1)[0]}{_LEADS}{ref}"
    path = origin
    for part in unquote(pointer).split("/")[1:]:
        path = step(path, part.replace("~1", "/").replace("~0", "~"))
    return path
