"""Fields of a request as JSON text, and where what is no JSON stands."""

import json
from math import inf, nan
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidTools
from enforcer.request import json_text
from tests.support.nested import nested

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert json.loads(json_text.dump(value, "$")) == value


@pytest.mark.parametrize("leaf", [nan, inf, {1, 2}, object(), "\ud800", b"x"])
@pytest.mark.parametrize(
    ("wrapped", "levels", "path"),
    [
        (lambda leaf: leaf, 2, "$.tools"),
        (lambda leaf: [1, leaf], 0, "$.tools"),
        (lambda leaf: [1, leaf], 1, "$.tools[1]"),
        (lambda leaf: [1, {"a": leaf}], 2, "$.tools[1].a"),
        (lambda leaf: [1, {"a": [leaf]}], 2, "$.tools[1].a"),
    ],
)
def test_other_values_are_named_to_a_depth(leaf: Any, wrapped: Any, levels: int, path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        json_text.dump(wrapped(leaf), "$.tools", levels)
    assert caught.value.path == path


def test_what_is_nested_too_deeply_is_no_json() -> None:
    value = nested(100_000, lambda inner: [inner], 0)
    with pytest.raises(InvalidTools, match="not JSON"):
        json_text.dump(value, "$")


def test_an_error_of_msgspec_leads_into_the_field() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"a": [1, "x"]}', type=dict[str, list[int]])
    error = json_text.misfit(caught.value, "$.enforcer")
    assert error.path == "$.enforcer[...][1]"
    assert error.reason == "expected `int`, got `str`"
