"""Alternatives that overlap: few remain, and they are what the keywords say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema import compile_schema
from tests.schema_judge import accepts, compiled, is_valid

KINDS = [f"kind{i}" for i in range(12)]
# `kind` may be left out, and then every branch is about the other property alone.
BRANCHES = [
    {"properties": {"kind": {"enum": [kind]}, "value": {"type": "integer", "minimum": 3 * i}}}
    for i, kind in enumerate(KINDS)
]
ONE_OF = {"type": "object", "required": ["kind"], "oneOf": BRANCHES}
CONDITIONS = {
    "type": "object",
    "allOf": [
        {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": {"value": {"enum": [kind, 0]}}},
        }
        for kind in KINDS
    ],
}
KINDS_OF_ARRAYS = {
    "type": "object",
    "oneOf": [
        {"required": ["type", "at"], "properties": {"type": {"const": name}, "at": shape}}
        for name, shape in (
            ("point", {"type": "array", "items": {"type": "number"}, "minItems": 2}),
            ("line", {"type": "array", "items": {"type": "array", "minItems": 2}}),
            ("set", {"type": "array", "items": {"type": "array"}, "maxItems": 2}),
        )
    ]
    + [{"required": ["type", "members"], "properties": {"type": {"type": "string"}}}],
}
VALUES = st.dictionaries(
    st.sampled_from(["kind", "value", "type", "at", "members", "other"]),
    st.one_of(
        st.sampled_from([*KINDS[:4], "point", "line", "set"]),
        st.integers(0, 30),
        st.lists(st.one_of(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=3)), max_size=3),
    ),
    max_size=4,
)


@pytest.mark.parametrize("schema", [ONE_OF, CONDITIONS, KINDS_OF_ARRAYS])
def test_they_exclude_one_another_by_their_kind(schema: dict[str, Any]) -> None:
    definitions = compile_schema(schema).definitions
    assert max(len(value.objects) for value in definitions.values()) <= 4 * len(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [ONE_OF, CONDITIONS, KINDS_OF_ARRAYS])
@given(value=VALUES)
def test_they_are_what_the_keywords_say(schema: dict[str, Any], value: dict[str, Any]) -> None:
    assert accepts(compiled(schema), json.dumps(value)) == is_valid(schema, value)


def test_what_readings_differ_on_is_in_no_single_branch() -> None:
    # An Arabic digit: Python's reading matches both branches, ECMA-262's the second only.
    branches = [{"type": "string", "pattern": p} for p in ("^\\d$", "^(\\u0662|x)")]
    grammar = compiled({"oneOf": branches})
    assert [accepts(grammar, text) for text in ('"7"', '"x"', '"٢"')] == [True, True, False]
    grammar = compiled({"type": "object", "oneOf": [{"properties": {"a": x}} for x in branches]})
    texts = ('{"a": "7"}', '{"a": "x"}', '{"a": "٢"}', "{}")
    assert [accepts(grammar, text) for text in texts] == [True, True, False, False]


def test_an_element_of_each_is_a_matter_of_the_length_where_all_are() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "contains": {"type": "number"}}
    grammar = compile_schema({**schema, "minContains": 2, "maxContains": 3})
    (array,) = grammar.definitions[grammar.root].arrays
    assert (array.minimum, array.maximum, array.contains) == (2, 3, ())


def test_a_single_property_can_be_demanded_by_its_name_and_value() -> None:
    schema = {
        "type": "object",
        "maxProperties": 2,
        "required": ["q"],
        "properties": {"z": {}},
        "not": {"patternProperties": {"^a": {"type": "string"}}},
    }
    grammar = compiled(schema)
    for value in ({}, {"q": 1}, {"q": 1, "ab": "x"}, {"q": 1, "ab": 2}, {"a": 1}, {"q": 1, "z": 1}):
        assert accepts(grammar, json.dumps(value)) == is_valid(schema, value)
    assert not accepts(grammar, '{"q": 1, "a": 1, "a": "x"}')


@pytest.mark.parametrize("name", ["", "kind"])
def test_a_value_that_tells_apart_may_be_of_any_name(name: str) -> None:
    grammar = compiled({"type": "object", "not": {"enum": [{"a": 0, name: 0}]}})
    for value in ({name: 1}, {"a": 0, name: 1}, {"a": 1, name: 0}, {"a": 0, name: 0, "b": 0}):
        assert accepts(grammar, json.dumps(value))
    assert not accepts(grammar, json.dumps({name: 0, "a": 0}))


def test_an_alternative_that_nothing_fits_is_none() -> None:
    three = {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}
    grammar = compiled({"anyOf": [{"type": "null"}, {**three, "maxItems": 3}]})
    assert accepts(grammar, "null")
    for text in ("[]", "[true]", "[true,false]", "[true,false,true]"):
        assert not accepts(grammar, text)
