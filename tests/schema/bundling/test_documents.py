"""A schema with the documents that it refers to in it: what it means, and what is left alone."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from enforcer.errors import ConfigurationError, SchemaError, SchemaLimit
from enforcer.schema import Limits, compile_schema
from enforcer.schema.bundling import Documents
from enforcer.schema.grammar import Value, ValueId
from enforcer.schema.reading.drafts import STANDARD
from tests.drawn_json import DIALECTS, Dialect
from tests.schema_judge import accepts, compiled
from tests.schema_strategies import schemas
from tests.support.cases import each_case
from tests.support.schema_cases import SchemaCase, schema_test
from tests.walks import examples

BASE = "https://schemas.example.com/"
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


def _check_bundled(case: SchemaCase) -> None:
    provided = Documents(case.documents) if case.documents else COMMON
    replace(case, schema=bundled(case.schema, provided)).check()


test_schemas = schema_test(__file__, _check_bundled)


def test_only_what_is_needed_is_put_in() -> None:
    assert set(bundled({"$ref": f"{BASE}country.json"})["$defs"]) == {f"{BASE}country.json"}
    both = {f"{BASE}country.json", f"{BASE}address.json"}
    assert set(bundled({"$ref": f"{BASE}address.json"})["$defs"]) == both
    circle = documents(one={"items": {"$ref": "two.json"}}, two={"items": {"$ref": "one.json"}})
    assert len(bundled({"$ref": f"{BASE}one.json"}, circle)["$defs"]) == 2


@each_case
def test_what_needs_no_document_stays_what_it_is(schema: Any) -> None:
    text = json.dumps(schema)
    assert COMMON.bundle(text) is text


def test_what_has_been_bundled_is_bundled_no_further() -> None:
    text = COMMON.bundle(json.dumps({"$ref": f"{BASE}address.json"}))
    assert COMMON.bundle(text) is text


def test_a_client_that_brings_a_document_gets_none() -> None:
    own = {"c": {"$id": f"{BASE}country.json", "const": 1}}
    text = json.dumps({"$ref": f"{BASE}country.json", "$defs": own})
    assert COMMON.bundle(text) is text


@pytest.mark.parametrize("client", [None, "draft-04", "draft-07", "2019-09"])
@each_case
def test_a_document_is_read_by_its_own_draft(
    client: str | None, document: Any, good: list[Any], bad: list[Any]
) -> None:
    drafts = {str(draft): {"$schema": uri} for draft, uri in STANDARD.items()}
    named = drafts[client] if client else {}
    provided = documents(doc=document)
    ref = {"$ref": f"{BASE}doc.json"}
    takes({**named, **ref}, good, bad, provided)
    below = {**named, "properties": {"a": ref}}
    takes(below, [{"a": each} for each in good], [{"a": each} for each in bad], provided)


@each_case
def test_what_is_no_document(schemas: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Documents(schemas)


def test_what_documents_add_counts_against_the_limits() -> None:
    schema = bundled({"$ref": f"{BASE}a.json"}, documents(a={"$comment": "x" * 500}))
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
    provided = {
        BASE + files[name]: (
            {"$schema": dialect.uri, **moved(each, f"{BASE}root")}
            if dialect.uri and isinstance(each, dict)
            else moved(each, f"{BASE}root")
        )
        for name, each in schema.get(dialect.definitions, {}).items()
    }
    return {key: f"{BASE}root", **moved(rest, "#")}, provided


VALUES: list[Any] = [None, 1, "ab", [], [1], {}, {"a": 1}, {"a": "b", "b": 5}, {"a": None}]


def language(schema: dict[str, Any]) -> type[SchemaError] | tuple[ValueId, Mapping[ValueId, Value]]:
    """Compile a schema; the kind of the refusal where it is refused."""
    try:
        grammar = compile_schema(schema)
    except SchemaError as error:
        return type(error)
    return grammar.root, grammar.definitions


@pytest.mark.slow
@settings(examples(150), suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(DIALECTS))
def test_a_schema_in_pieces_means_the_same(data: st.DataObject, dialect: Dialect) -> None:
    schema = data.draw(schemas(dialect))
    assume(isinstance(schema, dict) and dialect.definitions in schema)
    assume(dialect.number > 7 or "$ref" not in schema)  # which hides the identifier
    rest, provided = pieces(schema, dialect)
    # A boolean that is a document has an identifier, and so keywords.
    definitions = schema[dialect.definitions]
    spelled: dict[Any, Any] = {True: {}, False: {"not": {}}}
    written = {
        name: spelled[each] if isinstance(each, bool) else each
        for name, each in definitions.items()
    }
    one, several = {**schema, dialect.definitions: written}, bundled(rest, Documents(provided))
    whole, found = language(one), language(several)
    event("refused" if isinstance(whole, type) else "compiled")
    if isinstance(whole, type) or isinstance(found, type):
        assert found == whole
    elif found != whole:  # what is read under two names has two numbers
        for text in map(json.dumps, VALUES):
            assert accepts(compiled(several), text) == accepts(compiled(one), text)


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
    for value in VALUES:
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


def test_a_document_is_json() -> None:
    with pytest.raises(ConfigurationError, match="not JSON"):
        Documents({f"{BASE}a": {1, 2}})


@pytest.mark.parametrize("wrong", [[1], {1: {}}, None, 5, "x"])
def test_documents_are_schemas_by_uri(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="documents are schemas by their URI"):
        Documents(wrong)
