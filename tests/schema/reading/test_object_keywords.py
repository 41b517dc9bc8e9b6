"""The keywords that restrict objects, against `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidSchema, SchemaLimit
from enforcer.schema import Limits
from enforcer.schema.grammar import Value
from tests.schema_judge import accepts, agrees, compiled
from tests.schema_reading import parser_of

_values = st.sampled_from([True, False, {"type": "integer"}, {"type": "string"}])
# Two that overlap, two that are alike, and one that holds a declared name.
_patterns = st.sampled_from(["^a", "b", "^a.", "^x", "^(c|d)$"])
_objects = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(st.sampled_from("ab"), _values, max_size=2),
        "patternProperties": st.dictionaries(_patterns, _values, max_size=3),
        "additionalProperties": _values,
        "propertyNames": st.sampled_from(
            [{"pattern": "^a"}, {"maxLength": 1}, {"enum": ["a", "ab"]}, {"type": "integer"}]
        ),
        "required": st.lists(st.sampled_from("ab"), max_size=1),
        "minProperties": st.integers(0, 1),
        "maxProperties": st.integers(0, 2),
    },
)
_names = st.sampled_from(["a", "b", "ab", "ba", "x", "c", "other"])


@given(
    _objects,
    st.lists(st.dictionaries(_names, st.sampled_from([1, "x"]), max_size=3), min_size=8),
)
def test_objects(schema: dict[str, Any], instances: list[dict[str, Any]]) -> None:
    agrees(schema, instances)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        # Declared names escape `additionalProperties`, and so do those of a pattern.
        (
            {
                "properties": {"b": {}},
                "patternProperties": {"^a": {}},
                "additionalProperties": False,
            },
            [{}, {"a": 1}, {"ax": 1, "b": 2}],
            [{"c": 1}, {"a": 1, "c": 1}],
        ),
        # A declared name has to fit its pattern as well.
        (
            {"properties": {"a": {}}, "patternProperties": {"^a": {"type": "integer"}}},
            [{"a": 1}, {"b": "x"}],
            [{"a": "x"}, {"ab": "x"}],
        ),
        # Where patterns overlap both hold.
        (
            {"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 2}}},
            [{"a": 1}, {"ab": 2}, {"b": 3}, {"b": "x"}],
            [{"ab": 1}, {"b": 1}, {"ab": "x"}],
        ),
        ({"propertyNames": False}, [{}], [{"a": 1}]),
        ({"propertyNames": {"type": "integer"}}, [{}], [{"a": 1}]),
        (
            {"propertyNames": {"pattern": "^a"}, "properties": {"b": {}}},
            [{}, {"ab": 1}],
            [{"b": 1}, {"c": 1}],
        ),
    ],
)
def test_names_by_hand(
    schema: dict[str, Any], valid: list[dict[str, Any]], invalid: list[dict[str, Any]]
) -> None:
    grammar = compiled({"type": "object", **schema})
    for value in valid:
        assert accepts(grammar, json.dumps(value)), value
    for value in invalid:
        assert not accepts(grammar, json.dumps(value)), value


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        *(("properties", []), ("required", "a"), ("required", [1]), ("patternProperties", [])),
        *(("minProperties", -1), ("maxProperties", "1")),
    ],
)
def test_what_is_malformed_is_named(keyword: str, value: Any) -> None:
    with pytest.raises(InvalidSchema) as caught:
        compiled({"type": "object", keyword: value})
    assert caught.value.path == f"$.{keyword}"


@pytest.mark.parametrize("keyword", ["properties", "required"])
def test_declared_names_are_bounded(keyword: str) -> None:
    names = ["a", "b", "c"]
    value = {name: {} for name in names} if keyword == "properties" else names
    schema = {"type": "object", keyword: value}
    compiled(schema, limits=Limits(properties=3))
    with pytest.raises(SchemaLimit, match="more than 2") as caught:
        compiled(schema, limits=Limits(properties=2))
    assert caught.value.path == "$.properties"


@pytest.mark.parametrize("patterns", [["^a"], ["^a", "^b"], ["^a", "^b", "^c"]])
def test_patterns_that_do_not_overlap_are_one_shape(patterns: list[str]) -> None:
    named: dict[str, Any] = {each: {"maximum": i} for i, each in enumerate(patterns)}
    parser = parser_of({"patternProperties": named, "additionalProperties": False})
    value = parser.algebra.look(parser.parse(parser.document.root))
    assert isinstance(value, Value)
    assert [len(shape.classes) for shape in value.objects] == [len(patterns) + 1]


def test_a_name_that_matches_by_one_reading_only_has_to_fit_both_sides() -> None:
    schema = {
        "patternProperties": {r"^\d$": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    }
    grammar = compiled(schema)
    assert accepts(grammar, '{"3":1,"a":"b"}')
    # Another digit of Unicode, which is one by one reading of `\d`.
    assert not accepts(grammar, '{"٣":1}')
    assert not accepts(grammar, '{"٣":"b"}')


BY_NAME = {"patternProperties": {r"^\d$": {"type": "string"}}}
CLOSED = {"patternProperties": {r"^\d$": True}, "additionalProperties": False}
NAMED = {"propertyNames": {"pattern": r"^\d$"}}
EVALUATED = {"patternProperties": {r"^\d$": True}, "unevaluatedProperties": False}


@pytest.mark.parametrize(
    ("schema", "fit", "other"),
    [(BY_NAME, "3", None), (CLOSED, "3", "a"), (NAMED, "3", "a"), (EVALUATED, "3", "a")],
)
def test_what_fits_by_one_reading_of_a_name_fits_neither_a_schema_nor_its_negation(
    schema: dict[str, Any], fit: str, other: str | None
) -> None:
    right, wrong = f'{{"{fit}":"x"}}', f'{{"{other or fit}":1}}'
    odd = '{"٣":1}'  # a digit of Unicode
    within = {"minProperties": 1}
    for holds in (
        *(schema, {"not": {"not": schema}}, {"if": schema, "else": False}),
        *({"anyOf": [schema, False]}, {"not": {"allOf": [{"not": schema}, within]}}),
    ):
        grammar = compiled({"type": "object", **holds})
        assert [accepts(grammar, text) for text in (right, wrong, odd)] == [True, False, False]
    for fails in (
        *({"not": schema}, {"if": schema, "then": False}, {"oneOf": [{}, schema]}),
        *({"not": {"anyOf": [schema, False]}}, {"allOf": [{"not": schema}, within]}),
    ):
        grammar = compiled({"type": "object", **fails})
        assert [accepts(grammar, text) for text in (right, wrong, odd)] == [False, True, False]


def test_a_value_of_two_readings_below_a_name_of_two_readings() -> None:
    schema = {"patternProperties": {r"^\d$": {"type": "string", "pattern": r"^\w$"}}}
    holds = compiled({"type": "object", **schema})
    fails = compiled({"type": "object", "not": schema})
    texts = ['{"3":"a"}', '{"3":"!"}', '{"3":"é"}', '{"٣":"a"}', '{"٣":"!"}']
    assert [accepts(holds, text) for text in texts] == [True, False, False, True, False]
    assert [accepts(fails, text) for text in texts] == [False, True, False, False, False]


DIGIT, ASCII_DIGIT = (
    {"patternProperties": {pattern: {"type": "string"}}} for pattern in (r"^\d$", "^[0-9]$")
)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("beside", [{}, ASCII_DIGIT, {"not": ASCII_DIGIT}, {"not": DIGIT}])
def test_a_reading_is_not_taken_for_that_of_another_pattern_which_surely_matches_the_same(
    beside: dict[str, Any], *, twice: bool
) -> None:
    for schema in (DIGIT, {"not": DIGIT}):
        within = {"not": {"not": schema}} if twice else schema
        for properties in ({"a": within, "b": beside}, {"b": beside, "a": within}):
            grammar = compiled({"type": "object", "properties": properties})
            # By one reading the name is a digit, and its value no string.
            assert not accepts(grammar, '{"a":{"٣":1}}')
            assert accepts(grammar, '{"a":{"3":"x"}}') == (schema is DIGIT)
            assert accepts(grammar, '{"a":{"3":1}}') == (schema is not DIGIT)
