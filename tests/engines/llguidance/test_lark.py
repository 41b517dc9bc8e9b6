from __future__ import annotations

from typing import Any

import pytest

from enforcer.engines.llguidance.lark import has_bounds, has_divisors, has_patterns
from enforcer.schema import compile_schema


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"properties": {"a": {"maxLength": 100}, "b": {"enum": ["x", "y"]}}}, False),
        ({"properties": {"a": {"type": "string", "pattern": "^[a-f0-9]{40}$"}}}, False),
        ({"properties": {"a": {"type": "string", "pattern": "^https://"}}}, True),
        ({"properties": {"a": {"items": {"type": "string", "pattern": "^[a-z]+$"}}}}, True),
        ({"type": "object", "patternProperties": {"^x": {"type": "null"}}}, True),
    ],
)
def test_a_pattern_is_what_goes_on_for_long_with_some_characters(schema: Any, found: bool) -> None:
    assert has_patterns(compile_schema(schema)) == found


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}}}, False),
        ({"properties": {"a": {"minLength": 2}}}, False),
        ({"properties": {"a": {"items": {"maxLength": 100}}}}, True),
        ({"type": "object", "propertyNames": {"maxLength": 20}}, True),
        ({"properties": {"a": {"type": "string", "format": "date"}}}, False),
    ],
)
def test_a_bound_is_a_greatest_length_of_any_characters(schema: Any, found: bool) -> None:
    assert has_bounds(compile_schema(schema)) == found


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"properties": {"a": {"type": "integer", "minimum": 3}, "b": {"type": "number"}}}, False),
        ({"properties": {"a": {"not": {"type": "integer"}}}}, False),
        ({"properties": {"a": {"items": {"type": "number", "multipleOf": 0.25}}}}, True),
        ({"properties": {"a": {"type": "integer", "not": {"multipleOf": 7}}}}, True),
    ],
)
def test_a_divisor_is_any_but_one(schema: Any, found: bool) -> None:
    assert has_divisors(compile_schema(schema)) == found
