"""The drafts of JSON Schema: their choice by `$schema`, and the keywords that each has.

Must not know: what keywords mean, references.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from enforcer.errors import UnsupportedSchema

if TYPE_CHECKING:
    from collections.abc import Mapping


class Draft(IntEnum):
    """The supported drafts of JSON Schema, in order of age."""

    DRAFT4 = 4
    DRAFT6 = 6
    DRAFT7 = 7
    DRAFT2019 = 2019
    DRAFT2020 = 2020

    def __str__(self) -> str:
        """Return the name that the standard uses."""
        return {2019: "2019-09", 2020: "2020-12"}.get(self.value, f"draft-{self.value:02}")


# `$schema` of each draft, as its metaschema names itself.
STANDARD = {
    Draft.DRAFT4: "http://json-schema.org/draft-04/schema#",
    Draft.DRAFT6: "http://json-schema.org/draft-06/schema#",
    Draft.DRAFT7: "http://json-schema.org/draft-07/schema#",
    Draft.DRAFT2019: "https://json-schema.org/draft/2019-09/schema",
    Draft.DRAFT2020: "https://json-schema.org/draft/2020-12/schema",
}


def _bare(uri: str) -> str:
    """Return a `$schema` without its scheme, since both are in use, and its empty fragment."""
    return uri.strip().rstrip("#/").removeprefix("https:").removeprefix("http:")


_DRAFTS = {_bare(uri): draft for draft, uri in STANDARD.items()}
_DRAFTS["//json-schema.org/schema"] = Draft.DRAFT2020
# The first draft with a keyword, and the last one; other keywords are in every draft.
SINCE = {
    **dict.fromkeys(("const", "contains", "propertyNames"), Draft.DRAFT6),
    **dict.fromkeys(("if", "then", "else"), Draft.DRAFT7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains"), Draft.DRAFT2019),
    **dict.fromkeys(("maxContains", "unevaluatedProperties"), Draft.DRAFT2019),
    **dict.fromkeys(("unevaluatedItems", "$recursiveRef"), Draft.DRAFT2019),
    **dict.fromkeys(("$dynamicRef", "prefixItems"), Draft.DRAFT2020),
}
_UNTIL = {"$recursiveRef": Draft.DRAFT2019}
REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")


def knows(draft: Draft, keyword: str) -> bool:
    """Return whether a keyword means something in a draft; True for unknown keywords."""
    return SINCE.get(keyword, draft) <= draft <= _UNTIL.get(keyword, draft)


def is_hidden(schema: Mapping[str, Any], draft: Draft) -> bool:
    """Return whether a `$ref` hides its siblings, as up to draft 7."""
    return "$ref" in schema and draft <= Draft.DRAFT7


def draft_of(schema: object, default: Draft = Draft.DRAFT2020, path: str = "$") -> Draft:
    """Return the draft that a schema's `$schema` names.

    Args:
        schema: the schema.
        default: the draft if there is no `$schema`.
        path: the schema's path, for the error.

    Raises:
        UnsupportedSchema: `$schema` names no draft of the standard.

    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(named, str):
        return default
    found = _DRAFTS.get(_bare(named))
    if found is None:
        raise UnsupportedSchema.of(
            f"{path}.$schema",
            "$schema",
            f"the dialect {named[:120]!r} is not known; use draft 4, 6, 7, 2019-09 or 2020-12",
        )
    return found
