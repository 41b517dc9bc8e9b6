"""The part that a schema nothing fits is refused for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from enforcer.errors import InvalidSchema, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import Root, compile_schema

if TYPE_CHECKING:
    from enforcer.errors import Problem


NONE = {"type": "integer", "minimum": 5, "maximum": 3}


def problem(schema: Any, root: Root = Root.ANY) -> Problem:
    with pytest.raises(UnsatisfiableSchema) as raised:
        compile_schema(schema, root=root)
    (found,) = raised.value.problems
    return found


def holding(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": value}, "required": ["a"], **more}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (NONE, "$"),
        (False, "$"),
        (holding(False), "$.properties.a"),
        (holding(NONE), "$.properties.a"),
        (holding(holding(NONE)), "$.properties.a.properties.a"),
        ({"allOf": [{"type": "integer"}, NONE]}, "$.allOf[1]"),
        ({"allOf": [{"type": "integer"}, {"type": "string"}]}, "$"),
        ({"anyOf": [holding(NONE)]}, "$.anyOf[0].properties.a"),
        ({"anyOf": [NONE, {**NONE, "type": "number"}]}, "$.anyOf"),
        ({"oneOf": [NONE, False]}, "$.oneOf"),
        ({"type": "array", "items": NONE, "minItems": 1}, "$.items"),
        ({"type": "array", "items": NONE, "minItems": 2.0}, "$.items"),
        ({"type": "array", "items": [{}, NONE], "minItems": 2}, "$.items[1]"),
        ({"type": "array", "prefixItems": [{}, NONE], "minItems": 2}, "$.prefixItems[1]"),
        ({"type": "array", "contains": NONE}, "$.contains"),
        # What need not be there is not to blame.
        ({"contains": NONE, "minContains": 0, "allOf": [{"type": "array"}, False]}, "$.allOf[1]"),
        (
            {"type": "array", "contains": NONE, "minContains": 0, "minItems": 2, "maxItems": 1},
            "$",
        ),
        (
            {"type": "array", "prefixItems": [{}, {}], "items": NONE, "minItems": 2, "maxItems": 1},
            "$",
        ),
        ({"type": "array", "prefixItems": [{}], "items": NONE, "minItems": 2}, "$.items"),
        ({"type": "integer", "anyOf": [NONE, {"type": "string"}]}, "$"),
        ({"oneOf": [holding(NONE)]}, "$.oneOf[0].properties.a"),
        ({"allOf": [{"required": ["a"]}, {"properties": {"b": NONE}}, NONE]}, "$.allOf[2]"),
        (holding({"$ref": "#/$defs/N"}, **{"$defs": {"N": NONE}}), "$.$defs.N"),
        (
            holding(
                {"$ref": "#/$defs/N", "minLength": 2},
                **{"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"N": NONE}},
            ),
            "$.$defs.N",
        ),
        (
            holding(
                {"$ref": "#/$defs/N", "type": "object"},
                **{"$defs": {"N": {"type": "string"}}},
            ),
            "$.properties.a",
        ),
    ],
)
def test_the_innermost_part_is_named(schema: Any, path: str) -> None:
    found = problem(schema)
    assert found.path == path
    assert "fits" in found.reason


def test_a_required_name_that_a_closed_object_lacks_is_named() -> None:
    closed = {"properties": {"a": {}}, "additionalProperties": False, "required": ["a", "b"]}
    found = problem(holding({"type": "object", **closed}))
    assert (found.path, found.keyword) == ("$.properties.a.required", "required")
    assert "'b' is required" in found.reason


def test_a_name_that_a_pattern_declares_is_not_called_undeclared() -> None:
    closed = {"patternProperties": {"^b": False}, "additionalProperties": False}
    found = problem({"type": "object", "required": ["b"], **closed})
    assert (found.path, found.keyword) == ("$", "")
    assert "`type` and `required` rule out" in found.reason  # without either, others would fit


def test_three_keywords_are_listed_with_commas() -> None:
    found = problem({"type": "integer", "minimum": 3, "exclusiveMaximum": 4, "not": {"const": 3}})
    assert "`minimum`, `exclusiveMaximum` and `not` rule out" in found.reason


def test_the_keywords_that_rule_out_one_anothers_values_are_named() -> None:
    branches = [{"required": ["radius"]}, {"required": ["length", "width"]}]
    found = problem(
        holding({"type": "object", "oneOf": branches, "required": ["radius", "length", "width"]})
    )
    assert found.path == "$.properties.a"
    assert "`oneOf` and `required` rule out one another's" in found.reason
    assert ": `not` rules out every value" in problem({"not": {}, "title": "none"}).reason


def test_recursion_without_an_end_is_called_so() -> None:
    nodes = [{"$ref": "#/$defs/Node"} for _ in range(2)]
    node = {"allOf": [{"type": "object"}, holding(nodes[1])]}
    found = problem(holding(nodes[0], **{"$defs": {"Node": node}}))
    assert found.path == "$.$defs.Node"
    assert "without an end" in found.reason


def test_the_parts_of_an_all_of_that_close_the_object_are_suspected() -> None:
    parts = [
        {"type": "object", "properties": {name: {}}, "required": [name]} for name in ("a", "b")
    ]
    closed = [{**part, "additionalProperties": False} for part in parts]
    assert "`additionalProperties: false` in one part" in problem({"allOf": closed}).reason
    compile_schema({"allOf": parts, "unevaluatedProperties": False})


def test_arguments_that_cannot_be_an_object_are_called_so() -> None:
    assert "are a JSON object" in problem({"type": "string"}, Root.OBJECT).reason
    # A string fits this, but what is wrong with objects is what the author has to know.
    untyped = {"properties": {"a": NONE}, "required": ["a"]}
    assert problem(untyped, Root.OBJECT).path == "$.properties.a"


@pytest.mark.parametrize(
    "holder",
    [
        {"$ref": "#/$defs/T"},
        {"not": {"$ref": "#/$defs/T"}},
        {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/T"}]},
    ],
)
def test_references_that_lead_back_to_themselves_are_named(holder: dict[str, Any]) -> None:
    loop = {"T": {"allOf": [{"$ref": "#/$defs/U"}]}, "U": {"anyOf": [{"$ref": "#/$defs/T"}]}}
    with pytest.raises(UnsupportedSchema) as raised:
        compile_schema(holding(holder, **{"$defs": loop}))
    (found,) = raised.value.problems
    assert found.path in {"$.$defs.T", "$.$defs.U"}
    assert "lead back to themselves" in found.reason


def test_a_part_without_a_meaning_is_not_blamed_for_another() -> None:
    loop = {"T": {"allOf": [{"$ref": "#/$defs/U"}]}, "U": {"anyOf": [{"$ref": "#/$defs/T"}]}}
    found = problem({"allOf": [{"$ref": "#/$defs/T"}, False], "$defs": loop})
    assert found.path == "$.allOf[1]"


def test_a_list_of_no_types_is_no_schema() -> None:
    with pytest.raises(InvalidSchema, match="must name a type"):
        compile_schema(holding({"type": []}))
