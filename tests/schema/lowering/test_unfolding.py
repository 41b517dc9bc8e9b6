import json
from typing import Any

import pytest

from enforcer.errors import SchemaLimit
from enforcer.schema import Limits, compile_schema
from enforcer.schema.grammar import Formula, Value
from enforcer.schema.lowering.unfolding import Unfolded, unfold
from enforcer.schema.lowering.values import Lowering
from tests.schema_judge import accepts, compiled
from tests.schema_reading import parser_of

TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                "left": {"$ref": "#/$defs/tree"},
                "name": {"type": "string"},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/tree",
}


def unfolded(
    schema: dict[str, Any], limits: Limits | None = None, seen: list[Any] | None = None
) -> Unfolded:
    limits = limits or Limits()
    parser = parser_of(schema, limits)

    def lower(formula: Formula) -> Value:
        if seen is not None:
            seen.append(formula)
        return lowering.lower(formula)

    def refuse(*problem: object) -> None:
        raise AssertionError(problem)

    lowering = Lowering(parser.algebra, limits, refuse)
    return unfold(parser.parse(parser.document.root), limits, lower)


def test_recursion_unfolds_no_further_than_its_values() -> None:
    found = unfolded(TREE)
    assert len(found.definitions) == 4  # the tree, its list, a string, and nothing at all
    assert found.root in found.definitions
    for value in found.definitions.values():
        assert all(child in found.definitions for child in value.children())


def test_equal_values_have_one_name() -> None:
    same = {"type": "object", "properties": {"x": {"type": "null"}}}
    other = {"properties": {"x": {"type": "null"}}, "type": ["object"]}
    found = unfolded({"properties": {"a": same, "b": {"allOf": [other]}}})
    named = dict(found.definitions[found.root].objects[0].names)
    assert named["a"] == named["b"]
    assert len(set(found.definitions.values())) == len(found.definitions)


def test_each_formula_is_settled_once() -> None:
    seen: list[Any] = []
    unfolded(TREE, seen=seen)
    assert len(seen) == len(set(seen)) >= 4


def test_definitions_are_bounded() -> None:
    schema = {"properties": {f"p{i}": {"const": i} for i in range(10)}}
    assert len(unfolded(schema, Limits(definitions=12)).definitions) == 12
    with pytest.raises(SchemaLimit, match="more than 11 distinct values"):
        unfolded(schema, Limits(definitions=11))


def test_a_tree_is_followed_as_deep_as_it_goes() -> None:
    grammar = compiled(TREE)
    value: dict[str, Any] = {"name": "a"}
    for _ in range(8):
        value = {"name": "b", "kids": [value, {"name": "c"}], "left": {"name": "d"}}
    assert accepts(grammar, json.dumps(value))
    value["kids"][0]["kids"][0]["kids"][0]["name"] = 3
    assert not accepts(grammar, json.dumps(value))
    assert compile_schema(TREE).definitions == compile_schema(dict(TREE)).definitions
