"""Which strings are counted beside the engine where arguments are pairs, and which it counts."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.engines.lengths import long_arguments
from enforcer.schema import Root, compile_schema
from tests.laid_out import bound, engine

PAIRS = ("kimi_k3", "qwen3_coder", "minimax_m2", "glm45")
DECLARED = PAIRS[1:]
LONG = {"type": "string", "maxLength": 4_321}


def is_counted(name: str, schema: dict[str, Any]) -> bool:
    """Tell whether the engine is given no length, and something else is."""
    grammar, layout = compile_schema(schema, root=Root.OBJECT), bound(name)
    masked, kept = long_arguments.divide(grammar, layout)
    texts = engine().write(grammar, layout)
    assert bool(kept) == (masked != grammar) == texts.startswith("\0lengths ")
    return bool(kept)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": LONG}},
        {"properties": {"a": {**LONG, "minLength": 2, "pattern": r"\S"}}},
        {"properties": {"a": {**LONG, "type": ["string", "null"]}}},
        {"properties": {"a": {"type": "array", "items": LONG}, "b": LONG}},
        {"additionalProperties": LONG},
    ],
)
def test_lengths_are_counted_alone_as_well(name: str, schema: dict[str, Any]) -> None:
    assert is_counted(name, schema)


@pytest.mark.parametrize("other", ["integer", "array"])
def test_where_a_long_text_may_be_something_else_the_engine_counts(other: str) -> None:
    schema = {"properties": {"a": {**LONG, "type": ["string", other]}}}
    assert is_counted("kimi_k3", schema), "the type is written before it"
    for name in DECLARED:
        assert not is_counted(name, schema)


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_far_from_an_end_is_left_to_the_engine(name: str) -> None:
    schema = {"properties": {"a": {**LONG, "pattern": "^(a|b{90})*$"}}}
    assert not is_counted(name, schema)


@pytest.mark.parametrize("name", PAIRS)
def test_of_two_lengths_in_one_place_the_engine_knows(name: str) -> None:
    mixed = {"properties": {"a": {"anyOf": [{**LONG, "pattern": "b$"}, {"pattern": "^a"}]}}}
    assert not is_counted(name, mixed)


def test_short_strings_and_pythons_are_left_alone() -> None:
    assert not is_counted("kimi_k3", {"properties": {"a": {**LONG, "maxLength": 21}}})
    grammar = compile_schema({"properties": {"a": LONG}}, root=Root.OBJECT)
    assert long_arguments.divide(grammar, bound("pythonic")) == (grammar, [])
