"""The operator's documents by URI, and the bundle of a schema with those that it refers to.

Nothing of a client's schema is ever added to the documents: each schema has a bundle of its own, in
which the schema's own identifiers take precedence. Must not know: files, requests, the compiler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError, brief
from enforcer.schema.bundling.metaschemas import SchemaDialect, dialect_of
from enforcer.schema.bundling.sites import TooManySitesError, is_absolute, look_through
from enforcer.schema.reading.drafts import STANDARD, Draft, is_hidden
from enforcer.schema.reading.identifiers import identifier, joined

if TYPE_CHECKING:
    from enforcer.schema.bundling.sites import Resources

# Every schema that refers to other documents, or has a dialect of its own, matches.
_LEADS_OUT = re.compile(
    r'"\$(?:ref|dynamicRef)":\s*"(?!#)|"\$schema":\s*"(?!https?://json-schema\.org/)'
)
# Objects that the API server searches in a client's schema, in a tenth of a second. A schema with
# more objects gets no documents.
_MOST = 50_000


@dataclass(frozen=True, slots=True)
class _Document:
    """A document, prepared for bundles.

    Attributes:
        uri: its canonical URI.
        draft: its draft.
        schema: with `uri` as identifier, and without `$schema`; not to be changed.
        identifiers: the URIs of all resources in it.
        needs: the canonical URIs of other documents that it refers to.

    """

    uri: str
    draft: Draft
    schema: dict[str, Any]
    identifiers: frozenset[str]
    needs: frozenset[str]


class Documents:
    """JSON Schemas that others may refer to; immutable, and safe to share.

    Args:
        schemas: each document, a JSON Schema, by its absolute retrieval URI. A document with an
            `$id` is known by that as well.
        where: the name of a document in errors (a file, say), by URI.

    Raises:
        ConfigurationError: no mapping of URIs to schemas; a URI is not absolute, or two documents
            have it; a document is no JSON Schema, or its dialect is unknown.

    """

    def __init__(
        self, schemas: Mapping[str, object], *, where: Mapping[str, str] | None = None
    ) -> None:
        if not isinstance(schemas, Mapping) or not all(isinstance(uri, str) for uri in schemas):
            raise ConfigurationError(f"documents are schemas by their URI, not {brief(schemas)}")
        self._where = dict(where or {})
        self._raw = {uri.rstrip("#"): _copied(schema) for uri, schema in schemas.items()}
        for uri, schema in list(self._raw.items()):
            own = schema.get("$id") if isinstance(schema, dict) else None
            if isinstance(own, str) and (known := joined(uri, own)) is not None:
                self._raw.setdefault(known.rstrip("#"), schema)
        # The canonical URI of the document that each URI leads into.
        self._owners: dict[str, str] = {}
        self._documents: dict[str, _Document] = {}
        read = [self._read(uri) for uri in schemas]
        for document, found in read:
            needs = self._directly(found, document.identifiers) - {document.uri}
            self._documents[document.uri] = replace(document, needs=frozenset(needs))

    def __len__(self) -> int:
        return len(self._documents)

    def may_concern(self, text: str) -> bool:
        """Return whether a schema, as JSON text, may have to be bundled; a cheap search."""
        return bool(self._documents) and _LEADS_OUT.search(text) is not None

    def bundle(self, text: str) -> str:
        """Return a schema with the documents that it refers to, directly or through others.

        Args:
            text: the schema, as `json.dumps` writes it.

        Returns:
            One compound document as JSON text; `text` itself if the schema needs no document, or
            is not valid. A reference into no document is left as it is.

        """
        if not self.may_concern(text):
            return text
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError):
            return text  # the compiler reports the error
        if not isinstance(schema, dict):
            return text
        named = schema.get("$schema")
        dialect = self._dialect(named) if isinstance(named, str) else SchemaDialect()
        if dialect is None:
            return text
        try:
            found = look_through(schema, dialect, self._dialect, _MOST)
        except TooManySitesError:
            return text
        needed = self._needed(found)
        if not needed and not found.is_changed:
            return text
        if not _embed(schema, dialect.draft, [self._documents[uri] for uri in sorted(needed)]):
            return text
        return json.dumps(schema, ensure_ascii=False)

    def _dialect(self, name: str) -> SchemaDialect | None:
        return dialect_of(name, self._raw.get)

    def _read(self, given: str) -> tuple[_Document, Resources]:
        """Read a document and register its URIs; return it, without `needs`, and its references."""
        called, uri = self._called(given), given.rstrip("#")
        if not is_absolute(uri) or "#" in uri:
            raise ConfigurationError(f"{called}: {uri!r:.200} is no absolute URI without fragment")
        schema = self._raw[uri]
        dialect = self._dialect_of(schema, called)
        own = identifier(schema, dialect.draft) if isinstance(schema, dict) else None
        canonical = uri if own is None else joined(uri, own)
        if canonical is None or "#" in canonical:
            raise ConfigurationError(f"{called}: its `$id` {own!r:.200} is no URI without fragment")
        prepared = _prepared(schema, canonical, dialect.draft)
        found = look_through(prepared, dialect, self._dialect)
        identifiers = frozenset(found.identifiers)
        for each in sorted(identifiers | {uri}):
            other = self._owners.setdefault(each, canonical)
            if other != canonical or canonical in self._documents:
                raise ConfigurationError(
                    f"{called}: {each!r:.200} is also a URI of {self._called(other)}"
                )
        self._where[canonical] = called
        document = _Document(canonical, dialect.draft, prepared, identifiers, frozenset())
        self._documents[canonical] = document
        return document, found

    def _dialect_of(self, schema: Any, called: str) -> SchemaDialect:
        if not isinstance(schema, dict | bool):
            raise ConfigurationError(
                f"{called} is not a JSON Schema: it must be an object or a boolean, not "
                f"{type(schema).__name__}"
            )
        named = schema.get("$schema") if isinstance(schema, dict) else None
        if not isinstance(named, str):
            return SchemaDialect()
        dialect = self._dialect(named)
        if dialect is None:
            raise ConfigurationError(
                f"{called}: the dialect {named!r:.200} is not known; use draft 4, 6, 7, 2019-09 or "
                "2020-12, or provide its metaschema, whose vocabularies must be known"
            )
        return dialect

    def _called(self, uri: str) -> str:
        return self._where.get(uri, uri)

    def _directly(self, found: Resources, own: frozenset[str]) -> set[str]:
        """Return the URIs of the documents that references lead into; make references canonical."""
        needed = set()
        for reference in found.references:
            uri = reference.uri.rstrip("#")
            owner = None if uri in own else self._owners.get(uri)
            if owner is None:
                continue
            if uri not in self._documents[owner].identifiers:
                if not reference.is_movable:
                    continue
                reference.move(owner)
                found.is_changed = True
            needed.add(owner)
        return needed

    def _needed(self, found: Resources) -> set[str]:
        own = frozenset(found.identifiers)
        needed: set[str] = set()
        waiting = self._directly(found, own)
        while waiting:
            document = self._documents[waiting.pop()]
            # A document that shares an identifier with the schema would change its meaning.
            if document.uri not in needed and own.isdisjoint(document.identifiers):
                needed.add(document.uri)
                waiting |= document.needs
        return needed


def _copied(schema: object) -> Any:
    try:
        return json.loads(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"a document is not JSON: {error}") from error


def _prepared(schema: Any, uri: str, draft: Draft) -> dict[str, Any]:
    """Return a document with its identifier and without `$schema`, which its bundle decides."""
    if isinstance(schema, bool):
        return {"$id": uri} if schema else {"$id": uri, "not": {}}
    keyword = "id" if draft is Draft.DRAFT4 else "$id"
    kept = {key: value for key, value in schema.items() if key not in ("$schema", keyword)}
    if is_hidden(kept, draft):
        # The reference hides its siblings, an identifier too.
        reference = kept["$ref"]
        kept = {key: kept[key] for key in ("definitions",) if key in kept}
        kept["allOf"] = [{"$ref": reference}]
    return {keyword: uri, **kept}


def _embed(schema: dict[str, Any], draft: Draft, documents: list[_Document]) -> bool:
    """Add documents to `$defs` or `definitions`; return whether the schema has room for one."""
    if not documents:
        return True
    places = ("$defs", "definitions") if draft >= Draft.DRAFT2019 else ("definitions",)
    place = next((each for each in places if isinstance(schema.get(each, {}), dict)), None)
    if place is None:
        return False
    kept = dict(schema.get(place, {}))
    for document in documents:
        key = document.uri
        while key in kept:
            key += "'"
        # A document of the schema's own draft needs no `$schema`.
        named = {} if document.draft is draft else {"$schema": STANDARD[document.draft]}
        kept[key] = {**named, **document.schema}
    schema[place] = kept
    return True
