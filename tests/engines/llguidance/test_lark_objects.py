"""Objects as rules: any order, each declared property once, nothing promised in vain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.schema_judge import V, accepts, compiled
from tests.vocabularies import bits

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar


WIDTHS = [1, 2, 3, 63, 64, 65, 100]


def names(count: int) -> list[str]:
    return [f"p{i}" for i in range(count)]


def closed(count: int, required: list[str] | tuple[Any, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names(count)},
        "required": list(required),
        "additionalProperties": False,
    }


def permits(grammar: CompiledGrammar, text: str, byte: bytes) -> bool:
    """Tell whether a byte may follow a text, both as single bytes."""
    matcher = grammar.matcher()
    assert all(map(matcher.accept, text.encode()))
    row = np.zeros(V.words, dtype=np.int32)
    matcher.fill(row)
    return byte[0] in bits(row)


@pytest.mark.parametrize("count", WIDTHS)
def test_all_of_a_closed_object_backwards(count: int) -> None:
    grammar = compiled(closed(count, names(min(count, 64))))
    value = dict.fromkeys(reversed(names(count)), 1)
    assert accepts(grammar, json.dumps(value))
    assert not accepts(grammar, json.dumps(dict.fromkeys(names(count)[1:], 1)))


@pytest.mark.parametrize("count", [1, 2, 3, 63, 64])
def test_a_name_that_returns(count: int) -> None:
    text = json.dumps(dict.fromkeys(names(count), 1))[:-1]
    assert not accepts(compiled(closed(count)), text + ', "p0": 1}')
    assert not accepts(compiled(closed(count)), text + r', "\u00700": 1}')


@pytest.mark.parametrize("count", [1, 2, 3, 63, 64])
def test_no_comma_is_offered_where_no_property_is_left(count: int) -> None:
    grammar = compiled(closed(count))
    text = json.dumps(dict.fromkeys(names(count), 1))[:-1]
    assert not permits(grammar, text, b",")
    assert permits(grammar, text, b"}")
    if count > 1:
        assert permits(grammar, '{"p0": 1', b",")


@pytest.mark.parametrize("required", [[], ["b"], ["a", "b"]])
def test_undeclared_properties_anywhere(required: list[str]) -> None:
    schema = {"properties": {"a": {"type": "null"}, "b": {}}, "required": required}
    grammar = compiled({"type": "object", **schema})
    for text in (
        '{"x": 1, "b": 2, "a": null}',
        '{"b": 2, "x": 1, "y": [], "a": null, "z": {}}',
        '{"a": null, "x": 1, "y": 2, "b": 3, "z": 4}',
    ):
        assert accepts(grammar, text)
    assert not accepts(grammar, '{"a": null, "x": 1, "y": 2, "b": 3, "x": 4}')
    assert accepts(grammar, '{"x": 1, "y": 2}') is not bool(required)
    assert accepts(grammar, "{}") is not bool(required)
    assert not accepts(grammar, '{"x": 1, "b": 2, "a": 1}')
    assert not accepts(grammar, r'{"x": 1, "b": 2, "\u0061": 1}')


def test_a_long_object_with_undeclared_properties() -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    value = {f"x{i}": i for i in range(3_000)} | {"a": 1}
    assert accepts(compiled(schema), json.dumps(value))


@pytest.mark.parametrize("declared", [{}, {"a": {}}])
def test_no_property_at_most(declared: dict[str, Any]) -> None:
    grammar = compiled({"type": "object", "properties": declared, "maxProperties": 0})
    assert accepts(grammar, "{}")
    assert not accepts(grammar, '{"a": 1}')


def test_counting_needs_no_bit_for_each_of_many_names() -> None:
    """Where undeclared names count too, one bit for all says that the least is reached."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names(100)},
        "minProperties": 1,
    }
    grammar = compiled(schema)
    for value in ({"p99": 1}, {"p0": 1}, {"other": "x"}, dict.fromkeys(names(100), 1)):
        assert accepts(grammar, json.dumps(value)), value
    for value in ({}, {"p99": "x"}, {"p0": "x"}):
        assert not accepts(grammar, json.dumps(value)), value
