"""Ways through a finished grammar are those that texts may take, whatever branch they are in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from enforcer.schema import compile_schema
from enforcer.schema.finishing.ways import NOWHERE, ROOT, Leads, TooManyWays, Way, leading, ways

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
    ((name, number),) = way[ROOT].leads.names.items()
    assert name == "x"
    assert way[NOWHERE] == Way()
    assert sum(len(value.objects) for value in way[ROOT].values) >= 1
    assert set(way[number].leads.every) == {NOWHERE}


def test_a_prefix_is_told_from_the_rest() -> None:
    way = found({"type": "array", "prefixItems": [A], "items": B})
    leads = way[ROOT].leads
    assert len(leads.prefix) == 1
    assert leads.rest not in (NOWHERE, leads.prefix[0])
    assert [leads.at(index) for index in range(3)] == [leads.prefix[0], leads.rest, leads.rest]


def test_recursion_leads_back() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    way = found(tree)
    assert way[ROOT].leads.under("next") == ROOT
    assert leading(way, {ROOT}) == {ROOT}


def test_what_leads_somewhere_is_listed_with_all_before_it() -> None:
    way = found({"properties": {"x": {"type": "array", "items": A}}})
    number = way[ROOT].leads.under("x")
    rest = way[number].leads.rest
    assert {ROOT, number, rest} <= leading(way, {rest})
    assert NOWHERE not in leading(way, {rest})


def test_what_leads_elsewhere_than_is_asked_leads_nowhere() -> None:
    leads = Leads((2, 3), 4, {"x": 3, "y": 5}, 6)
    assert leads.among({3, 6}) == Leads((NOWHERE, 3), NOWHERE, {"x": 3, "y": NOWHERE}, 6)
    assert leads.among(range(7)) == leads
    assert Leads.from_json(json.loads(json.dumps(leads.to_json()))) == leads
    assert (leads.under("y"), leads.under("z")) == (5, 6)


def test_more_than_the_limit_is_told() -> None:
    deep: dict[str, Any] = A
    for _ in range(9):
        deep = {"type": "array", "prefixItems": [deep], "items": False}
    with pytest.raises(TooManyWays):
        found(deep, most=4)
