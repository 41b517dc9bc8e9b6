"""Properties that are counted, against `jsonschema`; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import compile_schema
from tests.schema_judge import accepts, agrees, compiled

_values = st.sampled_from([True, {"type": "integer"}, {"type": "string"}, False])
_names = st.sampled_from(["a", "b", "c"])
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
        "not": st.sampled_from(
            [
                {"required": ["a", "b"]},
                {"properties": {"a": {"type": "integer"}}},
                {"maxProperties": 1},
            ]
        ),
    },
)


@given(
    _objects,
    st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "c", "x", "z"]), st.sampled_from([1, "s"])),
        min_size=8,
        max_size=14,
    ),
)
def test_properties_that_are_counted(
    schema: dict[str, Any], instances: list[dict[str, Any]]
) -> None:
    agrees({"type": "object", **schema}, instances)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"minProperties": 1}, [{"x": 1}, {"x": 1, "y": 1}], [{}]),
        ({"maxProperties": 1}, [{}, {"x": 1}], [{"x": 1, "y": 1}]),
        (
            {"properties": {"a": {}, "b": {}}, "minProperties": 2, "additionalProperties": False},
            [{"b": 1, "a": 1}],
            [{}, {"a": 1}],
        ),
        (
            {"properties": {"a": {}, "b": {}}, "required": ["a"], "minProperties": 2},
            [{"a": 1, "b": 1}, {"a": 1, "x": 1}],
            [{"a": 1}, {"x": 1, "y": 1}],
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "maxProperties": 1},
            [{"a": 1}, {"b": 1}],
            [{}, {"x": 1}, {"a": 1, "b": 1}],
        ),
        # A declared name that is the witness of a negation is required, and of the value asked for.
        (
            {
                "properties": {"b": {}, "a": {"type": "integer"}},
                "additionalProperties": False,
                "not": {"properties": {"b": {}}, "additionalProperties": {"const": 1}},
            },
            [{"a": 2}, {"b": 1, "a": 3}],
            [{}, {"a": 1}, {"b": 2}, {"a": "x"}],
        ),
        (
            {
                "properties": {"a": {"type": "integer"}, "b": {}, "c": {}},
                "additionalProperties": False,
                "not": {"properties": {"b": {}, "c": {}}, "additionalProperties": {"const": 1}},
            },
            [{"a": 2}, {"b": 1, "a": 3}, {"c": 1, "a": 3, "b": 1}],
            [{}, {"a": 1}, {"b": 2}, {"b": 1, "c": 1}],
        ),
        # Where there is room for one property, that one is the witness.
        (
            {"maxProperties": 1, "not": {"additionalProperties": {"type": "string"}}},
            [{"x": 1}, {"y": None}],
            [{}, {"x": "s"}, {"x": 1, "y": 1}],
        ),
        (
            {
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "maxProperties": 2,
                "not": {"additionalProperties": {"type": "string"}},
            },
            [{"a": "s", "x": 1}, {"x": 1, "a": "s"}],
            [{"a": "s"}, {"a": "s", "x": "s"}, {"x": 1}],
        ),
        # The names of a pattern that has few are declared.
        (
            {
                "patternProperties": {"^(a|b)$": {}},
                "additionalProperties": False,
                "minProperties": 2,
            },
            [{"a": 1, "b": 1}],
            [{"a": 1}, {"c": 1}],
        ),
        # One of them that is declared keeps what it is declared as.
        (
            {
                "properties": {"a": {"type": "integer"}},
                "patternProperties": {"^(a|b)$": {}},
                "additionalProperties": False,
                "minProperties": 1,
            },
            [{"a": 1}, {"b": "x"}, {"b": "x", "a": 1}],
            [{}, {"a": "x"}, {"c": 1}],
        ),
    ],
)
def test_counts_by_hand(
    schema: dict[str, Any], valid: list[dict[str, int]], invalid: list[dict[str, Any]]
) -> None:
    grammar = compiled({"type": "object", **schema})
    for value in valid:
        assert accepts(grammar, json.dumps(value)), value
    for value in invalid:
        assert not accepts(grammar, json.dumps(value)), value


def test_more_properties_than_there_are() -> None:
    with pytest.raises(UnsatisfiableSchema):
        compiled(
            {
                "type": "object",
                "properties": {"a": {}},
                "additionalProperties": False,
                "minProperties": 2,
            }
        )


def test_what_is_refused_is_named_with_its_place() -> None:
    few = {"propertyNames": {"maxLength": 5}, "minProperties": 30}
    with pytest.raises(UnsupportedSchema) as caught:
        compiled({"properties": {"o": {"type": "object", **few}}, "type": "object"})
    (problem,) = caught.value.problems
    assert (problem.path, problem.keyword) == ("$.properties.o.minProperties", "minProperties")


def test_undeclared_names_are_counted_where_a_pattern_alone_allows_them() -> None:
    patterned = {"patternProperties": {"^x": {}}, "additionalProperties": False}
    grammar = compiled({"type": "object", **patterned, "minProperties": 2})
    assert accepts(grammar, '{"x1": 1, "x2": 1}')
    for text in ("{}", '{"x1": 1}', '{"x1": 1, "x1": 2}', '{"x1": 1, "y": 2}'):
        assert not accepts(grammar, text)
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
def test_names_are_kept_distinct_only_where_a_second_value_could_undo_the_first(
    negated: dict[str, Any], distinct: bool
) -> None:
    grammar = compile_schema({"type": "object", "not": negated})
    (shape,) = grammar.definitions[grammar.root].objects
    assert shape.witnesses
    assert shape.distinct_names == distinct
