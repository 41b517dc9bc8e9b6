"""A schema with the documents that it refers to in it: what it means, and what is left alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from enforcer.errors import (
    ConfigurationError,
    InvalidSchema,
    SchemaError,
    SchemaLimit,
    UnsupportedSchema,
)
from enforcer.schema import Limits, compile_schema
from enforcer.schema.bundling import Documents
from tests.drawn_json import DIALECTS
from tests.schema_judge import accepts, compiled
from tests.schema_strategies import schemas
from tests.walks import examples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.schema.grammar import Value, ValueId
    from tests.drawn_json import Dialect


BASE = "https://schemas.example.com/"
OLD = "http://json-schema.org/draft-07/schema#"
OLDEST = "http://json-schema.org/draft-04/schema#"
ADDRESS = {
    "type": "object",
    "properties": {"zip": {"$ref": "#/$defs/zip"}, "country": {"$ref": "country.json"}},
    "required": ["zip"],
    "additionalProperties": False,
    "$defs": {"zip": {"type": "string", "pattern": "^[0-9]{5}$", "$anchor": "zip"}},
}
COUNTRY = {"enum": ["AT", "CH", "DE"]}


def documents(**schemas: Any) -> Documents:
    return Documents({f"{BASE}{name}.json": schema for name, schema in schemas.items()})


COMMON = documents(address=ADDRESS, country=COUNTRY, other={"type": "null"})


def bundled(schema: dict[str, Any], provided: Documents = COMMON) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(provided.bundle(json.dumps(schema)))
    return found


def takes(
    schema: dict[str, Any], good: list[Any], bad: list[Any], provided: Documents = COMMON
) -> None:
    """Assert that the bundle of a schema accepts some values, and others not."""
    grammar = compiled(bundled(schema, provided))
    for value in good:
        assert accepts(grammar, json.dumps(value)), value
    for value in bad:
        assert not accepts(grammar, json.dumps(value)), value


def test_what_is_no_json_is_left_to_whoever_compiles_it() -> None:
    for text in (f'{{"$ref": "{BASE}address.json"', f'{"[" * 100_000}"$ref": "{BASE}'):
        assert COMMON.may_concern(text)
        assert COMMON.bundle(text) == text


def test_a_reference_leads_into_a_document_and_from_there_into_another() -> None:
    schema = {"properties": {"to": {"$ref": f"{BASE}address.json"}}, "required": ["to"]}
    takes(
        schema,
        [{"to": {"zip": "10115", "country": "DE"}}, {"to": {"zip": "10115"}}],
        [{"to": {"zip": "1011"}}, {"to": {"zip": "10115", "country": "FR"}}, {"to": {}}, {}],
    )


def test_only_what_is_needed_is_put_in() -> None:
    assert set(bundled({"$ref": f"{BASE}country.json"})["$defs"]) == {f"{BASE}country.json"}
    both = {f"{BASE}country.json", f"{BASE}address.json"}
    assert set(bundled({"$ref": f"{BASE}address.json"})["$defs"]) == both


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": "object"},
        {"$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"const": {"$ref": f"{BASE}country.json"}},
        {"enum": [{"$ref": f"{BASE}country.json"}]},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$ref": f"{BASE}absent.json"},
        {"$ref": "country.json"},  # there is no base that it is relative to
        {"$ref": "https://[", "$id": "https://["},
        {"properties": {"$ref": {"type": "string"}}, "default": {"$ref": f"{BASE}country.json"}},
        {"dependencies": {"$ref": f"{BASE}country.json"}},
        {"$schema": "https://example.com/unknown", "$ref": f"{BASE}country.json"},
        {"$ref": f"{BASE}country.json", "$defs": [], "definitions": 1},
        {"$ref": 5},
    ],
)
def test_what_needs_no_document_stays_what_it_is(schema: Any) -> None:
    text = json.dumps(schema)
    assert COMMON.bundle(text) is text


def test_what_has_been_bundled_is_bundled_no_further() -> None:
    text = COMMON.bundle(json.dumps({"$ref": f"{BASE}address.json"}))
    assert COMMON.bundle(text) is text


@pytest.mark.parametrize(
    ("ref", "good", "bad"),
    [
        ("address.json#/$defs/zip", "10115", "1"),
        ("address.json#zip", "10115", "1"),
        ("address.json#/properties/country", "DE", "FR"),
        ("sub/../country.json#", "DE", "FR"),
        ("country.json?#/enum", None, None),
    ],
)
def test_pointers_and_anchors_into_documents(ref: str, good: str | None, bad: str | None) -> None:
    schema = {"$id": f"{BASE}tool", "$ref": ref}
    if good is None:
        with pytest.raises(SchemaError):
            compiled(bundled(schema))
    else:
        takes(schema, [good], [bad])


def test_relative_references_are_relative_to_the_nearest_identifier() -> None:
    schema = {
        "$id": f"{BASE}one/tool",
        "items": {"$id": "../two/", "items": {"$ref": "size.json"}},
        "prefixItems": [{"$ref": "size.json"}],
    }
    provided = Documents(
        {f"{BASE}one/size.json": {"const": 1}, f"{BASE}two/size.json": {"const": 2}}
    )
    takes(schema, [[1, [2]]], [[2, [2]], [1, [1]]], provided)


def test_references_in_what_only_a_reference_makes_a_schema() -> None:
    parts = {"components": {"schemas": {"Order": {"$ref": f"{BASE}country.json"}}}}
    takes({"$ref": "#/components/schemas/Order", **parts}, ["DE"], ["FR"])
    provided = documents(api=parts, country=COUNTRY)
    takes({"$ref": f"{BASE}api.json#/components/schemas/Order"}, ["DE"], ["FR"], provided)


def test_a_reference_to_no_document_is_refused_with_the_place_in_the_clients_schema() -> None:
    schema = {"properties": {"a": {"$ref": f"{BASE}absent.json"}}}
    with pytest.raises(UnsupportedSchema, match="leads out of this schema") as error:
        compiled(bundled(schema))
    assert error.value.path == "$.properties.a.$ref"


def test_a_reference_to_nothing_in_a_document_is_refused() -> None:
    schema = {"properties": {"a": {"$ref": f"{BASE}country.json#/$defs/absent"}}}
    with pytest.raises(InvalidSchema, match="leads to nothing in that document") as error:
        compiled(bundled(schema))
    assert error.value.path == "$.properties.a.$ref"


def test_a_problem_inside_a_document_names_the_document() -> None:
    provided = documents(
        one={"properties": {"x": {"$ref": "two.json#/$defs/y"}}},
        two={"$defs": {"y": {"not": {"pattern": r"(a)\1"}}}},
    )
    with pytest.raises(UnsupportedSchema) as error:
        compiled(bundled({"items": {"$ref": f"{BASE}one.json"}}, provided))
    assert error.value.path == f"$.items -> {BASE}two.json#/$defs/y.not.pattern"


def test_documents_may_refer_to_each_other() -> None:
    provided = documents(
        tree={"properties": {"rows": {"items": {"$ref": "row.json"}}}, "type": "object"},
        row={"anyOf": [{"type": "null"}, {"$ref": "tree.json"}]},
    )
    tree = {"$ref": f"{BASE}tree.json"}
    good: dict[Any, Any] = {"rows": [None, {"rows": [{}]}]}
    takes(tree, [good, {}], [{"rows": [1]}, {"rows": [{"rows": [1]}]}], provided)
    assert len(bundled(tree, provided)["$defs"]) == 2


def test_dynamic_anchors_are_overridden_across_documents() -> None:
    provided = documents(
        list={
            "type": "array",
            "items": {"$dynamicRef": "#item"},
            "$defs": {"item": {"$dynamicAnchor": "item", "not": {}}},
        }
    )
    schema = {
        "$id": f"{BASE}tools/get",
        "$ref": f"{BASE}list.json",
        "$defs": {
            "item": {"$dynamicAnchor": "item", "$ref": "#/$defs/number"},
            "number": {"type": "integer"},
        },
    }
    takes(schema, [[], [1, 2]], [["a"], 1], provided)
    takes({"$ref": f"{BASE}list.json"}, [[]], [[1]], provided)


# What a client brings comes first, and is its own affair alone.


def test_a_clients_identifier_comes_before_a_documents() -> None:
    own = {
        "$ref": f"{BASE}country.json",
        "$defs": {"c": {"$id": f"{BASE}country.json", "const": 1}},
    }
    text = json.dumps(own)
    assert COMMON.bundle(text) is text
    takes(own, [1], ["DE"])
    root = {"$id": f"{BASE}country.json", "items": {"$ref": f"{BASE}country.json"}, "type": "array"}
    takes(root, [[[]]], [["DE"]])
    takes({"$ref": f"{BASE}country.json"}, ["DE"], [1])


def test_a_copy_that_a_client_brings_is_what_its_documents_refer_to() -> None:
    schema = {
        "$ref": f"{BASE}address.json#/properties/country",
        "$defs": {"c": {"$id": f"{BASE}country.json", "const": "FR"}},
    }
    takes(schema, ["FR"], ["DE"])
    takes({"$ref": f"{BASE}address.json#/properties/country"}, ["DE"], ["FR"])


def test_what_a_client_and_a_part_of_a_document_both_identify_is_not_mixed() -> None:
    part = {"$id": f"{BASE}part", "type": "integer"}
    provided = documents(whole={"$ref": "part", "$defs": {"p": part}})
    takes({"$ref": f"{BASE}whole.json"}, [1], ["a"], provided)
    takes({"$ref": f"{BASE}part"}, [1], ["a"], provided)
    mixed = {
        "items": {"$ref": f"{BASE}whole.json"},
        "$defs": {"p": {"$id": f"{BASE}part", "type": "string"}},
    }
    with pytest.raises(UnsupportedSchema, match="leads out"):
        compiled(bundled(mixed, provided))


def test_a_name_that_a_client_has_taken_is_kept() -> None:
    schema = {
        "properties": {
            "a": {"$ref": f"{BASE}country.json"},
            "b": {"$ref": "#/$defs/https:~1~1schemas.example.com~1country.json"},
        },
        "$defs": {f"{BASE}country.json": {"const": "mine"}},
    }
    takes(schema, [{"a": "DE", "b": "mine"}], [{"a": "mine"}, {"b": "DE"}])


# Forms of documents.


def test_a_document_is_known_by_its_identifier_and_by_where_it_is_served() -> None:
    here, there = "https://cache.example.com/c", f"{BASE}country"
    provided = Documents(
        {
            here: {"$id": there, "$defs": {"c": COUNTRY}, "items": {"$ref": "#/$defs/c"}},
            "https://cache.example.com/d": {"items": {"$ref": "c"}},
        }
    )
    for ref in (here, there, f"{here}#", f"{here}#/$defs/c", f"{there}#/$defs/c"):
        good = "DE" if "defs" in ref else ["DE"]
        bad = "FR" if "defs" in ref else ["FR"]
        takes({"$ref": ref}, [good], [bad], provided)
    takes({"$ref": "https://cache.example.com/d"}, [[["DE"]]], [[["FR"]]], provided)


def test_booleans_are_documents() -> None:
    provided = documents(anything=True, nothing=False)
    takes({"items": {"$ref": f"{BASE}anything.json"}}, [[1]], [], provided)
    takes({"items": {"$ref": f"{BASE}nothing.json"}}, [[]], [[1]], provided)


@pytest.mark.parametrize(
    "client", [None, OLD, OLDEST, "https://json-schema.org/draft/2019-09/schema"]
)
@pytest.mark.parametrize(
    ("document", "good", "bad"),
    [
        # A list of `items`, and what stands beside `$ref`, mean what they do in its draft.
        ({"$schema": OLD, "items": [{"const": 1}]}, [[1, 2]], [[2]]),
        ({"items": {"const": 1}, "prefixItems": [{"const": 2}]}, [[2, 1]], [[1]]),
        (
            {"$schema": OLD, "$ref": "#/definitions/a", "type": "null",
             "definitions": {"a": {"type": "integer"}}},
            [1], [None],
        ),
        (
            {"$schema": OLDEST, "id": f"{BASE}d4.json", "minimum": 1, "exclusiveMinimum": True,
             "type": "number"},
            [2], [1],
        ),
        ({"$schema": OLD, "$id": f"{BASE}d7", "items": {"$ref": "#a"},
          "definitions": {"x": {"$id": "#a", "type": "null"}}}, [[None]], [[1]]),
    ],
)  # fmt: skip
def test_a_document_is_read_by_its_own_draft(
    client: str | None, document: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    named = {} if client is None else {"$schema": client}
    provided = documents(doc=document)
    ref = {"$ref": f"{BASE}doc.json"}
    takes({**named, **ref}, good, bad, provided)
    below = {**named, "properties": {"a": ref}}
    takes(below, [{"a": each} for each in good], [{"a": each} for each in bad], provided)


METASCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"{BASE}dialect",
    "$vocabulary": {
        "https://json-schema.org/draft/2020-12/vocab/core": True,
        "https://json-schema.org/draft/2020-12/vocab/applicator": True,
    },
}


def test_a_dialect_of_the_operators_means_what_its_vocabularies_say() -> None:
    provided = documents(meta=METASCHEMA, of_it={"$schema": f"{BASE}dialect", "maximum": 1})
    properties = {"a": {"minimum": 10, "$ref": f"{BASE}of_it.json"}, "b": False}
    own = {"$schema": f"{BASE}dialect", "properties": properties}
    takes(own, [{"a": 5}], [{"b": 5}], provided)
    takes({"properties": properties}, [{"a": 15}], [{"a": 5}], provided)


@pytest.mark.parametrize(
    ("schemas", "message"),
    [
        ({"relative.json": {}}, "no absolute URI"),
        ({f"{BASE}a#b": {}}, "no absolute URI"),
        ({f"{BASE}a": []}, "not a JSON Schema"),
        ({f"{BASE}a": {1, 2}}, "not JSON"),
        ({f"{BASE}a": {"$id": "b"}, f"{BASE}b": {}}, "also a URI"),
        ({f"{BASE}b": {}, f"{BASE}a": {"$id": "b"}}, "also a URI"),
        ({f"{BASE}b": {}, f"{BASE}a": {"$defs": {"b": {"$id": "b"}}}}, "also a URI"),
        ({f"{BASE}a": {"$schema": "https://example.com/unknown"}}, "dialect.*not known"),
        ({f"{BASE}a": {"$id": "https://["}}, "no URI"),
    ],
)
def test_what_is_no_document(schemas: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Documents(schemas)


def test_a_document_that_is_damaged_is_refused_where_it_is_used() -> None:
    provided = documents(a={"type": "text"}, b={"$defs": {"c": "a text"}, "type": "null"})
    with pytest.raises(InvalidSchema) as error:
        compiled(bundled({"$ref": f"{BASE}a.json"}, provided))
    assert error.value.path == f"$ -> {BASE}a.json.type"
    takes({"$ref": f"{BASE}b.json"}, [None], [1], provided)


def test_what_documents_add_counts_against_the_limits() -> None:
    provided = documents(a={"$comment": "x" * 500})
    schema = bundled({"$ref": f"{BASE}a.json"}, provided)
    compile_schema(schema)
    with pytest.raises(SchemaLimit):
        compile_schema(schema, limits=Limits(size=400))


def test_a_schema_of_too_many_parts_gets_no_documents() -> None:
    def text(parts: int) -> str:
        return json.dumps({"$ref": f"{BASE}country.json", "x-parts": [{}] * parts})

    assert COMMON.bundle(text(49_999)) != text(49_999)
    assert COMMON.bundle(text(50_000)) == text(50_000)


# In pieces, and in one piece.


def pieces(schema: dict[str, Any], dialect: Dialect) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the definitions of a schema out of it, as documents."""
    key = "$id" if dialect.number > 4 else "id"
    files = {"A": "A.json", "B~1~0": "sub/B.json", "B/~": "sub/B.json"}

    def moved(value: Any, back: str) -> Any:
        if isinstance(value, list):
            return [moved(each, back) for each in value]
        if not isinstance(value, dict):
            return value
        value = {name: moved(each, back) for name, each in value.items()}
        ref = value.get("$ref")
        if isinstance(ref, str):
            named = ref.removeprefix(f"#/{dialect.definitions}/")
            value["$ref"] = back if ref == "#" else BASE + files[named]
        return value

    rest = {name: each for name, each in schema.items() if name != dialect.definitions}
    taken = schema.get(dialect.definitions, {})
    provided = {
        BASE + files[name]: (
            {"$schema": dialect.uri, **moved(each, f"{BASE}root")}
            if dialect.uri and isinstance(each, dict)
            else moved(each, f"{BASE}root")
        )
        for name, each in taken.items()
    }
    return {key: f"{BASE}root", **moved(rest, "#")}, provided


