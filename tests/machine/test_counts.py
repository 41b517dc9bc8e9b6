"""Counts against every small object and array, and that no text gets stuck."""

import json
from collections.abc import Iterator
from itertools import chain, permutations, product
from random import Random
from typing import Any

import pytest

from enforcer.machine.grammar import MachineGrammar
from enforcer.schema import Root
from tests.schema_judge import accepts, is_valid, walk
from tests.support import cases, machine
from tests.vocabularies import small

_ANY_TWO = {"a": {"type": "integer"}, "b": {"type": "null"}, "c": {}}

OBJECTS = [
    *cases.listed("machine/cases/counts.toml", "objects"),
    {"properties": {f"p{n}": {} for n in range(130)}, "required": ["p64", "a"], "maxProperties": 3},
]
ARRAYS = cases.listed("machine/cases/counts.toml", "arrays")


def _held(schema: Any, kind: str = "object") -> MachineGrammar:
    whole = {"type": kind, **schema}
    return machine.held(whole, machine.tree(small()), root=Root.ANY, conventions=machine.OPEN)


def _objects(names: tuple[str, ...], most: int) -> Iterator[dict[str, Any]]:
    for count in range(most + 1):
        for chosen in permutations(names, count):
            for values in ((1,), (2, None), (None, 1)):
                yield {name: values[at % len(values)] for at, name in enumerate(chosen)}


@pytest.mark.slow
@pytest.mark.parametrize("schema", OBJECTS)
def test_an_object_is_taken_if_it_is_valid(schema: dict[str, Any]) -> None:
    found, random = _held(schema), Random(1)
    for value in chain(_objects(("a", "b", "c", "d"), 4), _objects(("a", "p64", "p1", "e"), 4)):
        text = json.dumps(value)
        assert accepts(found, text, random) == is_valid(schema, value), text


@pytest.mark.slow
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
    schema = {"properties": _ANY_TWO, "required": ["b"], "maxProperties": 2}
    text = machine.begun(_held(schema), '{"c":1,"')
    assert not text.accept(ord("a"))
    machine.write(text, 'b":null')
    assert not text.accept(ord(","))
    assert text.accept(ord("}"))


def test_rows_are_kept_alike_away_from_the_bounds() -> None:
    found = _held({"maxProperties": 10_000})
    works = []
    for count in (3, 4, 5, 9_998):
        text = machine.begun(found, json.dumps({f"{n}": 1 for n in range(count)})[:-1])
        machine.mask(text, small())
        works.append(text.work > 0)
    assert works == [True, False, False, True]
