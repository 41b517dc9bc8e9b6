"""The keywords that restrict one type each, against `jsonschema`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidSchema, UnsatisfiableSchema
from enforcer.schema import Conventions, Formats, Integers
from tests.schema_judge import accepts, agrees, compiled

DRAFT2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
_scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0, "", "a"])
_json = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


@given(st.lists(_json, min_size=1, max_size=4), st.lists(_json, max_size=4))
def test_constants_equal_themselves_and_nothing_else(listed: list[Any], others: list[Any]) -> None:
    agrees({"enum": listed}, [*listed, *others])


@given(st.lists(_json, min_size=1, max_size=3), st.lists(_json, max_size=4))
def test_what_equals_no_constant(listed: list[Any], others: list[Any]) -> None:
    agrees({"not": {"enum": listed}}, [*listed, *others])


_bounds = st.integers(-3, 3) | st.sampled_from([0.5, -1.25])
_numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", ["integer", "string"]])},
    optional={
        "minimum": _bounds,
        "maximum": _bounds,
        "exclusiveMinimum": _bounds,
        "exclusiveMaximum": _bounds,
        "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
    },
)


@given(_numbers, st.lists(st.integers(-5, 5) | _bounds, min_size=5, max_size=10))
def test_numbers(schema: dict[str, Any], instances: list[float]) -> None:
    agrees(schema, instances)


_strings = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b", "^(ab)*$", "^[^a]"]),
        "format": st.sampled_from(["date", "ipv4"]),
    },
)


@given(_strings, st.lists(st.text("ab0", max_size=4), min_size=5, max_size=10))
def test_strings(schema: dict[str, Any], instances: list[str]) -> None:
    agrees(schema, [*instances, "2024-02-29", "2023-02-29", "1.2.3.4"])


_elements = st.sampled_from([True, False, {"type": "integer"}, {"const": "a"}])
_arrays = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={
        "items": _elements,
        "prefixItems": st.lists(_elements, min_size=1, max_size=2),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "contains": _elements,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
    },
)
_lists = st.lists(st.lists(st.sampled_from([1, "a"]), max_size=3), min_size=5, max_size=10)


@given(_arrays, _lists)
def test_arrays(schema: dict[str, Any], instances: list[list[int | str]]) -> None:
    agrees(schema, instances)


@given(st.lists(_elements, min_size=1, max_size=2), _elements, _lists)
def test_a_list_of_items_before_2020(
    items: list[Any], further: Any, instances: list[list[int | str]]
) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}
    agrees({**schema, "items": items, "additionalItems": further}, instances)


@pytest.mark.parametrize(("flag", "fits"), [(True, [False, True]), (False, [True, True])])
def test_draft_4_writes_a_boolean_beside_the_bound(flag: bool, fits: list[bool]) -> None:
    for schema in ({**DRAFT4, "minimum": 3}, {"minimum": 3}):
        grammar = compiled({"type": "number", **schema, "exclusiveMinimum": flag})
        assert [accepts(grammar, text) for text in ("3", "4")] == fits
        grammar = compiled({"type": "number", "maximum": 3, "exclusiveMaximum": flag, **DRAFT4})
        assert [accepts(grammar, text) for text in ("3", "2")] == fits


def test_one_type_after_the_other() -> None:
    samples = {"null": None, "boolean": True, "integer": 1, "number": 1.5, "string": "a"}
    samples |= {"array": [], "object": {}}
    for name in samples:
        grammar = compiled({"type": name})
        found = {other for other, value in samples.items() if accepts(grammar, json.dumps(value))}
        assert found == {name} | ({"integer"} if name == "number" else set())


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "objekt"}, "type"),
        ({"type": []}, "type"),
        ({"type": ["string", 3]}, "type"),
        ({"multipleOf": 0}, "multipleOf"),
        ({"pattern": 3}, "pattern"),
        ({"uniqueItems": "yes"}, "uniqueItems"),
        ({"minItems": -1}, "minItems"),
        ({"type": "array", "prefixItems": [True], "items": [True]}, "items"),
    ],
)
def test_what_is_malformed_is_named(schema: dict[str, Any], keyword: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        compiled(schema)
    assert [problem.keyword for problem in caught.value.problems] == [keyword]


def test_a_length_that_nothing_has() -> None:
    with pytest.raises(UnsatisfiableSchema):
        compiled({"type": "string", "minLength": 3, "maxLength": 2})
    assert accepts(compiled({"type": "string", "minLength": 2, "maxLength": 2}), '"ab"')


IN_DIGITS = Conventions(integers=Integers.DIGITS)
_WHOLE = st.integers(-(10**12), 10**12) | st.integers(-20, 20)


@given(_WHOLE, st.integers(-20, 20), st.sampled_from([1, 2, 5]), st.integers(0, 3))
def test_integers_in_digits_are_whole_numbers_in_no_other_form(
    value: int, low: int, divisor: int, zeros: int
) -> None:
    schema = {"type": "integer", "minimum": low, "multipleOf": divisor}
    grammar = compiled(schema, conventions=IN_DIGITS)
    assert accepts(grammar, str(value)) == (value >= low and value % divisor == 0)
    for text in (f"{value}.{'0' * (zeros + 1)}", f"{value}e{zeros}", f"{value}.5", "-0"):
        assert not accepts(grammar, text)


@pytest.mark.parametrize(
    ("schema", "legal", "illegal"),
    [
        ({"type": "number"}, ["9", "9.0", "9e0"], []),
        ({"type": ["integer", "null"]}, ["9", "null"], ["9.0"]),
        ({"type": "integer", "enum": [9, 10]}, ["9"], ["9.0", "9e0"]),
        ({"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}, ["9.0", "4"], ["4.0"]),
        # What is no integer is none in any form.
        ({"not": {"type": "integer"}}, ["9.5", '"9"'], ["9", "9.0", "9e0"]),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, ["9.5"], ["9", "9.0", "9e0"]),
        (
            {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
            ["[1,2]"],
            ["[1.0]"],
        ),
    ],
)
def test_only_what_is_called_an_integer_is_written_in_digits(
    schema: dict[str, Any], legal: list[str], illegal: list[str]
) -> None:
    grammar = compiled(schema, conventions=IN_DIGITS)
    assert [text for text in legal + illegal if accepts(grammar, text)] == legal


@pytest.mark.parametrize(
    ("dialect", "asserts"),
    [(None, True), ("http://json-schema.org/draft-07/schema#", True), (DRAFT2020, False)],
)
def test_by_the_letter_of_the_standard_a_format_says_nothing_since_2019(
    dialect: str | None, asserts: bool
) -> None:
    schema = {"format": "date", **({} if dialect is None else {"$schema": dialect})}
    by_the_letter = compiled(schema, conventions=Conventions(formats=Formats.STANDARD))
    assert accepts(by_the_letter, '"2026-11-26"')
    assert accepts(by_the_letter, '"soon"') != asserts
    assert not accepts(compiled(schema), '"soon"')
