"""Where in its schema a value comes from, and that no offender stands for another."""

from typing import Any

import pytest

from enforcer.errors import UnsupportedSchema
from enforcer.schema import Limits, Root, compile_schema, trace_schema
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test

UNIQUE = {
    "type": "array",
    "items": {"type": "integer"},
    "uniqueItems": True,
    "contains": {"const": 1},
}
DRAFT7 = "http://json-schema.org/draft-07/schema#"
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


@each_case
def test_a_part_that_applies_beside_is_a_source(part: dict[str, Any], path: str) -> None:
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"], **part}
    assert sources(schema, "n") == ("$.properties.n", path)


def test_a_reference_of_an_old_draft_hides_its_neighbours() -> None:
    schema = {
        "$schema": DRAFT7,
        "definitions": {"u": {"type": "null"}},
        "properties": {"u": {"$ref": "#/definitions/u", "allOf": [{"type": "null"}]}},
    }
    assert sources(schema, "u") == ("$.properties.u", "$.definitions.u")


def test_all_branches_apply_of_which_a_value_comes_from_some() -> None:
    _, provenance = trace_schema({"anyOf": [{"type": "string"}, False], "not": {"const": 1}})
    assert {place.path for place in provenance.root.applying} == {
        *("$", "$.anyOf[0]", "$.anyOf[1]", "$.not"),
    }


@each_case
def test_positions_of_every_kind(schema: dict[str, Any], keys: list[int | str], path: str) -> None:
    assert sources(schema, *keys) == (path,)


def test_tracing_changes_nothing_of_the_grammar() -> None:
    traced, _ = trace_schema(BRANCHES)
    plain = compile_schema(BRANCHES)
    assert (traced.definitions, traced.root) == (plain.definitions, plain.root)


test_schemas = schema_test(__file__)


def test_what_cannot_be_kept_is_named_before_a_limit() -> None:
    branches = {"anyOf": [{"required": [n, n + n]} for n in "abcdef"]}
    schema = {"properties": {"a": {"$ref": "https://example.com/a"}, "b": branches}}
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema, limits=Limits(branches=4))
    assert caught.value.path == "$.properties.a.$ref"


def test_of_offenders_that_are_one_object_each_is_named() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema({"properties": dict.fromkeys("abc", UNIQUE)})
    paths = [f"$.properties.{name}.uniqueItems" for name in "abc"]
    assert [problem.path for problem in caught.value.problems] == paths


def test_many_positions_are_not_looked_for_without_end() -> None:
    branches = [{"properties": {"n": UNIQUE, "k": {"const": i}}} for i in range(150)]
    schema = {"properties": {f"p{i}": {"anyOf": branches} for i in range(40)}}
    with pytest.raises(UnsupportedSchema) as caught:
        compile_schema(schema, limits=Limits(branches=1_000))
    assert caught.value.keyword == "uniqueItems"
