"""What `$schema` names, where it is no draft of the standard."""

from typing import Any

import pytest

from enforcer.schema.bundling.metaschemas import SchemaDialect, dialect_of, is_standard
from enforcer.schema.reading.drafts import STANDARD, Draft, draft_of

LATEST = STANDARD[Draft.DRAFT2020]
V = "https://json-schema.org/draft/2020-12/vocab/"
V2019 = "https://json-schema.org/draft/2019-09/vocab/"
ALL = ["core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation"]
MINE = "https://example.com/mine"


def read(*, name: str = MINE, schema: str = LATEST, **more: Any) -> SchemaDialect | None:
    return dialect_of(name, {MINE: {"$schema": schema, **more}}.get)


def vocabulary(*names: str, base: str = V, more: Any = None) -> dict[str, Any]:
    return {"$vocabulary": {**{base + name: True for name in names}, **(more or {})}}


@pytest.mark.parametrize("draft", Draft)
def test_the_standards_own_names(draft: Draft) -> None:
    assert draft_of({"$schema": STANDARD[draft]}) is draft
    assert is_standard(STANDARD[draft])
    assert dialect_of(STANDARD[draft], lambda _: None) == SchemaDialect(draft)
    assert read(schema=STANDARD[draft]) == SchemaDialect(draft)


def test_a_name_is_found_with_an_empty_fragment() -> None:
    assert read(name=f"{MINE}#") == SchemaDialect()
    assert not is_standard(f"{MINE}#")


def test_unknown_vocabularies_may_be_left_out_where_they_are_optional() -> None:
    assert read(**vocabulary(*ALL, more={"https://example.com/vocab": False})) == SchemaDialect()
    assert read(**vocabulary(*ALL, more={"https://example.com/vocab": True})) is None
    assert read(**vocabulary(*ALL, more={"https://example.com/vocab": "yes"})) is None
    # Formats are enforced, or not, by the operator's setting; which may be against this one.
    assert read(**vocabulary(*ALL, "format-assertion")) is None


def test_keywords_of_vocabularies_that_are_left_out_mean_nothing() -> None:
    structure = read(**vocabulary("core", "applicator")).dropped
    assert {"type", "minimum", "enum", "required", "unevaluatedItems"} <= structure
    assert not {"properties", "items", "$ref", "format", "title", "allOf"} & structure
    assert "prefixItems" in read(**vocabulary("core", "validation")).dropped
    older = read(schema=STANDARD[Draft.DRAFT2019], **vocabulary("core", "validation", base=V2019))
    assert older.draft is Draft.DRAFT2019
    assert {"additionalItems", "unevaluatedProperties", "not"} <= older.dropped
    assert "type" not in older.dropped


def test_older_drafts_have_no_vocabularies() -> None:
    assert read(schema=STANDARD[Draft.DRAFT7], **vocabulary("core")) == SchemaDialect(Draft.DRAFT7)


def test_a_dialect_of_a_dialect_has_its_own_vocabularies() -> None:
    other = "https://example.com/other"
    known = {
        MINE: {"$schema": other, **vocabulary("core", "validation")},
        other: {"$schema": LATEST, **vocabulary("core")},
    }
    assert "type" not in dialect_of(MINE, known.get).dropped
    assert "type" in dialect_of(other, known.get).dropped


@pytest.mark.parametrize(
    "metaschema", [None, True, [], {}, {"$schema": 5}, {"$schema": MINE}, {"$schema": "x"}]
)
def test_what_cannot_be_traced_to_a_draft_is_not_known(metaschema: Any) -> None:
    assert dialect_of(MINE, {MINE: metaschema}.get) is None
