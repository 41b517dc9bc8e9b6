"""Alternatives that differ in the values of a few names, made one shape."""

from __future__ import annotations

import json
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enforcer.errors import SchemaLimit, UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import OnUnsupported, compile_schema
from enforcer.schema.finishing import cells as cells_module
from enforcer.schema.finishing import presence
from enforcer.schema.finishing.presence import merge
from tests.schema_judge import accepts, compiled, is_valid, walk

if TYPE_CHECKING:
    from collections.abc import Iterator


NAMES = ["a", "b", "c", "other"]
_values = st.sampled_from(
    [
        {},
        {"type": "integer"},
        {"type": "string"},
        {"type": ["integer", "string"]},
        {"enum": [1, "x"]},
        {"const": None},
        {"minimum": 2},
        {"type": ["integer", "null"], "maximum": 2},
        {"pattern": r"^\w$"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object", "required": ["a"]},
        {"type": "array", "items": {"enum": [1, "x"]}, "uniqueItems": True},
        False,
    ]
)
_branches = st.fixed_dictionaries(
    {"properties": st.dictionaries(st.sampled_from(NAMES[:3]), _values, max_size=3)},
    optional={
        "required": st.lists(st.sampled_from(NAMES[:3]), max_size=2, unique=True),
        "additionalProperties": st.one_of(st.booleans(), _values),
        "dependentRequired": st.just({"a": ["b"]}),
        "minProperties": st.just(2),
        "maxProperties": st.just(2),
        "patternProperties": st.just({"^o": {"type": "integer"}}),
    },
)
_schemas = st.builds(
    lambda kind, branches, more: {"type": "object", kind: branches, **more},
    st.sampled_from(["oneOf", "oneOf", "anyOf"]),
    st.lists(_branches, min_size=2, max_size=4),
    st.one_of(st.just({}), _branches.map(lambda branch: {"not": branch}), _branches),
)
_leaves = st.sampled_from(
    [0, 1, 2, 3, "x", "xy", "€", None, 1.5, True, [], [1], ["x"], {}, {"a": 1}]
)
_objects = st.dictionaries(st.sampled_from(NAMES), _leaves, max_size=4)
# Matched by one reading of `\w` only: neither is enforced, so no cell may be cut by it.
_with_unclear = st.dictionaries(st.sampled_from(NAMES), _leaves | st.just("é"), max_size=4)


def branch(number: int, shared: int) -> dict[str, Any]:
    """Declare a name of its own, and others of which each second branch says otherwise."""
    kinds = [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]
    names = {f"opt{i}": kinds[(number + i) % 2] for i in range(shared)}
    own = {"name": {"type": "string"}, f"kind{number}": {"type": "string"}}
    own |= {f"own{number}_{i}": {"type": "integer"} for i in range(shared)}
    return {"type": "object", "properties": {**own, **names}, "required": ["name", f"kind{number}"]}


@contextmanager
def looked_for_above(shapes: int) -> Iterator[None]:
    """Look for cells where there are more shapes than these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells_module, "_FEW_SHAPES", shapes)
        yield


@pytest.mark.slow
@given(_schemas, st.lists(_objects, min_size=1, max_size=12), st.integers(0, 2**32))
def test_acceptance_is_validity_and_every_walk_ends(
    schema: dict[str, Any], instances: list[dict[str, Any]], seed: int
) -> None:
    try:
        with looked_for_above(1):
            grammar = compiled(schema)
    except (UnsupportedSchema, UnsatisfiableSchema, SchemaLimit):
        assume(False)
    for value in instances:
        assert accepts(grammar, json.dumps(value)) == is_valid(schema, value), value
    random = Random(seed)
    for _ in range(4):
        text = walk(grammar, random)
        assert text is None or is_valid(schema, json.loads(text)), text


@pytest.mark.slow
@given(_schemas, st.lists(_with_unclear, min_size=1, max_size=12))
def test_cells_change_nothing_that_is_accepted_or_refused(
    schema: dict[str, Any], instances: list[dict[str, Any]]
) -> None:
    found: list[Any] = []
    for few in (1, 1_000):
        with looked_for_above(few):
            for option in OnUnsupported:
                try:
                    grammar = compiled(schema, on_unsupported=option)
                except (UnsupportedSchema, UnsatisfiableSchema, SchemaLimit) as error:
                    found.append(str(error))
                else:
                    found.append([accepts(grammar, json.dumps(value)) for value in instances])
    assert found[: len(OnUnsupported)] == found[len(OnUnsupported) :]


def test_hundreds_of_alternatives_are_one() -> None:
    schema = {"oneOf": [branch(i, shared=2) for i in range(5)]}
    grammar = compile_schema(schema)
    value = grammar.definitions[grammar.root]
    assert len(value.objects) > 300
    assert len(merge(value.objects, dict(value.cells))) == 1
    usable = compiled(schema)
    for fits, text in (
        (True, '{"opt0": 3, "kind0": "x", "name": "a"}'),
        (True, '{"kind0": "x", "kind2": 5, "name": "a", "opt1": ["y"], "more": []}'),
        (True, '{"kind1": "x", "kind0": "x", "name": "a", "opt1": 3}'),
        (False, '{"kind1": "x", "kind3": "x", "name": "a", "opt1": 3}'),
        (False, '{"kind1": "x", "name": "a", "opt1": "neither"}'),
        (False, '{"opt0": 3, "kind0": "x", "name": "a", "opt0": 4}'),
        (False, '{"opt0": 3, "kind0": "x"}'),
    ):
        assert accepts(usable, text) == fits, text


def test_cells_that_turn_out_not_to_matter() -> None:
    closed = {"type": "object", "additionalProperties": False}
    wide = {**closed, "properties": {"a": {"type": ["integer", "string"]}}}
    narrow = {**closed, "properties": {"a": {"type": "integer"}}}
    schema = {"anyOf": [wide, narrow]}
    with looked_for_above(1):
        grammar = compiled(schema)
    texts = {walk(grammar, Random(seed)) for seed in range(30)} - {None}
    values = [json.loads(text) for text in texts]
    assert all(is_valid(schema, value) for value in values)
    assert {int, str, type(None)} <= {type(value.get("a")) for value in values}


@pytest.mark.slow
def test_more_cells_than_bits_stay_alternatives() -> None:
    schema = {"oneOf": [branch(i, shared=0) for i in range(40)]}
    grammar = compile_schema(schema)
    value = grammar.definitions[grammar.root]
    assert value.cells
    assert len(merge(value.objects, dict(value.cells))) == 40
    usable = compiled(schema)
    assert accepts(usable, '{"kind39": "x", "kind7": 7, "name": "a"}')
    assert not accepts(usable, '{"kind39": "x", "kind7": "7", "name": "a"}')


def test_alternatives_that_share_too_little_stay_alternatives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = {"oneOf": [branch(i, shared=1) for i in range(4)]}
    grammar = compile_schema(schema)
    value = grammar.definitions[grammar.root]
    assert len(merge(value.objects, dict(value.cells))) == 1
    monkeypatch.setattr(presence, "_MOST_CONDITIONS", 10)
    assert len(merge(value.objects, dict(value.cells))) > 8


def test_no_cell_is_cut_by_what_is_read_in_two_ways() -> None:
    """`\\w` leaves "é" open: it is neither in the cell of what matches nor in that of the rest."""
    schema = {
        "type": "object",
        "anyOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["b"]},
            {"properties": {"a": {"type": "string", "pattern": r"^\w$"}}, "required": ["c"]},
        ],
    }
    with looked_for_above(1):
        grammar = compiled(schema)
    assert accepts(grammar, '{"a": "é", "b": 1}')
    assert accepts(grammar, '{"a": "x", "c": 1}')
    assert not accepts(grammar, '{"a": "é", "c": 1}')
