import json
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsatisfiableSchema
from enforcer.schema import Conventions
from tests.schema_judge import accepts, compiled, is_valid
from tests.support.schema_cases import schema_test

CLOSED = Conventions(closed_objects=True)
A = {"type": "object", "properties": {"a": {"type": "integer"}}}


def fits(schema: dict[str, Any], value: Any) -> bool:
    return accepts(compiled(schema, conventions=CLOSED), json.dumps(value))


test_schemas = schema_test(__file__)


def test_branches_that_combine_in_too_many_ways_leave_the_names_of_all() -> None:
    branches = [{"properties": {f"p{i}": {}}, "required": [f"p{i}"]} for i in range(12)]
    schema = {**A, "allOf": [{"anyOf": [{}, each]} for each in branches]}
    assert fits(schema, {"a": 1, "p3": 2, "p11": 3})
    assert not fits(schema, {"a": 1, "q": 2})


NAMES = st.sampled_from("abc")
LEAVES = st.sampled_from([{}, {"type": "integer"}, {"const": 1}, True])


def parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.dictionaries(NAMES, inner, max_size=2)
    objects = st.fixed_dictionaries({"type": st.just("object"), "properties": names})
    required = st.fixed_dictionaries({"required": st.lists(NAMES, max_size=1, unique=True)})
    listed = st.lists(inner, min_size=1, max_size=2)
    combined = [st.fixed_dictionaries({key: listed}) for key in ("allOf", "anyOf", "oneOf")]
    return st.one_of(
        objects,
        st.builds(dict.__or__, objects, required),
        *combined,
        st.builds(dict.__or__, objects, combined[1]),
        st.fixed_dictionaries({"if": inner, "then": inner}),
        st.fixed_dictionaries({"not": inner}),
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
def test_an_all_of_is_closed_as_by_unevaluated_properties(declared: Any, value: Any) -> None:
    schema = {"allOf": [{"properties": each} for each in declared]}
    if len(declared) > 1:
        assert fits(schema, value) == is_valid({**schema, "unevaluatedProperties": False}, value)
