"""Dialects of JSON Schema that metaschemas declare: a draft without some vocabularies.

Must not know: where documents come from, what keywords mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.schema.reading.drafts import STANDARD, Draft, draft_of

if TYPE_CHECKING:
    from collections.abc import Callable

_APPLICATOR = """
additionalProperties allOf anyOf contains dependencies dependentSchemas else if items not oneOf
patternProperties properties propertyNames then
"""
_VALIDATION = """
const dependentRequired enum exclusiveMaximum exclusiveMinimum maxContains maxItems maxLength
maxProperties maximum minContains minItems minLength minProperties minimum multipleOf pattern
required type uniqueItems
"""
_UNEVALUATED = "unevaluatedItems unevaluatedProperties"
# Keywords by the last part of a vocabulary's name. Annotations are left out, and so is `format`:
# the operator decides for every dialect whether formats are enforced.
_VOCABULARIES = {
    Draft.DRAFT2019: {
        **dict.fromkeys(("core", "meta-data", "format", "content"), ""),
        "applicator": f"{_APPLICATOR} additionalItems {_UNEVALUATED}",
        "validation": _VALIDATION,
    },
    Draft.DRAFT2020: {
        **dict.fromkeys(("core", "meta-data", "format-annotation", "content"), ""),
        "applicator": f"{_APPLICATOR} prefixItems",
        "unevaluated": _UNEVALUATED,
        "validation": _VALIDATION,
    },
}


@dataclass(frozen=True, slots=True)
class SchemaDialect:
    """A dialect of JSON Schema.

    Attributes:
        draft: the draft of the standard that it is based on.
        dropped: keywords of the draft that mean nothing in it.

    """

    draft: Draft = Draft.DRAFT2020
    dropped: frozenset[str] = frozenset()


def is_standard(name: str) -> bool:
    """Return whether `$schema` names a draft itself."""
    try:
        draft_of({"$schema": name})
    except UnsupportedSchema:
        return False
    return True


def dialect_of(name: str, find: Callable[[str], object]) -> SchemaDialect | None:
    """Return the dialect that `$schema` names.

    Args:
        name: the value of `$schema`.
        find: returns the document of a URI without `#`; None if there is none.

    Returns:
        The dialect; None if it, or a vocabulary that it requires, is unknown.

    """
    metaschema: object = {"$schema": name}
    found: object = None
    met: set[str] = set()
    while True:
        named = metaschema.get("$schema") if isinstance(metaschema, dict) else None
        if not isinstance(named, str) or named in met:
            return None
        met.add(named)
        try:
            draft = draft_of(metaschema)
        except UnsupportedSchema:
            metaschema = find(named.strip().rstrip("#"))
            # The first metaschema declares the vocabularies; its own `$schema` is another dialect.
            found = metaschema if found is None else found
        else:
            return _with_vocabularies(draft, found)


def _with_vocabularies(draft: Draft, metaschema: object) -> SchemaDialect | None:
    declared = metaschema.get("$vocabulary") if isinstance(metaschema, dict) else None
    known = _VOCABULARIES.get(draft)
    if known is None or not isinstance(declared, dict):
        return SchemaDialect(draft)
    begin = STANDARD[draft].removesuffix("schema") + "vocab/"
    if any(uri.removeprefix(begin) not in known and declared[uri] is not False for uri in declared):
        return None
    absent = (words for name, words in known.items() if begin + name not in declared)
    return SchemaDialect(draft, frozenset(word for words in absent for word in words.split()))
