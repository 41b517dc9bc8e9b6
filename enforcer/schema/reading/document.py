"""From any Python object to a JSON document whose references can be followed.

Owns: the check that the input is JSON within the limits, the choice of a dialect by
`$schema`, and looking up `$ref`, `$anchor`, `$id` and `$dynamicRef`. Must not know:
what keywords mean.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jsonschema_specifications  # type: ignore[import-untyped]
import referencing.exceptions
import referencing.jsonschema as dialects

from enforcer.errors import InvalidSchema, Problem, SchemaError, SchemaLimit, UnsupportedSchema
from enforcer.schema.reading.identifiers import tolerant

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.schema.limits import Limits

_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")
_MAX_DIGITS = 1_000  # digits of an integer in a schema; far above any bound in use
_BASE = "urn:enforcer:schema"


class Draft(IntEnum):
    """The drafts of JSON Schema that are read, in order of age."""

    DRAFT4 = 4
    DRAFT6 = 6
    DRAFT7 = 7
    DRAFT2019 = 2019
    DRAFT2020 = 2020


_DRAFTS = {
    "//json-schema.org/draft-04/schema": Draft.DRAFT4,
    "//json-schema.org/draft-06/schema": Draft.DRAFT6,
    "//json-schema.org/draft-07/schema": Draft.DRAFT7,
    "//json-schema.org/schema": Draft.DRAFT2020,
    "//json-schema.org/draft/2019-09/schema": Draft.DRAFT2019,
    "//json-schema.org/draft/2020-12/schema": Draft.DRAFT2020,
}
_SPECIFICATIONS = {
    Draft.DRAFT4: tolerant(dialects.DRAFT4),
    Draft.DRAFT6: tolerant(dialects.DRAFT6),
    Draft.DRAFT7: tolerant(dialects.DRAFT7),
    Draft.DRAFT2019: tolerant(dialects.DRAFT201909, "$defs"),
    Draft.DRAFT2020: tolerant(dialects.DRAFT202012, "$defs"),
}
_SCOPED = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})


def step(path: str, key: str | int) -> str:
    """Extend a `$.`-path by one member or element."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if _PLAIN_NAME.match(key):
        return f"{path}.{key}"
    escaped = key[:64].replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{escaped}"]'


def check_json(document: object, limits: Limits) -> bool:
    """Refuse what is not JSON or over the limits; tell whether references need a registry.

    Raises:
        InvalidSchema: a value that JSON cannot carry.
        SchemaLimit: too deep, too many values, or too many characters.

    """
    scoped = _looked_through(document, limits)
    return _searched(document, limits) if scoped is None else scoped


def _looked_through(document: object, limits: Limits) -> bool | None:
    """Tell what `check_json` does, in a fraction of the time; None if anything is unusual."""
    nodes = size = 0
    scoped = False
    level: list[Any] = [document]
    for _ in range(limits.depth + 1):
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str:
                if not value.isascii():
                    return None
                size += len(value)
            elif kind is dict:
                for key in value:
                    if type(key) is not str or not key.isascii():
                        return None
                    size += len(key)
                scoped = scoped or not _SCOPED.isdisjoint(value)
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind is not bool:
                try:
                    _check_scalar(value, "")
                except SchemaError:
                    return None
        nodes += len(level)
        if nodes + len(below) > limits.nodes or size > limits.size:
            return None
        if not below:
            return scoped
        level = below
    return None


def _searched(document: object, limits: Limits) -> bool:
    """Do what `check_json` does, the path at hand of whatever is wrong."""
    nodes = size = 0
    scoped = False
    stack: list[tuple[Any, str, int]] = [(document, "$", 0)]
    while stack:
        value, path, depth = stack.pop()
        nodes += 1
        if depth > limits.depth:
            _limit(path[:200], f"nested deeper than {limits.depth} levels; flatten it with `$defs`")
        if nodes > limits.nodes:
            _limit("$", f"more than {limits.nodes} values; split the schema up")
        if isinstance(value, dict):
            for key, child in value.items():
                if not isinstance(key, str):
                    _invalid(path, f"the name {key!r:.60} is not a string")
                _check_text(key, path)
                size += len(key)
                scoped = scoped or key in _SCOPED
                stack.append((child, step(path, key), depth + 1))
        elif isinstance(value, list):
            stack.extend((child, f"{path}[{i}]", depth + 1) for i, child in enumerate(value))
        elif isinstance(value, str):
            _check_text(value, path)
            size += len(value)
        else:
            _check_scalar(value, path)
        if size > limits.size:
            _limit("$", f"more than {limits.size} characters; split the schema up")
        if len(stack) > limits.nodes:
            _limit("$", f"more than {limits.nodes} values; split the schema up")
    return scoped


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        _invalid(path, "a string holds a lone surrogate, which UTF-8 cannot carry")


