"""Ways through a finished grammar are those that texts may take, whatever branch they are in."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.schema import compile_schema
from enforcer.schema.finishing.ways import NOWHERE, ROOT, TooManyWays, Way, leading, ways

A = {"type": "string", "enum": ["a"]}
B = {"type": "string", "enum": ["b"]}


def found(schema: Any, most: int = 100) -> list[Way]:
    grammar = compile_schema(schema)
    return ways(grammar.definitions, grammar.root, most)


def test_a_name_leads_to_what_either_branch_has_there() -> None:
    branches = [
        {"type": "object", "properties": {"x": value}, "required": ["x"]} for value in (A, B)
    ]
    way = found({"anyOf": branches})
    (name, number) = dict(way[ROOT].names).popitem()
    assert name == "x"
    assert way[NOWHERE] == Way()
    assert sum(len(value.objects) for value in way[ROOT].values) >= 1
    assert way[number].leads_to.count(NOWHERE) == len(way[number].leads_to)


def test_a_prefix_is_told_from_the_rest() -> None:
    way = found({"type": "array", "prefixItems": [A], "items": B})
    assert len(way[ROOT].prefix) == 1
    assert way[ROOT].rest not in (NOWHERE, way[ROOT].prefix[0])


def test_recursion_leads_back() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    way = found(tree)
    assert dict(way[ROOT].names)["next"] == ROOT
    assert leading(way, {ROOT}) == {ROOT}


def test_what_leads_somewhere_is_listed_with_all_before_it() -> None:
    way = found({"properties": {"x": {"type": "array", "items": A}}})
    number = dict(way[ROOT].names)["x"]
    assert {ROOT, number, way[number].rest} <= leading(way, {way[number].rest})
    assert NOWHERE not in leading(way, {way[number].rest})


def test_more_than_the_limit_is_told() -> None:
    deep: dict[str, Any] = A
    for _ in range(9):
        deep = {"type": "array", "prefixItems": [deep], "items": False}
    with pytest.raises(TooManyWays):
        found(deep, most=4)
