"""Alternatives that overlap: few remain, and they are what the keywords say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema import compile_schema
from tests.schema_judge import accepts, compiled, is_valid
from tests.support.schema_cases import schema_test

KINDS = [f"kind{i}" for i in range(12)]
# `kind` may be left out, and then every branch is about the other property alone.
BRANCHES = [
    {"properties": {"kind": {"enum": [kind]}, "value": {"type": "integer", "minimum": 3 * i}}}
    for i, kind in enumerate(KINDS)
]
ONE_OF = {"type": "object", "required": ["kind"], "oneOf": BRANCHES}
IFS = [{"properties": {"kind": {"const": kind}}} for kind in KINDS]
THENS = [{"properties": {"value": {"enum": [kind, 0]}}} for kind in KINDS]
CONDITIONS = {
    "type": "object",
    "allOf": [{"if": one, "then": other} for one, other in zip(IFS, THENS, strict=True)],
}
SHAPES: dict[str, Any] = {
    "point": {"type": "array", "items": {"type": "number"}, "minItems": 2},
    "line": {"type": "array", "items": {"type": "array", "minItems": 2}},
    "set": {"type": "array", "items": {"type": "array"}, "maxItems": 2},
}
KINDS_OF_ARRAYS = {
    "type": "object",
    "oneOf": [
        *({"required": ["type", "at"], "properties": {"type": {"const": name}, "at": shape}}
          for name, shape in SHAPES.items()),
        {"required": ["type", "members"], "properties": {"type": {"type": "string"}}},
    ],
}  # fmt: skip
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


test_schemas = schema_test(__file__)


def test_an_element_of_each_is_a_matter_of_the_length_where_all_are() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "contains": {"type": "number"}}
    grammar = compile_schema({**schema, "minContains": 2, "maxContains": 3})
    (array,) = grammar.definitions[grammar.root].arrays
    assert (array.minimum, array.maximum, array.contains) == (2, 3, ())