def language(
    schema: dict[str, Any],
) -> type[SchemaError] | tuple[ValueId, Mapping[ValueId, Value]]:
    """Compile a schema; the kind of the refusal where it is refused."""
    try:
        grammar = compile_schema(schema)
    except SchemaError as error:
        return type(error)
    return grammar.root, grammar.definitions


@pytest.mark.slow
@settings(examples(150), suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(DIALECTS))
def test_a_schema_in_pieces_means_what_it_does_in_one(
    data: st.DataObject, dialect: Dialect
) -> None:
    schema = data.draw(schemas(dialect))
    assume(isinstance(schema, dict) and dialect.definitions in schema)
    assume(dialect.number > 7 or "$ref" not in schema)  # which hides the identifier
    rest, provided = pieces(schema, dialect)
    # A boolean that is a document has an identifier, and so keywords.
    definitions = schema[dialect.definitions]
    # The root would be read under two names, as itself and as what they refer to: the same values,
    # otherwise numbered.
    assume('"$ref": "#"' not in json.dumps(definitions))
    spelled: dict[Any, Any] = {True: {}, False: {"not": {}}}
    written = {
        name: spelled[each] if isinstance(each, bool) else each
        for name, each in definitions.items()
    }
    whole = language({**schema, dialect.definitions: written})
    event("refused" if isinstance(whole, type) else "compiled")
    assert language(bundled(rest, Documents(provided))) == whole


@pytest.mark.slow
@settings(examples(50), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_bundle_says_what_its_parts_do_to_another_validator(data: st.DataObject) -> None:
    dialect = DIALECTS[0]
    schema = data.draw(schemas(dialect))
    assume(isinstance(schema, dict) and dialect.definitions in schema)
    rest, provided = pieces(schema, dialect)
    registry = Registry().with_contents(provided.items(), default_specification=DRAFT202012)
    whole = bundled(rest, Documents(provided))
    for value in (None, 1, "ab", [], [1], {}, {"a": 1}, {"a": "b", "b": 5}):
        apart, together = judged(rest, registry, value), judged(whole, Registry(), value)
        assert apart == together


def judged(schema: dict[str, Any], registry: Registry, value: Any) -> bool | None:
    """Ask the validator; skip the example where it recurses without end, at times inside Rust."""
    try:
        return bool(jsonschema.Draft202012Validator(schema, registry=registry).is_valid(value))
    except BaseException as error:
        if "RecursionError" not in repr(error):
            raise
    assume(False)
    return None


@pytest.mark.parametrize("wrong", [[1], {1: {}}, None, 5, "x"])
def test_documents_are_schemas_by_uri(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="documents are schemas by their URI"):
        Documents(wrong)
