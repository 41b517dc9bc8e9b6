"""The keywords that restrict one type each, against `jsonschema`."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema import Conventions, Integers
from tests.schema_judge import accepts, agrees, compiled
from tests.support.schema_cases import schema_test

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
_ends = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number", ["integer", "string"]])},
    optional={**dict.fromkeys(_ends, _bounds), "multipleOf": st.sampled_from([1, 2, 0.5, 3])},
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
_counts = ("minItems", "maxItems", "minContains", "maxContains")
_arrays = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={
        **dict.fromkeys(("items", "contains"), _elements),
        **dict.fromkeys(_counts, st.integers(0, 2)),
        "prefixItems": st.lists(_elements, min_size=1, max_size=2),
    },
)
_lists = st.lists(st.lists(st.sampled_from([1, "a"]), max_size=3), min_size=5, max_size=10)


@given(_arrays, _lists)
def test_arrays(schema: dict[str, Any], instances: list[list[int | str]]) -> None:
    agrees(schema, instances)


@given(st.lists(_elements, min_size=1, max_size=2), _elements, _lists)
def test_items_until_2019(items: list[Any], further: Any, instances: list[list[int | str]]) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"}
    agrees({**schema, "items": items, "additionalItems": further}, instances)


test_schemas = schema_test(__file__)


def test_one_type_after_the_other() -> None:
    samples = {"null": None, "boolean": True, "integer": 1, "number": 1.5, "string": "a"}
    samples |= {"array": [], "object": {}}
    for name in samples:
        grammar = compiled({"type": name})
        found = {other for other, value in samples.items() if accepts(grammar, json.dumps(value))}
        assert found == {name} | ({"integer"} if name == "number" else set())


IN_DIGITS = Conventions(integers=Integers.DIGITS)
_WHOLE = st.integers(-(10**12), 10**12) | st.integers(-20, 20)


@given(_WHOLE, st.integers(-20, 20), st.sampled_from([1, 2, 5]), st.integers(0, 3))
def test_integers_in_digits_have_one_form(value: int, low: int, divisor: int, zeros: int) -> None:
    schema = {"type": "integer", "minimum": low, "multipleOf": divisor}
    grammar = compiled(schema, conventions=IN_DIGITS)
    assert accepts(grammar, str(value)) == (value >= low and value % divisor == 0)
    for text in (f"{value}.{'0' * (zeros + 1)}", f"{value}e{zeros}", f"{value}.5", "-0"):
        assert not accepts(grammar, text)
