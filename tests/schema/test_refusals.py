"""What is refused is named; what is asked to be relaxed is a superset, and says so."""

from typing import Any

import pytest

from enforcer.errors import InvalidSchema, SchemaLimit, UnsupportedSchema
from enforcer.machine.tables import tables_of
from enforcer.schema import Limits, OnUnsupported, compile_schema
from tests.schema_judge import accepts, compiled
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test

RELAX = OnUnsupported.RELAX
NUMBERS = {
    "type": "array",
    "items": {"type": "number"},
    "uniqueItems": True,
    "contains": {"const": 1},
}


def test_what_is_malformed_hides_nothing_else() -> None:
    schema = {
        "type": ["object", "strng"],
        "required": 5,
        "properties": {
            "a": {"$id": 5, "pattern": "(x)\\1", "minLength": None},
            "b": {"$ref": "#/$defs/b"},
            "c": NUMBERS,
            "d": {"enum": 5, "anyOf": {}, "minItems": -1},
        },
        "$defs": {"b": {"multipleOf": "0", "exclusiveMinimum": None}},
    }
    with pytest.raises(InvalidSchema) as caught:
        compile_schema(schema)
    assert [(each.path, each.keyword) for each in caught.value.problems] == [
        ("$.type", "type"),
        ("$.required", "required"),
        ("$.properties.a.$id", "$id"),
        ("$.properties.a.minLength", "minLength"),
        ("$.properties.d.minItems", "minItems"),
        ("$.properties.d.enum", "enum"),
        ("$.properties.d.anyOf", "anyOf"),
        ("$.$defs.b.exclusiveMinimum", "exclusiveMinimum"),
        ("$.$defs.b.multipleOf", "multipleOf"),
        ("$.properties.a.pattern", "pattern"),
        ("$.properties.c.uniqueItems", "uniqueItems"),
    ]
    with pytest.raises(InvalidSchema) as relaxed:
        compile_schema(schema, on_unsupported=RELAX)  # which is about what is valid
    assert len(relaxed.value.problems) == 9


def test_a_limit_hides_nothing_else() -> None:
    long = {"enum": [*range(5)]}
    schema = {"minLength": "1", "properties": {"a": long}}
    with pytest.raises(InvalidSchema) as caught:
        compile_schema(schema, limits=Limits(enum=4))
    assert [each.path for each in caught.value.problems] == ["$.minLength", "$.properties.a.enum"]
    with pytest.raises(SchemaLimit):
        compile_schema(long, limits=Limits(enum=4))


def test_nothing_that_is_kept_is_reported() -> None:
    assert compile_schema({"type": "null"}, on_unsupported=RELAX).relaxed == ()


test_schemas = schema_test(__file__)


def test_any_number_of_names_can_be_required() -> None:
    names = [f"p{i}" for i in range(66)]
    wide = {
        "properties": {name: {"type": "integer"} for name in names},
        "required": names,
        "maxProperties": 70,
    }
    grammar = compiled({"properties": {"wide": wide}, "additionalProperties": False})
    tracked = ", ".join(f'"{name}": 1' for name in names)
    assert accepts(grammar, f'{{"wide": {{{tracked}}}}}')
    assert not accepts(grammar, '{"wide": {"p0": 1}}')
    assert not accepts(grammar, f'{{"wide": {{{tracked}, "p65": "x"}}}}')
    more = [f'"q{i}": 1' for i in range(5)]
    assert accepts(grammar, f'{{"wide": {{{tracked}, {", ".join(more[1:])}}}}}')
    assert not accepts(grammar, f'{{"wide": {{{tracked}, {", ".join(more)}}}}}')


@pytest.mark.slow
@each_case
def test_patterns_that_the_machine_cannot_keep_out_of_a_long_text(schema: dict[str, Any]) -> None:
    text = {"type": "string", "maxLength": 400, **schema}
    for tried in (text, {"type": "object", "propertyNames": text}, {"type": "string", **schema}):
        with pytest.raises(UnsupportedSchema, match="states"):
            tables_of(compile_schema(tried), None)
