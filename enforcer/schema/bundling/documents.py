"""Documents that references may lead into, and the bundle of a schema with those that it needs.

Owns: which URI is which document's, what a document looks like inside another schema, and which of
them a schema needs. Must not know: files, requests, how schemas are compiled.

Documents are the operator's, and nothing of a client's is ever added to them: each schema has a
bundle of its own. In a bundle, what the schema itself identifies comes first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from enforcer.errors import ConfigurationError, brief
from enforcer.schema.bundling.metaschemas import STANDARD, SchemaDialect, dialect_of
from enforcer.schema.bundling.sites import TooManySitesError, is_absolute, look_through
from enforcer.schema.reading.drafts import Draft, is_hidden
from enforcer.schema.reading.identifiers import identifier, joined

if TYPE_CHECKING:
    from enforcer.schema.bundling.sites import Resources

# What no schema lacks that refers out of itself, or is of a dialect of its own.
_LEADS_OUT = re.compile(
    r'"\$(?:ref|dynamicRef)":\s*"(?!#)|"\$schema":\s*"(?!https?://json-schema\.org/)'
)
# Objects of a client's schema that are looked at, which is done where requests come in: a tenth of
# a second. One that has more of them gets no documents.
_MOST = 50_000


@dataclass(frozen=True, slots=True)
class _Document:
    """A document as it stands in a bundle.

    Attributes:
        uri: what it is identified by.
        draft: what it is written in.
        schema: with that identifier, and without `$schema`; not to be changed.
        identifiers: of all resources in it.
        needs: other documents that it refers to, by `uri`.

    """

    uri: str
    draft: Draft
    schema: dict[str, Any]
    identifiers: frozenset[str]
    needs: frozenset[str]


class Documents:
    """JSON Schemas that others may refer to; immutable, and safe to share.

    Args:
        schemas: each document, a JSON Schema, by the absolute URI that it is retrieved by. One
            that has an `$id` is known by that as well.
        where: what to call a document in an error, by its URI: a file, say.

    Raises:
        ConfigurationError: these are no schemas by URI; a URI is not absolute, or is that of two
            documents; a document is no JSON Schema, or is written in a dialect that is not known.

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
        # Of each URI, the identifier of the document that it leads into.
        self._owners: dict[str, str] = {}
        self._documents: dict[str, _Document] = {}
        read = [self._read(uri) for uri in schemas]
        for document, found in read:
            needs = self._directly(found, document.identifiers) - {document.uri}
            self._documents[document.uri] = replace(document, needs=frozenset(needs))

    def __len__(self) -> int:
        return len(self._documents)

    def may_concern(self, text: str) -> bool:
        """Return, at the cost of a search, whether a schema may have to be bundled."""
        return bool(self._documents) and _LEADS_OUT.search(text) is not None

    def bundle(self, text: str) -> str:
        """Put the documents into a schema that it refers to, and those that they refer to.

        Args:
            text: the schema, as `json.dumps` writes it.

        Returns:
            The same schema as one compound document; the text itself where it needs none. A
            reference that leads into no document stays what it is.

        """
        if not self.may_concern(text):
            return text
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError):
            return text  # whoever compiles it says what is wrong
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
        """Read a document, and take its URIs for it."""
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
                f"{called} is no JSON Schema, which is an object or a boolean, "
                f"but of the type {type(schema).__name__}"
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
        """Name the documents that references lead into, which are moved to their identifiers."""
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
            # One that identifies something as the schema does would change what that means.
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
    """Return a document its identifier, and take `$schema` out, which depends on where it goes."""
    if isinstance(schema, bool):
        return {"$id": uri} if schema else {"$id": uri, "not": {}}
    keyword = "id" if draft is Draft.DRAFT4 else "$id"
    kept = {key: value for key, value in schema.items() if key not in ("$schema", keyword)}
    if is_hidden(kept, draft):
        # It hides what stands beside it, an identifier too.
        reference = kept["$ref"]
        kept = {key: kept[key] for key in ("definitions",) if key in kept}
        kept["allOf"] = [{"$ref": reference}]
    return {keyword: uri, **kept}


def _embed(schema: dict[str, Any], draft: Draft, documents: list[_Document]) -> bool:
    """Put documents where a schema keeps others; tells whether it has such a place."""
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
        # What is read by the schema's own draft need not say so.
        named = {} if document.draft is draft else {"$schema": STANDARD[document.draft]}
        kept[key] = {**named, **document.schema}
    schema[place] = kept
    return True
