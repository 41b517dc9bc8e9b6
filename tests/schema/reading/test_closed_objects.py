from __future__ import annotations

import json
from functools import partial
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidSchema, UnsatisfiableSchema
from enforcer.schema import Conventions
from tests.schema_judge import accepts, compiled, is_valid

CLOSED = Conventions(closed_objects=True)
A = {"type": "object", "properties": {"a": {"type": "integer"}}}
B = {"type": "object", "properties": {"b": {"type": "integer"}}}


def fits(schema: dict[str, Any], value: Any) -> bool:
    return accepts(compiled(schema, conventions=CLOSED), json.dumps(value))


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (A, [{}, {"a": 1}], [{"b": 1}]),
        ({"type": "object", "properties": {}}, [{}], [{"b": 1}]),
        ({"type": "object"}, [{"b": 1}], []),
        ({**A, "additionalProperties": True}, [{"b": 1}], []),
        ({**A, "required": ["b"]}, [{"b": 1}, {"a": 1, "b": []}], [{}, {"b": 1, "c": 1}]),
        ({**A, "unevaluatedProperties": {"type": "null"}}, [{"b": None}], [{"b": 1}]),
        ({**A, "patternProperties": {"^x": {}}}, [{"x1": 1}], [{"b": 1}]),
        ({"items": A}, [[{"a": 1}]], [[{"b": 1}]]),
        ({"prefixItems": [A], "items": B}, [[{"a": 1}, {"b": 1}]], [[{"b": 1}], [{}, {"a": 1}]]),
        ({"additionalProperties": A}, [{"x": {"a": 1}}], [{"x": {"b": 1}}]),
        ({"allOf": [A, B]}, [{"a": 1, "b": 1}], [{"c": 1}]),
        ({"allOf": [A], "title": "t"}, [{"a": 1}], [{"b": 1}]),
        ({"allOf": [A, {"additionalProperties": True}]}, [{"a": 1}, {"c": 1}], []),
        ({**A, "anyOf": [{"required": ["a"]}, {"minProperties": 0}]}, [{"a": 1}], [{"c": 1}]),
        ({"anyOf": [A, B]}, [{"a": 1}, {"b": 1}], [{"a": 1, "b": 1}]),
        ({"anyOf": [A, {"type": "object"}]}, [{"a": 1}, {"c": 1}], []),
        ({"allOf": [{"anyOf": [A, B]}, {"title": "t"}]}, [{"a": 1}, {"b": 1}], [{"c": 1}]),
        ({"anyOf": [{"allOf": [A, B]}, {"type": "null"}]}, [{"a": 1, "b": 1}], [{"c": 1}]),
        ({"anyOf": [{"oneOf": [A]}, {"type": "null"}], "title": "t"}, [{"a": 1}], [{"c": 1}]),
        ({**A, "anyOf": [B, {"type": "null"}]}, [{"a": 1, "b": 1}], [{"c": 1}]),
        ({"$ref": "#/$defs/a", "$defs": {"a": A}}, [{"a": 1}], [{"b": 1}]),
        ({"$ref": "#/$defs/a", **B, "$defs": {"a": A}}, [{"a": 1, "b": 1}], [{"c": 1}]),
        (
            {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": B, "else": A},
            [{"a": 1, "b": 1}, {"a": 2}],
            [{"a": 2, "b": 1}, {"c": 1}],
        ),
        ({"not": {**A, "required": ["a"]}}, [{"a": "x"}], [{"a": 1, "b": 1}]),
        ({"contains": A}, [[{"b": 1}]], [[{"a": "x"}]]),
        ({**A, "dependentSchemas": {"a": B}}, [{"a": 1, "b": 2}], [{"b": 2}]),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"a": A},
                "properties": {"x": {"$ref": "#/definitions/a", "properties": {"hidden": {}}}},
            },
            [{"x": {"a": 1}}],
            [{"x": {"hidden": 1}}],
        ),
    ],
)
def test_objects_that_declare_properties_are_closed_as_a_whole(
    schema: dict[str, Any], valid: list[Any], invalid: list[Any]
) -> None:
    for value in valid:
        assert fits(schema, value), value
    for value in invalid:
        assert not fits(schema, value), value


def test_recursion_is_closed_at_every_level() -> None:
    schema: dict[str, Any] = {
        "$defs": {"t": {"properties": {"s": {"items": {"$ref": "#/$defs/t"}}}}}
    }
    schema["$ref"] = "#/$defs/t"
    assert fits(schema, {"s": [{"s": []}]})
    assert not fits(schema, {"s": [{"z": []}]})


