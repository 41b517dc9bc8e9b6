"""What a schema leaves unevaluated, against `jsonschema`, whatever decides it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsupportedSchema
from enforcer.schema import compile_schema
from tests.schema_judge import accepts, agrees, compiled
from tests.support.nested import nested
from tests.support.schema_cases import schema_test

_values = st.sampled_from([{"type": "integer"}, {"type": "string"}, True])
_names = st.sampled_from(["a", "b", "ab"])


def _applicators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    listed = st.lists(inner, min_size=1, max_size=2)
    optional: Any = dict.fromkeys(("allOf", "anyOf", "oneOf"), listed)
    optional |= dict.fromkeys(("if", "then", "else"), inner)
    optional["dependentSchemas"] = st.dictionaries(_names, inner, max_size=1)
    return st.fixed_dictionaries({}, optional=optional)


_object_leaves = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(_names, _values, min_size=1, max_size=2),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), _values, max_size=2),
        "required": st.lists(_names, max_size=1),
    },
)
_array_leaves = st.fixed_dictionaries(
    {},
    optional={
        "prefixItems": st.lists(_values, min_size=1, max_size=2),
        "contains": _values,
        "minItems": st.integers(0, 2),
    },
)


def _nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.builds(dict.__or__, leaves, _applicators(inner)), max_leaves=4
    )


_left_over = st.sampled_from([False, {"type": "string"}])
_properties = st.dictionaries(st.sampled_from(["a", "b", "ab", "c"]), st.sampled_from([1, "x"]))
_elements = st.lists(st.sampled_from([1, "x"]), max_size=3)


@given(_nested(_object_leaves), _left_over, st.lists(_properties, min_size=6, max_size=12))
def test_properties_left_over(schema: Any, left_over: Any, instances: list[Any]) -> None:
    agrees({"type": "object", **schema, "unevaluatedProperties": left_over}, instances)


@given(_nested(_array_leaves), _left_over, st.lists(_elements, min_size=6, max_size=12))
def test_elements_left_over(schema: Any, left_over: Any, instances: list[Any]) -> None:
    agrees({"type": "array", **schema, "unevaluatedItems": left_over}, instances)


test_schemas = schema_test(__file__)


WITHIN = pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: {"allOf": [inner]},
        lambda inner: {"anyOf": [inner]},
        lambda inner: {"if": inner},
        lambda inner: {"if": True, "then": inner},
        lambda inner: {"if": False, "else": inner},
        lambda inner: {"dependentSchemas": {"a": inner}},
    ],
    ids=["allOf", "anyOf", "if", "then", "else", "dependentSchemas"],
)


def closed(wrap: Callable[[Any], dict[str, Any]], times: int) -> dict[str, Any]:
    """Give an object whose one property is declared so deep within others."""
    schema = nested(times, wrap, {"properties": {"a": {}}})
    return {"type": "object", **schema, "unevaluatedProperties": False}


@WITHIN
def test_branches_count_however_deep_within_others(wrap: Callable[[Any], dict[str, Any]]) -> None:
    grammar = compiled(closed(wrap, 20))
    assert accepts(grammar, '{"a": 1}')
    assert not accepts(grammar, '{"a": 1, "b": 1}')


@WITHIN
def test_deeper_ones_are_refused(wrap: Callable[[Any], dict[str, Any]]) -> None:
    with pytest.raises(UnsupportedSchema, match="too many branches") as caught:
        compile_schema(closed(wrap, 25))
    assert caught.value.keyword == "unevaluatedProperties"


def test_references_are_followed_as_deep() -> None:
    chain: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(20)}
    chain["d20"] = {"properties": {"a": {}}}
    grammar = compiled({"$ref": "#/$defs/d0", "$defs": chain, "unevaluatedProperties": False})
    assert accepts(grammar, '{"a": 1}')
    assert not accepts(grammar, '{"a": 1, "b": 1}')
