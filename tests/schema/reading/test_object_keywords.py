"""The keywords that restrict objects, against `jsonschema`."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema.grammar import Value
from tests.schema_judge import accepts, agrees, compiled
from tests.schema_reading import parser_of
from tests.support.schema_cases import schema_test

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


test_schemas = schema_test(__file__)


@pytest.mark.parametrize("patterns", [["^a"], ["^a", "^b"], ["^a", "^b", "^c"]])
def test_patterns_that_do_not_overlap_are_one_shape(patterns: list[str]) -> None:
    named: dict[str, Any] = {each: {"maximum": i} for i, each in enumerate(patterns)}
    parser = parser_of({"patternProperties": named, "additionalProperties": False})
    value = parser.algebra.look(parser.parse(parser.document.root))
    assert isinstance(value, Value)
    assert [len(shape.classes) for shape in value.objects] == [len(patterns) + 1]


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


DIGIT, ASCII_DIGIT = (
    {"patternProperties": {pattern: {"type": "string"}}} for pattern in (r"^\d$", "^[0-9]$")
)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("beside", [{}, ASCII_DIGIT, {"not": ASCII_DIGIT}, {"not": DIGIT}])
def test_a_reading_is_not_that_of_an_equal_pattern(beside: dict[str, Any], *, twice: bool) -> None:
    for schema in (DIGIT, {"not": DIGIT}):
        within = {"not": {"not": schema}} if twice else schema
        for properties in ({"a": within, "b": beside}, {"b": beside, "a": within}):
            grammar = compiled({"type": "object", "properties": properties})
            # By one reading the name is a digit, and its value no string.
            assert not accepts(grammar, '{"a":{"٣":1}}')
            assert accepts(grammar, '{"a":{"3":"x"}}') == (schema is DIGIT)
            assert accepts(grammar, '{"a":{"3":1}}') == (schema is not DIGIT)
