"""Keyword arguments, against Python's own reader."""

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts import Decoder
from tests.laid_out import bound

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda x: st.lists(x) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), x),
    max_leaves=5,
)  # fmt: skip


def decode(text: str) -> dict[str, Any]:
    decoder = Decoder(bound("pythonic"), None)
    found: dict[str, Any] = json.loads(decoder.feed(text.encode()) + decoder.finish())
    return found


@given(st.dictionaries(st.sampled_from(["a", "b1", "from_"]), VALUES))
def test_what_repr_writes_is_read(value: dict[str, Any]) -> None:
    assert decode(", ".join(f"{key}={each!r}" for key, each in value.items()) + ")") == value


@given(st.text("\\x4uU0123abn'\"N{} \n", max_size=8))
def test_a_string_is_read_as_python_reads_it_or_not_at_all(body: str) -> None:
    try:
        expected = ast.literal_eval(f'"{body}"')
    except (SyntaxError, ValueError):
        expected = None
    try:
        found = decode(f'a="{body}")')["a"]
    except (ValueError, KeyError):
        return  # octal escapes may be refused, never misread
    assert found == expected


@pytest.mark.parametrize(
    "text", ["a=true, b=null)", "a=(1, 2))", "a=+5)", " a = 1 , )", "a=[1,])", ")"]
)
def test_what_vllm_reads_too(text: str) -> None:
    assert isinstance(decode(text), dict)


@pytest.mark.parametrize(
    "text",
    [
        *("5)", "a=)", "a=1 2)", 'a="b" "c")', "a=f(1))", "a=1e400)", "a={1: 2})", "a={**b})"),
        *("a=07)", r'a="\ud800")', r"a=['\ud83d\ude00'])", "from=1)", "a.b=1)", "a-b=1)", "*a)"),
        *("a=b)", "a=1j)", 'a="\n")', "a='x", "a=1"),
    ],
)
def test_what_is_no_literal_or_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(text)
