"""What is refused is named; what is asked to be relaxed is a superset, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import InvalidSchema, SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.machine.tables import tables_of
from enforcer.schema import Limits, OnUnsupported, Root, compile_schema
from tests.schema_judge import accepts, compiled

RELAX = OnUnsupported.RELAX
NUMBERS = {
    "type": "array",
    "items": {"type": "number"},
    "uniqueItems": True,
    "contains": {"const": 1},
}


def test_every_offender_is_listed_in_document_order() -> None:
    schema = {
        "properties": {
            "a": {"pattern": "(x)\\1"},
            "b": {"items": {"$ref": "https://example.com/b"}},
            "c": {"patternProperties": {"(?<q>y)\\k<q>": {}}},
        }
    }
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema)
    assert [(each.path, each.keyword) for each in caught.value.problems] == [
        ("$.properties.a.pattern", "pattern"),
        ("$.properties.b.items.$ref", "$ref"),
        ("$.properties.c.patternProperties", "patternProperties"),
    ]
    assert all(each.reason for each in caught.value.problems)


def test_every_malformed_keyword_is_listed() -> None:
    schema = {"minLength": "x", "properties": {"a": {"type": 5}, "b": {"required": "a"}}}
    with pytest.raises(InvalidSchema) as caught:
        compile_schema(schema)
    assert {each.path for each in caught.value.problems} == {
        "$.minLength",
        "$.properties.a.type",
        "$.properties.b.required",
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


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"tags": NUMBERS}},
        {"$defs": {"t": NUMBERS}, "properties": {"tags": {"$ref": "#/$defs/t"}}},
        {"anyOf": [{"type": "null"}, NUMBERS]},
    ],
)
def test_relaxing_keeps_all_but_what_it_reports(schema: dict[str, Any]) -> None:
    grammar = compile_schema(schema, on_unsupported=RELAX)
    (left_out,) = grammar.relaxed
    assert left_out.keyword == "uniqueItems"
    assert left_out.path.endswith(".uniqueItems")
    assert compile_schema({"type": "null"}, on_unsupported=RELAX).relaxed == ()
    usable = compiled(schema, on_unsupported=RELAX)
    if "properties" in schema:
        assert accepts(usable, '{"tags": [1, 1]}')
        assert not accepts(usable, '{"tags": ["a"]}')


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
@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"pattern": "x.{20}y"}},
        {"pattern": "^(?!.*x.{20}y)"},
        {"oneOf": [{"maxLength": 20}, {"pattern": "x.{20}y"}]},
        {"not": {"enum": ["a"]}, "allOf": [{"not": {"pattern": "x.{20}y"}}]},
    ],
)
def test_patterns_that_the_machine_cannot_keep_out_of_a_long_text(schema: dict[str, Any]) -> None:
    text = {"type": "string", "maxLength": 400, **schema}
    for tried in (text, {"type": "object", "propertyNames": text}, {"type": "string", **schema}):
        with pytest.raises(UnsupportedSchema, match="states"):
            tables_of(compile_schema(tried), None)


def test_what_is_no_schema_is_never_relaxed() -> None:
    with pytest.raises(InvalidSchema):
        compile_schema({**NUMBERS, "minItems": -1}, on_unsupported=RELAX)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"not": {}},
        {"enum": []},
        {"type": "integer", "minimum": 1, "maximum": 0},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"type": "string", "pattern": "^a+$", "const": "b"},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "array", "minItems": 2, "maxItems": 1},
        {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "contains": False},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "required": ["ab"], "propertyNames": {"maxLength": 1}},
        {"type": "object", "required": ["a", "b"], "maxProperties": 1},
        {
            "type": "object",
            "required": ["a"],
            "dependentRequired": {"a": ["b"]},
            "maxProperties": 1,
        },
        {"oneOf": [{"type": "null"}, {"const": None}]},
        {"type": "null", "if": {"const": None}, "then": False},
    ],
)
def test_unsatisfiable(schema: Any) -> None:
    with pytest.raises(UnsatisfiableSchema):
        compile_schema(schema)
    with pytest.raises(UnsatisfiableSchema):
        compile_schema(schema, on_unsupported=RELAX)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {
            "$defs": {
                "a": {"type": "array", "prefixItems": [{"$ref": "#/$defs/b"}], "minItems": 1},
                "b": {
                    "type": "object",
                    "properties": {"k": {"$ref": "#/$defs/a"}},
                    "required": ["k"],
                },
            },
            "$ref": "#/$defs/a",
        },
    ],
)
def test_recursion_without_an_end(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsatisfiableSchema, match="without an end"):
        compile_schema(schema)


def test_recursion_with_a_way_out_takes_it() -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["left"],
    }
    grammar = compiled(tree)
    assert accepts(grammar, '{"left": {"left": null}}')
    assert not accepts(grammar, '{"left": {}}')


def test_an_object_at_the_root_on_demand() -> None:
    for schema in ({"type": "string"}, {"enum": [1, [2]]}):
        compile_schema(schema)
        with pytest.raises(UnsatisfiableSchema):
            compile_schema(schema, root=Root.OBJECT)


def test_every_offender_is_listed_whenever_it_is_found() -> None:
    pattern = {"type": "string", "pattern": "(a)\\1"}
    with pytest.raises(UnsupportedSchema) as refused:
        compiled({"properties": {"a": pattern, "b": NUMBERS}})
    assert [problem.path for problem in refused.value.problems] == [
        "$.properties.a.pattern",
        "$.properties.b.uniqueItems",
    ]


def test_what_is_malformed_behind_a_reference_is_told_first() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"pattern": "(a)\\1"}},
        "$defs": {"a": {"items": {"type": "text"}}},
    }
    with pytest.raises(InvalidSchema) as refused:
        compiled(schema)
    assert refused.value.keyword == "type"
