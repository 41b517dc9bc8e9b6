"""Elements that are counted or kept apart, against `jsonschema`; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import UnsatisfiableSchema, UnsupportedSchema
from enforcer.schema import Conventions, Integers, OnUnsupported, compile_schema
from tests.schema_judge import accepts, agrees, compiled

_elements = st.sampled_from(
    [{"enum": [1, 2, "x"]}, {"type": "boolean"}, {"enum": [None, 1]}, {"const": 2}, False]
)
_lists = st.lists(
    st.lists(st.sampled_from([1, 2, "x", None, True]), max_size=4), min_size=8, max_size=14
)


@given(
    st.fixed_dictionaries(
        {"items": _elements, "uniqueItems": st.just(True)},
        optional={
            "prefixItems": st.lists(_elements, min_size=1, max_size=3),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 4),
        },
    ),
    _lists,
)
def test_unique_elements_of_finite_domains(
    schema: dict[str, Any], instances: list[list[int | str | None]]
) -> None:
    agrees({"type": "array", **schema}, instances)


@given(
    st.fixed_dictionaries(
        {"contains": _elements},
        optional={
            "minContains": st.integers(0, 3),
            "maxContains": st.integers(0, 3),
            "prefixItems": st.lists(_elements, min_size=1, max_size=2),
            "minItems": st.integers(0, 3),
            "maxItems": st.integers(0, 4),
            "allOf": st.just([{"contains": {"const": 1}, "maxContains": 1}]),
            "not": st.just({"contains": {"const": "x"}}),
        },
    ),
    _lists,
)
def test_elements_that_are_counted(
    schema: dict[str, Any], instances: list[list[int | str | None]]
) -> None:
    agrees({"type": "array", **schema}, instances)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"items": {"enum": [1, 2]}}, [[], [1], [2, 1]], [[1, 1], [1, 2, 1]]),
        ({"items": {"enum": [1, 2, 3]}, "maxItems": 2}, [[], [3, 1]], [[1, 2, 3], [1, 1]]),
        ({"items": {"enum": [1, 2]}, "maxItems": 5}, [[2, 1]], [[1, 1], [1, 2, 1]]),
        (
            {"items": {"enum": [1, 2, 3]}, "minItems": 2},
            [[3, 1], [1, 2, 3]],
            [[], [1], [1, 1], [1, 2, 1]],
        ),
        ({"prefixItems": [{}, {}], "items": False, "maxItems": 1}, [[], [1]], [[1, 1]]),
        (
            {"prefixItems": [{"enum": [1, 2]}, {"type": "integer"}], "items": False},
            [[1], [1, 3], [2, 1]],
            [[1, 1], [2, 2]],
        ),
        (
            {"prefixItems": [{"type": "null"}, {"type": "string"}], "items": False},
            [[None, "x"]],
            [],
        ),
        (
            {"prefixItems": [{"type": "boolean"}, {"type": "boolean"}], "minItems": 2},
            [[True, False], [False, True, 1, None]],
            [[True, True], [False], [True, False, True], [True, False, 1, 1.0]],
        ),
    ],
)
def test_unique_by_hand(
    schema: dict[str, Any], valid: list[list[Any]], invalid: list[list[Any]]
) -> None:
    grammar = compiled({"type": "array", "uniqueItems": True, **schema})
    for value in valid:
        assert accepts(grammar, json.dumps(value)), value
    for value in invalid:
        assert not accepts(grammar, json.dumps(value)), value


_FEW = {"type": "integer", "minimum": 0, "maximum": 3}


@pytest.mark.parametrize(
    "elements",
    [
        {"items": _FEW},
        {"items": {"type": ["integer", "null"], "enum": [None, 1, 2]}},
        {"items": [_FEW, _FEW], "additionalItems": False},
    ],
)
@pytest.mark.parametrize(
    ("uri", "integers"), [("draft-04", Integers.VALUE), ("draft-07", Integers.DIGITS)]
)
def test_few_unique_integers_in_digits(
    elements: dict[str, Any], uri: str, integers: Integers
) -> None:
    schema = {"$schema": f"http://json-schema.org/{uri}/schema#", "uniqueItems": True, **elements}
    grammar = compiled({"type": "array", **schema}, conventions=Conventions(integers=integers))
    assert accepts(grammar, "[1,2]")
    assert not any(accepts(grammar, each) for each in ("[1,1]", "[1.0]", "[1,2e0]", "[2.0,1]"))


def test_a_number_is_one_element_however_it_may_be_written() -> None:
    elements = {"anyOf": [_FEW, {"const": 2}]}  # 2 may be written as a number here, 1 may not
    schema = {"type": "array", "items": elements, "uniqueItems": True}
    grammar = compiled(schema, conventions=Conventions(integers=Integers.DIGITS))
    assert all(accepts(grammar, each) for each in ("[1,2]", "[2.0,1]"))
    assert not any(accepts(grammar, each) for each in ("[2,2.0]", "[2.0,2]", "[1.0]"))


def test_more_unique_elements_than_there_are_values() -> None:
    with pytest.raises(UnsatisfiableSchema):
        compiled({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3})


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"not": {"uniqueItems": True}}, "uniqueItems"),
        (
            {"items": {"enum": [1, 2]}, "uniqueItems": True, "contains": {"const": 1}},
            "uniqueItems",
        ),
        ({"allOf": [{"contains": {"const": n}} for n in range(7)]}, "contains"),
        ({"contains": {"const": 1}, "minContains": 300_000}, "contains"),
    ],
)
def test_what_is_refused_is_named(schema: dict[str, Any], keyword: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compiled({"type": "array", **schema})
    assert {problem.keyword for problem in caught.value.problems} == {keyword}


def test_six_kinds_are_counted_together() -> None:
    schema = {"type": "array", "allOf": [{"contains": {"const": n}} for n in range(6)]}
    grammar = compiled(schema)
    assert accepts(grammar, "[5, 4, 3, 2, 1, 0]")
    assert not accepts(grammar, "[5, 4, 3, 2, 1, 1]")


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"type": "string"}, "contains": {"const": "a"}, "uniqueItems": True},
        {"items": {"enum": ["a", "b"]}, "contains": {"const": "a"}, "uniqueItems": True},
    ],
)
def test_what_is_left_out_leaves_no_trace(schema: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedSchema):
        compiled({"type": "array", **schema})
    found = compile_schema({"type": "array", **schema}, on_unsupported=OnUnsupported.RELAX)
    assert [problem.path for problem in found.relaxed] == ["$.uniqueItems"]
    assert not any(shape.unique for shape in found.definitions[found.root].arrays)
    grammar = compiled({"type": "array", **schema}, on_unsupported=OnUnsupported.RELAX)
    assert accepts(grammar, '["a", "a"]')
    assert not accepts(grammar, '["b"]')


def test_one_element_is_distinct_by_itself() -> None:
    short = {"type": "array", "maxItems": 1}
    for schema in (
        {**short, "uniqueItems": True},
        {**short, "uniqueItems": True, "items": {"enum": ["a", "b"]}},
        {**short, "uniqueItems": True, "contains": {"type": "string"}},
        {**short, "contains": {"type": "string"}},
    ):
        found = compile_schema(schema)
        assert not any(shape.unique for shape in found.definitions[found.root].arrays)
        assert accepts(compiled(schema), '["a"]')
        assert not accepts(compiled(schema), '["a", "b"]')


def test_many_strings_are_counted_where_more_have_to_be_distinct() -> None:
    words = [f"w{n}" for n in range(70)]
    schema = {"type": "array", "uniqueItems": True, "minItems": 70, "items": {"enum": words}}
    assert accepts(compiled(schema), json.dumps(words))
    with pytest.raises(UnsupportedSchema, match="as many distinct elements"):
        compiled({**schema, "minItems": 71})
    # Of other elements there may be any number.
    mixed = {**schema, "minItems": 71, "items": {"anyOf": [{"enum": words}, {"type": "integer"}]}}
    assert accepts(compiled(mixed), json.dumps([*words, 1]))