def _check_scalar(value: Any, path: str) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if value.bit_length() > 4 * _MAX_DIGITS:
            _limit(path, f"an integer of more than {_MAX_DIGITS} digits")
    elif not isinstance(value, float):
        _invalid(path, f"a {type(value).__name__} is not a JSON value")
    elif not math.isfinite(value):
        _invalid(path, f"{value} is not a JSON number")


def _invalid(path: str, reason: str) -> None:
    raise InvalidSchema((Problem(path, "", reason),))


def _limit(path: str, reason: str) -> None:
    raise SchemaLimit((Problem(path, "", reason),))


def draft_of(schema: object, default: Draft = Draft.DRAFT2020) -> Draft:
    """Read `$schema`.

    Raises:
        UnsupportedSchema: a dialect other than those of the standard.

    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(named, str):
        return default
    # Both schemes are in use for every draft.
    found = _DRAFTS.get(named.strip().rstrip("#/").removeprefix("https:").removeprefix("http:"))
    if found is None:
        raise UnsupportedSchema(
            (
                Problem(
                    "$.$schema",
                    "$schema",
                    f"the dialect {named[:120]!r} is not known; use draft 4, 6, 7, 2019-09 or "
                    "2020-12",
                ),
            )
        )
    return found


def _no_identifier(path: str, error: Exception) -> InvalidSchema:
    reason = f"`$id`, `$anchor` and the like must be texts that name a place ({error!s:.200})"
    return InvalidSchema((Problem(path, "$id", reason),))


class Closing(Enum):
    """Whether the objects that a subschema describes are to be closed; see `closing`."""

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

    """

    schema: Any
    path: str
    draft: Draft
    resolver: Any = None
    closing: Closing = Closing.OPEN

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
            return Place(schema, path, self.draft, self.resolver, closing)
        draft = draft_of(schema, self.draft)
        resource = _SPECIFICATIONS[draft].create_resource(schema)
        resolver = self.resolver
        try:
            if resource.id() is not None:
                resolver = resolver.in_subresource(resource)
        except (AttributeError, TypeError, ValueError) as error:
            # `referencing` takes an identifier for a text, whatever the author wrote.
            raise _no_identifier(path, error) from error
        return Place(schema, path, draft, resolver, closing)


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
        try:
            base = resource.id() or _BASE
            # The standard's own metaschemas are at hand; nothing else outside is.
            registry = jsonschema_specifications.REGISTRY.with_resource(base, resource)
            return registry.crawl().resolver(base)
        except Exception as error:
            # Identifiers are the author's text; `referencing` raises what it meets there.
            raise _no_identifier("$", error) from error

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
            else:
                found = resolver.lookup(ref)
        except (
            referencing.exceptions.Unresolvable,
            ValueError,
            TypeError,
            AttributeError,  # for an identifier that is no text
        ) as error:
            raise self._nowhere(place, ref, keyword) from error
        draft = draft_of(found.contents, place.draft)
        path, closing = self._path_to(place, ref), place.of_part
        return Place(found.contents, path, draft, found.resolver, closing)

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

    def _path_to(self, place: Place, ref: str) -> str:
        if ref == "#":
            return "$"
        if not ref.startswith("#/"):
            return f"{place.path} -> {ref}"
        path = "$"
        for part in unquote(ref).split("/")[1:]:
            path = step(path, part.replace("~1", "/").replace("~0", "~"))
        return path

    @staticmethod
    def _nowhere(place: Place, ref: str, keyword: str) -> SchemaError:
        problem_at = step(place.path, keyword)
        if ref.startswith("#"):
            reason = f"the reference {ref[:120]!r} leads to nothing in this schema"
            return InvalidSchema((Problem(problem_at, keyword, reason),))
        reason = (
            f"the reference {ref[:120]!r} leads out of this schema; copy its target into `$defs`"
        )
        return UnsupportedSchema((Problem(problem_at, keyword, reason),))
