"""Elements that are counted or kept apart, against `jsonschema`; and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.schema import compile_schema
from tests.schema_judge import accepts, agrees, compiled
from tests.support.schema_cases import schema_test

_elements = st.sampled_from(
    [{"enum": [1, 2, "x"]}, {"type": "boolean"}, {"enum": [None, 1]}, {"const": 2}, False]
)
_lists = st.lists(
    st.lists(st.sampled_from([1, 2, "x", None, True]), max_size=4), min_size=8, max_size=14
)


@given(
    st.fixed_dictionaries(
        {"items": _elements, "uniqueItems": st.just(True)},
        optional={
            "prefixItems": st.lists(_elements, min_size=1, max_size=3),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 4),
        },
    ),
    _lists,
)
def test_unique_elements_of_finite_domains(schema: Any, instances: Any) -> None:
    agrees({"type": "array", **schema}, instances)


@given(
    st.fixed_dictionaries(
        {"contains": _elements},
        optional={
            "minContains": st.integers(0, 3),
            "maxContains": st.integers(0, 3),
            "prefixItems": st.lists(_elements, min_size=1, max_size=2),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 4),
            "allOf": st.just([{"contains": {"const": 1}, "maxContains": 1}]),
            "not": st.just({"contains": {"const": "x"}}),
        },
    ),
    _lists,
)
def test_elements_that_are_counted(schema: Any, instances: Any) -> None:
    agrees({"type": "array", **schema}, instances)


test_schemas = schema_test(__file__)


def test_one_element_is_distinct_by_itself() -> None:
    short = {"type": "array", "maxItems": 1}
    for schema in (
        {**short, "uniqueItems": True},
        {**short, "uniqueItems": True, "items": {"enum": ["a", "b"]}},
        {**short, "uniqueItems": True, "contains": {"type": "string"}},
        {**short, "contains": {"type": "string"}},
    ):
        found = compile_schema(schema)
        assert not any(shape.unique for shape in found.definitions[found.root].arrays)
        assert accepts(compiled(schema), '["a"]')
        assert not accepts(compiled(schema), '["a", "b"]')


def test_many_strings_are_counted_where_more_have_to_be_distinct() -> None:
    words = [f"w{n}" for n in range(70)]
    schema = {"type": "array", "uniqueItems": True, "minItems": 70, "items": {"enum": words}}
    assert accepts(compiled(schema), json.dumps(words))
    with pytest.raises(UnsupportedSchema, match="as many distinct elements"):
        compiled({**schema, "minItems": 71})
    # Of other elements there may be any number.
    mixed = {**schema, "minItems": 71, "items": {"anyOf": [{"enum": words}, {"type": "integer"}]}}
    assert accepts(compiled(mixed), json.dumps([*words, 1]))
