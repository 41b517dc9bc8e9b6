"""Set operations on array shapes, asked of compiled schemas and checked by `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema.algebra.arrays import least
from tests.schema_judge import accepts, agrees, compiled

_values = st.sampled_from(
    [
        True,
        False,
        {"type": "integer"},
        {"type": ["integer", "string"]},
        {"const": 1},
        {"enum": [1, "x"]},
    ]
)
_arrays = st.fixed_dictionaries(
    {},
    optional={
        "prefixItems": st.lists(_values, min_size=1, max_size=3),
        "items": _values,
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 3),
        "contains": _values,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
    },
)
_instances = st.lists(st.sampled_from([0, 1, "x", None]), max_size=4)


@given(_arrays, _arrays, st.lists(_instances, min_size=4, max_size=12))
def test_meet_is_intersection(
    one: dict[str, Any], other: dict[str, Any], instances: list[list[int | str | None]]
) -> None:
    agrees({"allOf": [one, other]}, instances)


@given(_arrays, st.lists(_instances, min_size=4, max_size=12))
def test_complement_is_the_rest(
    schema: dict[str, Any], instances: list[list[int | str | None]]
) -> None:
    agrees({"not": schema}, instances)


@pytest.mark.parametrize(
    ("schema", "members", "others"),
    [
        ({"items": {"type": "integer"}}, [["x"], [1, "x"], [None, 1]], [[], [1], [1, 2, 3]]),
        ({"items": False}, [[1], ["x", 1]], [[]]),
        ({"prefixItems": [True], "items": False}, [[1, 1]], [[], ["x"]]),
        (
            {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            [[1], ["x", "x"], ["x", 1, "x"]],
            [[], ["x"], ["x", 1], ["x", 1, 2]],
        ),
        ({"minItems": 2}, [[], [1]], [[1, 1], [1, 1, 1]]),
        ({"maxItems": 1}, [[1, 1]], [[], [1]]),
        ({"contains": {"const": 1}, "maxContains": 1}, [[], [0], [1, 1]], [[1], [0, 1]]),
    ],
)
def test_complements_by_hand(
    schema: dict[str, Any], members: list[list[int | str | None]], others: list[list[int | str]]
) -> None:
    grammar = compiled({"type": "array", "not": schema})
    for value in members:
        assert accepts(grammar, json.dumps(value)), value
    for value in others:
        assert not accepts(grammar, json.dumps(value)), value


_maxima = st.none() | st.integers(0, 5)


@given(_maxima, _maxima, st.integers(0, 6))
def test_the_least_of_two_maxima_bounds_what_both_bound(
    a: int | None, b: int | None, count: int
) -> None:
    def within(maximum: int | None) -> bool:
        return maximum is None or count <= maximum

    assert within(least(a, b)) == (within(a) and within(b))
