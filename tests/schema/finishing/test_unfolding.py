from __future__ import annotations

import json

import pytest
from schema_judge import accepts, compiled

from enforcer.errors import SchemaLimit
from enforcer.schema import Limits, compile_schema
from enforcer.schema.finishing.unfolding import children, unfold
from enforcer.schema.limits import OnUnsupported
from enforcer.schema.reading.document import SchemaDocument
from enforcer.schema.reading.parse import SchemaParser

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


def unfolded(schema, limits=None):
    limits = limits or Limits()
    parser = SchemaParser(SchemaDocument(schema, scoped=False), limits, OnUnsupported.REFUSE)
    return unfold(parser.algebra, parser.parse(parser.document.root), limits, lambda value: value)


def test_recursion_unfolds_no_further_than_its_values():
    definitions, root = unfolded(TREE)
    assert len(definitions) == 4  # the tree, its list, a string, and nothing at all
    assert root in definitions
    assert all(child in definitions for value in definitions.values() for child in children(value))


def test_equal_values_have_one_name():
    same = {"type": "object", "properties": {"x": {"type": "null"}}}
    other = {"properties": {"x": {"type": "null"}}, "type": ["object"]}
    definitions, root = unfolded({"properties": {"a": same, "b": {"allOf": [other]}}})
    named = dict(definitions[root].objects[0].names)
    assert named["a"] == named["b"]
    assert len(set(definitions.values())) == len(definitions)


def test_each_value_is_settled_once():
    parser = SchemaParser(SchemaDocument(TREE, scoped=False), Limits(), OnUnsupported.REFUSE)
    seen = []
    unfold(
        parser.algebra,
        parser.parse(parser.document.root),
        Limits(),
        lambda value: seen.append(value) or value,
    )
    assert len(seen) >= len(set(seen)) == 4


def test_definitions_are_bounded():
    schema = {"properties": {f"p{i}": {"const": i} for i in range(10)}}
    assert len(unfolded(schema, Limits(definitions=12))[0]) == 12
    with pytest.raises(SchemaLimit, match="more than 11 distinct values"):
        unfolded(schema, Limits(definitions=11))


def test_a_tree_is_followed_as_deep_as_it_goes():
    grammar = compiled(TREE)
    value = {"name": "a"}
    for _ in range(8):
        value = {"name": "b", "kids": [value, {"name": "c"}], "left": {"name": "d"}}
    assert accepts(grammar, json.dumps(value))
    value["kids"][0]["kids"][0]["kids"][0]["name"] = 3
    assert not accepts(grammar, json.dumps(value))
    assert compile_schema(TREE).key == compile_schema(dict(TREE)).key
