"""Properties that are counted, against `jsonschema`; and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema import compile_schema
from tests.schema_judge import accepts, agrees, compiled
from tests.support.schema_cases import schema_test

_values = st.sampled_from([True, {"type": "integer"}, {"type": "string"}, False])
_names = st.sampled_from(["a", "b", "c"])
_negated = st.sampled_from(
    [{"required": ["a", "b"]}, {"properties": {"a": {"type": "integer"}}}, {"maxProperties": 1}]
)
_instances = st.dictionaries(st.sampled_from("abcxz"), st.sampled_from([1, "s"]))
_objects = st.fixed_dictionaries(
    {"properties": st.dictionaries(_names, _values, min_size=1, max_size=3)},
    optional={
        "additionalProperties": _values,
        "patternProperties": st.just({"^(x|y)$": {"type": "integer"}}),
        "required": st.lists(_names, max_size=2, unique=True),
        "minProperties": st.integers(0, 3),
        "maxProperties": st.integers(0, 3),
        "anyOf": st.just([{"required": ["a"]}, {"required": ["b"]}]),
        "dependentRequired": st.just({"a": ["b"]}),
        "not": _negated,
    },
)


@given(_objects, st.lists(_instances, min_size=8, max_size=14))
def test_properties_that_are_counted(schema: Any, instances: Any) -> None:
    agrees({"type": "object", **schema}, instances)


test_schemas = schema_test(__file__)


def test_undeclared_names_are_counted_where_a_pattern_alone_allows_them() -> None:
    patterned = {"patternProperties": {"^x": {}}, "additionalProperties": False}
    grammar = compiled({"type": "object", **patterned, "minProperties": 300})
    names = [f'"x{at}": 1' for at in range(300)]
    assert accepts(grammar, f"{{{', '.join(names)}}}")
    assert not accepts(grammar, f"{{{', '.join(names[1:])}}}")
    assert not accepts(grammar, f"{{{', '.join([*names[1:], names[1]])}}}")


@pytest.mark.parametrize(
    ("negated", "distinct"),
    [
        ({"propertyNames": {"pattern": "^a"}}, False),  # whatever the value, the name stays there
        ({"additionalProperties": {"type": "string"}}, True),  # a later one might be a string
    ],
)
def test_names_are_distinct_only_where_it_matters(negated: dict[str, Any], distinct: bool) -> None:
    grammar = compile_schema({"type": "object", "not": negated})
    (shape,) = grammar.definitions[grammar.root].objects
    assert shape.witnesses
    assert shape.distinct_names == distinct
