"""Where subschemas stand, and what their references are relative to."""

import json
from typing import Any

import pytest

from enforcer.schema.bundling.metaschemas import SchemaDialect
from enforcer.schema.bundling.sites import Resources, TooManySitesError, is_absolute, look_through
from enforcer.schema.reading.drafts import STANDARD, Draft
from enforcer.schema.reading.identifiers import identifier, joined
from tests.support.cases import each_case
from tests.support.nested import nested

BASE = "https://example.com/"
OUT = {"$ref": "out"}
DROPS_TYPE = SchemaDialect(dropped=frozenset({"type"}))


def named(name: str) -> SchemaDialect:
    known = {uri: SchemaDialect(draft) for draft, uri in STANDARD.items()}
    return {**known, "mine": DROPS_TYPE}.get(name)


def look(schema: dict[str, Any], dialect: SchemaDialect | None = None) -> Resources:
    return look_through(schema, dialect or SchemaDialect(), named)


def targets(
    schema: dict[str, Any], dialect: SchemaDialect | None = None
) -> set[tuple[str, str, bool]]:
    found = look({"$id": BASE, "id": BASE, **schema}, dialect).references
    return {(each.uri, each.fragment, each.is_movable) for each in found}


@each_case
def test_references_of_subschemas(schema: dict[str, Any]) -> None:
    assert targets(schema) == {(f"{BASE}out", "", True)}


@each_case
def test_references_of_what_only_a_reference_makes_a_schema_stay_as_they_are(schema: Any) -> None:
    assert targets(schema) == {(f"{BASE}out", "", False)}
    absolute = json.dumps(schema).replace("out", f"{BASE}out")
    assert targets(json.loads(absolute)) == {(f"{BASE}out", "", True)}


@each_case
def test_what_is_no_reference_to_another_resource(schema: dict[str, Any]) -> None:
    assert not targets(schema)


@pytest.mark.parametrize(("draft", "is_keyword"), [(Draft.DRAFT7, False), (Draft.DRAFT2019, True)])
def test_before_2019_there_is_no_keyword_defs(draft: Draft, is_keyword: bool) -> None:
    assert targets({"$defs": {"a": OUT}}, SchemaDialect(draft)) == {(f"{BASE}out", "", is_keyword)}


def test_identifiers_change_the_base_below_them() -> None:
    inner = {"$id": "a/b", "items": {"$ref": "c#d"}, "$defs": {"x": {"$id": "urn:x", "not": OUT}}}
    found = look({"$id": BASE, "not": inner, "x-a": {"$id": "unheard"}})
    assert set(found.identifiers) == {BASE, f"{BASE}a/b", "urn:x"}
    assert {(each.uri, each.fragment) for each in found.references} == {
        (f"{BASE}a/c", "d"),
        ("out", ""),
    }
    assert not found.is_changed


@each_case
def test_identifiers_by_draft(schema: dict[str, Any], draft: str, expected: str | None) -> None:
    assert identifier(schema, {str(each): each for each in Draft}[draft]) == expected


def test_a_subschema_may_be_of_another_dialect() -> None:
    schema = {
        "type": "array",
        "items": {"$schema": "mine", "type": "null", "not": {"type": "null"}},
        "contains": {"$schema": STANDARD[Draft.DRAFT4], "id": BASE, "not": OUT},
    }
    found = look(schema)
    assert found.is_changed
    assert schema["items"] == {"$schema": STANDARD[Draft.DRAFT2020], "not": {}}
    assert schema["type"] == "array"
    assert [each.uri for each in found.references] == [f"{BASE}out"]


def test_values_keep_what_a_dialect_drops() -> None:
    schema = {"const": {"type": 1}, "x-a": {"type": "null"}}
    assert look(schema, DROPS_TYPE).is_changed
    assert schema == {"const": {"type": 1}, "x-a": {}}


def test_a_reference_is_moved_with_its_fragment() -> None:
    schema = {"not": {"$ref": f"{BASE}a#b"}, "$ref": f"{BASE}a"}
    for reference in look(schema).references:
        reference.move("urn:c")
    assert schema == {"not": {"$ref": "urn:c#b"}, "$ref": "urn:c"}


@pytest.mark.slow
def test_depth_is_no_matter_and_size_is() -> None:
    schema = nested(50_000, lambda inner: {"not": inner}, {})
    assert not look(schema).references
    assert not look_through(schema, SchemaDialect(), named, 50_001).references
    with pytest.raises(TooManySitesError):
        look_through(schema, SchemaDialect(), named, 50_000)


def test_uris() -> None:
    assert joined("https://[", "a") is None
    assert is_absolute("urn:a")
    assert not is_absolute("a/b")
    assert not is_absolute("https://[")
