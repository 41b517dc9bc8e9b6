"""Where in its schema a value comes from, and that no offender stands for another."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import SchemaLimit, UnsupportedSchema
from enforcer.schema import Limits, OnUnsupported, Root, compile_schema, trace_schema

UNIQUE = {
    "type": "array",
    "items": {"type": "integer"},
    "uniqueItems": True,
    "contains": {"const": 1},
}
DRAFT7 = "http://json-schema.org/draft-07/schema#"
NULL = {"type": "null"}
MORE = {"properties": {"n": {"minimum": 3}}}
LISTED = {
    "$schema": DRAFT7,
    "type": "array",
    "items": [{"enum": [1]}],
    "additionalItems": {"enum": [2]},
}
BRANCHES = {
    "oneOf": [
        {"properties": {"kind": {"const": "x"}, "v": {"enum": [1, 2]}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "y"}, "v": {"enum": [3, 4]}}, "required": ["kind"]},
    ]
}


def sources(schema: dict[str, Any], *keys: int | str) -> tuple[str, ...]:
    """Give the paths of the value at a position, the first shape of an object being taken."""
    grammar, provenance = trace_schema(schema, root=Root.OBJECT)
    found, number = provenance.root, grammar.root
    for key in keys:
        value = grammar.definitions[number]
        if isinstance(key, str):
            shape = value.objects[0]
            number = dict(shape.names).get(key, shape.classes[0][1])
        else:
            array = value.arrays[0]
            number = array.prefix[key] if key < len(array.prefix) else array.rest
        found = provenance.below(found, key, (number,))
    return found.paths


def test_equal_subschemas_are_told_apart_by_their_positions() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    assert sources(schema, "a") == ("$.properties.a",)
    assert sources(schema, "b") == ("$.properties.b",)


def test_a_reference_and_what_it_leads_to() -> None:
    schema = {"properties": {"u": {"$ref": "#/$defs/u"}}, "$defs": {"u": {"enum": ["c", "f"]}}}
    assert sources(schema, "u") == ("$.properties.u", "$.$defs.u")


def test_a_branch_that_is_out_of_question_is_no_source() -> None:
    assert sources(BRANCHES, "v") == ("$.oneOf[0].properties.v",)


def test_parts_that_are_combined_are_all_sources() -> None:
    schema = {
        "properties": {"n": {"type": "integer"}},
        "allOf": [{"properties": {"n": {"minimum": 3}}}],
    }
    assert sources(schema, "n") == ("$.properties.n", "$.allOf[0].properties.n")


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"if": {"required": ["n"]}, "then": MORE}, "$.then.properties.n"),
        ({"if": {"required": ["x"]}, "then": False, "else": MORE}, "$.else.properties.n"),
        ({"dependentSchemas": {"n": MORE}}, "$.dependentSchemas.n.properties.n"),
        ({"$schema": DRAFT7, "dependencies": {"n": MORE}}, "$.dependencies.n.properties.n"),
        ({"not": {"properties": {"n": {"maximum": 2}}}}, "$.not.properties.n"),
        ({"oneOf": [MORE]}, "$.oneOf[0].properties.n"),
    ],
)
def test_a_part_that_applies_beside_is_a_source(part: dict[str, Any], path: str) -> None:
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"], **part}
    assert sources(schema, "n") == ("$.properties.n", path)


def test_a_reference_of_an_old_draft_hides_its_neighbours() -> None:
    schema = {
        "$schema": DRAFT7,
        "definitions": {"u": NULL},
        "properties": {"u": {"$ref": "#/definitions/u", "allOf": [NULL]}},
    }
    assert sources(schema, "u") == ("$.properties.u", "$.definitions.u")


def test_all_branches_apply_of_which_a_value_comes_from_some() -> None:
    _, provenance = trace_schema({"anyOf": [{"type": "string"}, False], "not": {"const": 1}})
    assert {place.path for place in provenance.root.applying} == {
        *("$", "$.anyOf[0]", "$.anyOf[1]", "$.not"),
    }


@pytest.mark.parametrize(
    ("schema", "keys", "path"),
    [
        ({"additionalProperties": {"type": "null"}}, ["x"], "$.additionalProperties"),
        ({"patternProperties": {"^x": {"type": "null"}}}, ["xy"], '$.patternProperties["^x"]'),
        ({"properties": {"a": {"items": {"enum": [1]}}}}, ["a", 5], "$.properties.a.items"),
        (
            {"properties": {"a": {"type": "array", "prefixItems": [{"enum": [1]}]}}},
            ["a", 0],
            "$.properties.a.prefixItems[0]",
        ),
        ({"type": "object"}, ["a"], "$"),
        ({"unevaluatedProperties": {"type": "null"}}, ["x"], "$.unevaluatedProperties"),
        ({"properties": {"a": LISTED}}, ["a", 0], "$.properties.a.items[0]"),
        ({"properties": {"a": LISTED}}, ["a", 1], "$.properties.a.additionalItems"),
        # What is declared, by its name or a pattern, is no additional property.
        (
            {"patternProperties": {"^x": NULL}, "additionalProperties": NULL},
            ["xy"],
            '$.patternProperties["^x"]',
        ),
        ({"properties": {"a": NULL}, "additionalProperties": NULL}, ["a"], "$.properties.a"),
        (
            {"patternProperties": {"^x": NULL}, "additionalProperties": {"type": "string"}},
            ["a"],
            "$.additionalProperties",
        ),
        # Up to draft 7 a reference hides what stands beside it.
        (
            {
                "$schema": DRAFT7,
                "definitions": {"o": {"properties": {"a": NULL}}},
                "$ref": "#/definitions/o",
                "properties": {"a": NULL},
            },
            ["a"],
            "$.definitions.o.properties.a",
        ),
    ],
)
def test_positions_of_every_kind(schema: dict[str, Any], keys: list[int | str], path: str) -> None:
    assert sources(schema, *keys) == (path,)


def test_tracing_changes_nothing_of_the_grammar() -> None:
    traced, _ = trace_schema(BRANCHES)
    plain = compile_schema(BRANCHES)
    assert (traced.definitions, traced.root) == (plain.definitions, plain.root)


@pytest.mark.parametrize(
    ("schema", "keyword", "paths"),
    [
        (
            {"properties": dict.fromkeys("abc", UNIQUE)},
            "uniqueItems",
            [f"$.properties.{name}.uniqueItems" for name in "abc"],
        ),
        (
            {"properties": {"a": {"items": UNIQUE}, "b": {"additionalProperties": UNIQUE}}},
            "uniqueItems",
            [
                "$.properties.a.items.uniqueItems",
                "$.properties.b.additionalProperties.uniqueItems",
            ],
        ),
        (
            # What keeps the first one from harm stands beside it, so that it is no offender.
            {"properties": {"a": {"allOf": [{"maxItems": 1}, UNIQUE]}, "b": UNIQUE}},
            "uniqueItems",
            ["$.properties.b.uniqueItems"],
        ),
        (
            {"properties": {name: {"not": {"multipleOf": 1000003}} for name in "ab"}},
            "multipleOf",
            ["$.properties.a.not.multipleOf", "$.properties.b.not.multipleOf"],
        ),
    ],
)
def test_of_equal_offenders_each_is_named(
    schema: dict[str, Any], keyword: str, paths: list[str]
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema)
    assert [(p.path, p.keyword) for p in caught.value.problems] == [(p, keyword) for p in paths]
    relaxed = compile_schema(schema, on_unsupported=OnUnsupported.RELAX).relaxed
    assert [problem.path for problem in relaxed] == paths


@pytest.mark.parametrize(
    ("limits", "schema", "path"),
    [
        (
            Limits(branches=4),
            {"items": {"anyOf": [{"required": [n, n + n]} for n in "abcdef"]}},
            "$.properties.deep.items.anyOf[0]",
        ),
        (
            Limits(steps=40),
            {
                "additionalProperties": {
                    "allOf": [
                        {"anyOf": [{"properties": {n + m: {"const": m}}} for n in "abcdef"]}
                        for m in "uvw"
                    ]
                }
            },
            "$.properties.deep.additionalProperties",
        ),
    ],
)
def test_a_limit_names_the_part_that_was_worked_on(
    limits: Limits, schema: dict[str, Any], path: str
) -> None:
    whole = {"properties": {"fine": {"type": "string"}, "deep": schema}}
    with pytest.raises(SchemaLimit) as caught:
        compile_schema(whole, limits=limits)
    assert caught.value.path == path


def test_what_cannot_be_kept_is_named_before_a_limit() -> None:
    branches = {"anyOf": [{"required": [n, n + n]} for n in "abcdef"]}
    schema = {"properties": {"a": {"$ref": "https://example.com/a"}, "b": branches}}
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema, limits=Limits(branches=4))
    assert caught.value.path == "$.properties.a.$ref"
    with pytest.raises(SchemaLimit):
        compile_schema(branches, limits=Limits(branches=4))


def test_what_cannot_be_kept_is_named_before_what_never_ends() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"not": {"multipleOf": 1000003}}, "b": {"$ref": "#"}},
        "required": ["a", "b"],
    }
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema)
    assert caught.value.path == "$.properties.a.not.multipleOf"


def test_many_positions_are_not_looked_for_without_end() -> None:
    branches = [{"properties": {"n": UNIQUE, "k": {"const": i}}} for i in range(150)]
    schema = {"properties": {f"p{i}": {"anyOf": branches} for i in range(40)}}
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema, limits=Limits(branches=1_000))
    assert caught.value.keyword == "uniqueItems"


def test_a_reference_that_is_first_followed_for_a_refusal() -> None:
    """Following it reads a subschema, and so adds to the positions."""
    schema = {
        "prefixItems": [
            {"prefixItems": [{"type": "array", "contains": False}, {"$ref": "#/$defs/y"}]}
        ],
        "oneOf": [{}, {"items": {"uniqueItems": True}}],
        "$defs": {"y": {"unevaluatedProperties": {}}},
    }
    with pytest.raises(UnsupportedSchema):
        compile_schema(schema, root=Root.ANY)