def test_what_one_of_counts_is_not_closed() -> None:
    # Without `required` every object without wrong values fits both, whatever is closed.
    with pytest.raises(UnsatisfiableSchema):
        compiled({"type": "object", "oneOf": [{**A}, {"properties": {"a": {}, "b": {}}}, True]})
    schema = {"oneOf": [{**A, "required": ["a"]}, {**B, "required": ["b"]}]}
    assert fits(schema, {"a": 1})
    assert not fits(schema, {"a": 1, "b": 1})
    assert not fits(schema, {"a": 1, "c": 1})


def test_branches_that_combine_in_too_many_ways_leave_the_names_of_all() -> None:
    branches = [{"properties": {f"p{i}": {}}, "required": [f"p{i}"]} for i in range(12)]
    schema = {**A, "allOf": [{"anyOf": [{}, each]} for each in branches]}
    assert fits(schema, {"a": 1, "p3": 2, "p11": 3})
    assert not fits(schema, {"a": 1, "q": 2})


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": 5},
        {"properties": [], "unevaluatedProperties": False},
        {"allOf": [{"properties": 5}, A]},
        {**A, "patternProperties": 7},
        {**A, "dependentSchemas": 7},
        {**A, "allOf": [{"properties": {"b": 3}}]},
        {"$ref": 5, "allOf": [A]},
    ],
)
@pytest.mark.parametrize("conventions", [CLOSED, Conventions()])
def test_what_is_no_schema_is_refused_as_such(
    schema: dict[str, Any], conventions: Conventions
) -> None:
    with pytest.raises(InvalidSchema):
        compiled(schema, conventions=conventions)


NAMES = st.sampled_from("abc")
LEAVES = st.sampled_from([{}, {"type": "integer"}, {"const": 1}, True])


def _under(keyword: str, value: Any) -> dict[str, Any]:
    return {keyword: value}


def parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(NAMES, inner, max_size=2).map(
        lambda p: {"type": "object", "properties": p}
    )
    return st.one_of(
        objects,
        st.tuples(objects, st.lists(NAMES, max_size=1, unique=True)).map(
            lambda x: {**x[0], "required": x[1]}
        ),
        *(
            st.lists(inner, min_size=1, max_size=2).map(partial(_under, keyword))
            for keyword in ("allOf", "anyOf", "oneOf")
        ),
        st.tuples(objects, st.lists(inner, min_size=1, max_size=2)).map(
            lambda x: {**x[0], "anyOf": x[1]}
        ),
        st.tuples(inner, inner).map(lambda x: {"if": x[0], "then": x[1]}),
        inner.map(lambda x: {"not": x}),
    )


VALUES = st.recursive(
    st.sampled_from([1, 2, None]), lambda v: st.dictionaries(st.sampled_from("abz"), v, max_size=3)
)


@given(st.recursive(LEAVES, parts, max_leaves=5), st.lists(VALUES, min_size=4, max_size=8))
def test_whatever_fits_closed_fits_as_written(schema: dict[str, Any], values: list[Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    try:
        grammar = compiled(schema, conventions=CLOSED)
    except UnsatisfiableSchema:
        return
    for value in values:
        if accepts(grammar, json.dumps(value)):
            assert is_valid(schema, value), value


@given(
    st.lists(st.dictionaries(NAMES, LEAVES, min_size=1, max_size=2), min_size=2, max_size=3), VALUES
)
def test_an_all_of_is_closed_as_by_unevaluated_properties(
    declared: list[dict[str, Any]], value: Any
) -> None:
    schema = {"allOf": [{"properties": each} for each in declared]}
    if len(declared) > 1:
        said = {**schema, "unevaluatedProperties": False}
        assert fits(schema, value) == is_valid(said, value)


@pytest.mark.parametrize("keyword", ["dependentSchemas", "dependencies"])
def test_what_a_property_brings_with_it_is_declared_too(keyword: str) -> None:
    draft = "https://json-schema.org/draft/2019-09/schema"
    if keyword == "dependencies":
        draft = "http://json-schema.org/draft-07/schema#"
    schema = {"$schema": draft, **A, keyword: {"a": {"properties": {"b": {"type": "integer"}}}}}
    assert fits(schema, {"a": 1, "b": 2})
    assert not fits(schema, {"a": 1, "b": "x"})
    assert not fits(schema, {"a": 1, "c": 2})
    # Nothing but what a property brings with it says which there are.
    alone = {"$schema": draft, keyword: {"a": {"properties": {"a": {}, "b": {}}}}}
    assert fits(alone, {"a": 1, "b": 2})
    assert not fits(alone, {"a": 1, "c": 2})
