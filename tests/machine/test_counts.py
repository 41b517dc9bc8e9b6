"""Counts against every small object and array, and that no text gets stuck."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain, permutations, product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import tables_of
from enforcer.schema import Conventions, Root, compile_schema
from tests.schema_judge import accepts, is_valid, walk
from tests.vocabularies import small

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer import kernel

_ANY_TWO = {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {}}
_CLOSED = {"additionalProperties": False}
_MANY: dict[str, Any] = {f"p{n}": {} for n in range(130)}

OBJECTS: list[dict[str, Any]] = [
    {"maxProperties": 0},
    {"maxProperties": 2},
    {"properties": _ANY_TWO, "required": ["b"], "maxProperties": 2},
    {"properties": _ANY_TWO, "minProperties": 2, **_CLOSED},
    {"properties": _ANY_TWO, "minProperties": 2, "maxProperties": 2, **_CLOSED},
    {"properties": _ANY_TWO, "minProperties": 3, "required": ["a", "c"], **_CLOSED},
    {"properties": _ANY_TWO, "required": ["a", "b"], "minProperties": 3, "maxProperties": 3},
    {
        "properties": _ANY_TWO,
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "maxProperties": 2,
    },
    {
        "properties": _ANY_TWO,
        "allOf": [
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"anyOf": [{"required": ["c"]}, {"required": ["d"]}]},
        ],
        "maxProperties": 2,
    },
    {"anyOf": [{"maxProperties": 1}, {"required": ["a", "b", "c"], "maxProperties": 3}]},
    {
        "anyOf": [
            {"properties": {"a": {"const": 1}}, "required": ["a"], "maxProperties": 2},
            {"properties": {"a": {"const": 2}}, "required": ["a"], "minProperties": 2},
        ]
    },
    {"properties": _MANY, "required": ["p64", "a"], "maxProperties": 3},
    {"patternProperties": {"^[ab]$": {"type": "integer"}}, "minProperties": 1, **_CLOSED},
    {"patternProperties": {"^[ab]$": {"type": "integer"}}, "maxProperties": 1},
    {"not": {"propertyNames": {"pattern": "^[ab]"}}},
    {"not": {"additionalProperties": {"type": "null"}}},
    {
        "properties": _ANY_TWO,
        "not": {"properties": {"a": {}}, "additionalProperties": {"const": 1}},
    },
    {
        "properties": {"a": {}},
        "allOf": [
            {"not": {"properties": {"a": {}}, "additionalProperties": {"type": "null"}}},
            {"not": {"properties": {"a": {}}, "additionalProperties": {"const": 1}}},
        ],
    },
    {
        "anyOf": [
            {"not": {"additionalProperties": {"type": "null"}}, "required": ["c"]},
            {"properties": {"a": {"const": 2}}, "minProperties": 2},
        ]
    },
]


_ONE = {"const": 1}
_EITHER = {"enum": [1, "a", None, 2]}
ARRAYS: list[dict[str, Any]] = [
    {"contains": _ONE},
    {"contains": _ONE, "items": _EITHER, "minContains": 2, "maxItems": 3},
    {"contains": _ONE, "minContains": 0, "maxContains": 1, "minItems": 3},
    {"contains": {"enum": [1, 2]}, "maxContains": 2, "minContains": 2, "maxItems": 4},
    {"contains": _ONE, "prefixItems": [{}, {"type": "string"}, _ONE], "maxItems": 3},
    {"contains": _ONE, "prefixItems": [{"type": "null"}], "items": {"enum": ["a", 1]}},
    {"contains": _ONE, "prefixItems": [{"enum": [1, 2]}], "items": {"type": "string"}},
    {"contains": _ONE, "items": _ONE, "maxContains": 3, "minItems": 2},
    {"contains": _ONE, "maxContains": 1, "items": {"enum": [1]}, "minItems": 1},
    {
        "allOf": [
            {"contains": {"enum": [1, 2]}, "minContains": 2},
            {"contains": {"type": "string"}},
            {"contains": {"enum": [1, "a"]}, "maxContains": 2},
        ],
        "maxItems": 4,
    },
    {
        "anyOf": [
            {"contains": _ONE, "maxContains": 1, "maxItems": 3},
            {"contains": {"type": "string"}, "minContains": 2},
            {"items": _EITHER, "uniqueItems": True, "minItems": 3},
        ]
    },
    {"items": _EITHER, "uniqueItems": True},
    {"items": {"enum": ["a", 1, 2]}, "uniqueItems": True, "minItems": 2},
    {"items": {"type": ["null", "boolean"]}, "uniqueItems": True, "maxItems": 2},
    {"contains": {"contains": _ONE, "maxContains": 1}, "minItems": 2},
]


@cache
def _tree() -> kernel.Tree:
    return bound_vocabulary(small())


def _held(schema: Any, kind: str = "object") -> MachineGrammar:
    conventions = Conventions(closed_objects=False)
    grammar = compile_schema({"type": kind, **schema}, root=Root.ANY, conventions=conventions)
    return MachineGrammar(tables_of(grammar, None), _tree())


def _objects(names: tuple[str, ...], most: int) -> Iterator[dict[str, Any]]:
    for count in range(most + 1):
        for chosen in permutations(names, count):
            for values in ((1,), (2, None), (None, 1)):
                yield {name: values[at % len(values)] for at, name in enumerate(chosen)}


@pytest.mark.parametrize("schema", OBJECTS)
def test_an_object_is_taken_if_it_is_valid(schema: dict[str, Any]) -> None:
    found, random = _held(schema), Random(1)
    objects = chain(_objects(("a", "b", "c", "d"), 4), _objects(("a", "p64", "p1", "e"), 4))
    for value in objects:
        text = json.dumps(value)
        assert accepts(found, text, random) == is_valid(schema, value), text


@pytest.mark.parametrize("schema", ARRAYS)
def test_an_array_is_taken_if_it_is_valid(schema: dict[str, Any]) -> None:
    found, random = _held(schema, "array"), Random(1)
    for count in range(6):
        for value in product((1, "a", None, 2, [1]), repeat=count):
            text = json.dumps(value)
            assert accepts(found, text, random) == is_valid(schema, [*value]), text


@pytest.mark.parametrize("schema", [*OBJECTS, *ARRAYS])
def test_no_text_gets_stuck(schema: dict[str, Any]) -> None:
    found = _held(schema, "object" if schema in OBJECTS else "array")
    for seed in range(8):
        text = walk(found, Random(seed), most=40)
        assert text is None or is_valid(schema, json.loads(text))


def test_a_comma_does_not_come_where_no_property_may() -> None:
    text = _held({"properties": _ANY_TWO, "required": ["b"], "maxProperties": 2}).matcher()
    assert all(map(text.accept, b'{"c":1,"'))
    assert not text.accept(ord("a"))
    assert all(map(text.accept, b'b":null'))
    assert not text.accept(ord(","))
    assert text.accept(ord("}"))


def test_rows_are_kept_alike_away_from_the_bounds() -> None:
    found = _held({"maxProperties": 10_000})
    works = []
    for count in (3, 4, 5, 9_998):
        text = found.matcher()
        data = json.dumps({f"{n}": 1 for n in range(count)}).encode()
        assert all(map(text.accept, data[:-1]))
        text.fill(np.zeros(small().words, np.int32))
        works.append(text.work > 0)
    assert works == [True, False, False, True]
