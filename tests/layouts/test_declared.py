"""Declared types, against copies of vLLM's functions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts.declared import ONLY_STRING, read_value, types_of_properties
from tests.laid_out import TEXTS, TYPES, coerced, types

ENUMS = st.lists(st.sampled_from([None, 1, 1.5, True, "a", [], {}]), max_size=2)
SCHEMAS = st.recursive(
    st.one_of(
        st.just({}),
        st.booleans(),
        st.fixed_dictionaries({"type": st.sampled_from(TYPES)}),
        st.fixed_dictionaries({"type": st.lists(st.sampled_from(TYPES), max_size=3)}),
        st.fixed_dictionaries({"enum": ENUMS}),
        st.just({"const": 5}),
    ),
    lambda inner: st.fixed_dictionaries(
        {}, optional={k: st.lists(inner, max_size=2) for k in ("anyOf", "oneOf", "allOf")}
    ),
    max_leaves=4,
)


@given(SCHEMAS)
def test_the_types_that_count_as_declared(schema: dict[str, Any]) -> None:
    assert types_of_properties({"properties": {"a": schema}}).get("a", ONLY_STRING) == types(schema)


@given(TEXTS, st.sets(st.sampled_from(TYPES), min_size=1))
def test_a_text_is_read_as_vllm_reads_it(text: str, declared: set[str]) -> None:
    expected = coerced(text, {"type": sorted(declared)})
    assert json.dumps(read_value(text, frozenset(declared))) == json.dumps(expected)


@pytest.mark.parametrize(
    ("alias", "name"),
    [("str", "string"), ("Int", "integer"), (" float ", "number"), ("dict", "object")],
)
def test_names_of_other_languages_are_known(alias: str, name: str) -> None:
    assert types_of_properties({"properties": {"a": {"type": alias}}}) == {"a": {name}}


@pytest.mark.parametrize(
    "schema", [None, True, [], {"properties": []}, {"properties": {"a": True}}]
)
def test_nothing_is_declared(schema: Any) -> None:
    assert types_of_properties(schema) == {}
