"""Values of a grammar come out of JSON as they went in."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest

from enforcer.engines.distinct.grammar_as_json import read, written
from enforcer.engines.distinct.shapes import ElementShapes
from enforcer.errors import UnsupportedSchema
from enforcer.schema import compile_schema
from enforcer.schema.finishing.distinct import reached
from tests.schema_judge import compiled

CLOSED = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [None, True, 1.5, "a"]},
        {"type": "number", "exclusiveMinimum": 0.1, "maximum": 7, "multipleOf": 0.1},
        {"type": "number", "not": {"multipleOf": 3}},
        {"type": "string", "pattern": "^[a-c]+$"},
        {"type": "array", "prefixItems": [{"const": 1}], "minItems": 1, "maxItems": 3},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {**CLOSED, "properties": {"a": {"const": 1}, "b": {}}, "required": ["a"]},
        {**CLOSED, "patternProperties": {"^x": {"type": "null"}}, "minProperties": 1},
        {**CLOSED, "properties": {"a": {}, "b": {}}, "anyOf": [{"required": [x]} for x in "ab"]},
    ],
)
def test_values_are_the_same_on_the_other_side(schema: dict[str, Any]) -> None:
    grammar = compile_schema({"type": "object", "properties": {"x": schema}, "required": ["x"]})
    numbers = list(dict.fromkeys(reached(grammar.definitions, grammar.root)))
    definitions, bare = read(json.loads(json.dumps(written(grammar.definitions, numbers))))
    assert definitions == {each: grammar.definitions[each] for each in numbers}
    assert bare.keys() == definitions.keys()


def test_what_stands_without_quotes_is_read_by_an_automaton() -> None:
    schema = {"type": "object", "properties": {"x": {"enum": [None, 12]}}, "required": ["x"]}
    grammar = compile_schema(schema)
    ((_, number),) = grammar.definitions[grammar.root].objects[0].names
    shapes = ElementShapes(*read(json.loads(json.dumps(written(grammar.definitions, [number])))))
    texts = ("null", "12", "1.2e1", "nul", "1", "13", '"12"')
    assert [
        text for text in texts if reduce(shapes.behind, text, shapes.bare[number]).nullable
    ] == ["null", "12", "1.2e1"]


def test_an_automaton_that_several_values_share_travels_once() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "string", "minLength": i} for i, name in enumerate("abc")},
    }
    grammar = compile_schema(schema)
    values, tables = written(grammar.definitions, reached(grammar.definitions, grammar.root))
    assert len(values) > len(tables) == len({str(table) for table in tables})


@pytest.mark.parametrize(
    "element",
    [
        {"type": "array", "contains": {"type": "string"}, "minContains": 2},
        {"type": "object", "not": {"propertyNames": {"pattern": "^a"}}},
        {"type": "object", "not": {"additionalProperties": {"type": "string"}}},
    ],
)
def test_what_has_no_form_here_is_refused_before(element: dict[str, Any]) -> None:
    """Counts and witnesses within elements, which are not kept distinct."""
    unique = {"type": "array", "uniqueItems": True, "items": element}
    with pytest.raises(UnsupportedSchema):
        compiled({"type": "object", "properties": {"x": unique}, "required": ["x"]})
