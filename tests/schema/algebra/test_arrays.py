"""Set operations on array shapes, asked of compiled schemas and checked by `jsonschema`."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enforcer.schema.algebra.arrays import least
from tests.schema_judge import agrees
from tests.support.schema_cases import schema_test

_typed = ({"type": "integer"}, {"type": ["integer", "string"]})
_values = st.sampled_from([True, False, *_typed, {"const": 1}, {"enum": [1, "x"]}])
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
def test_meet_is_intersection(one: Any, other: Any, instances: Any) -> None:
    agrees({"allOf": [one, other]}, instances)


@given(_arrays, st.lists(_instances, min_size=4, max_size=12))
def test_complement_is_the_rest(schema: Any, instances: Any) -> None:
    agrees({"not": schema}, instances)


test_schemas = schema_test(__file__)


_maxima = st.none() | st.integers(0, 5)


@given(_maxima, _maxima, st.integers(0, 6))
def test_the_least_of_two_maxima_bounds_both(a: int | None, b: int | None, count: int) -> None:
    def within(maximum: int | None) -> bool:
        return maximum is None or count <= maximum

    assert within(least(a, b)) == (within(a) and within(b))
