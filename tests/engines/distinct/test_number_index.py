"""Numbers that are found by their first digits: none is missed, and the text goes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.engines.distinct.number_index import NumberIndex
from enforcer.engines.distinct.values import Number, Word, bare

INTEGERS = st.integers(-(10**20), 10**20) | st.integers(-30, 130)
VALUES = st.one_of(
    INTEGERS,
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-10, 10, places=3).map(float),
    st.sampled_from([0, -0.0, 2**53 + 1, 9007199254740992.0, 0.3, 0.1 + 0.2, 5e-324, 1e22, 10**22]),
).map(Number)
WORDS = st.sampled_from([Word("null"), Word("true"), Word("false")])


def _value(each: Any) -> Any:
    return each.value


def spellings(number: Any) -> Any:
    value = number.value
    if isinstance(value, int):
        yield from (str(value), f"{value}.0", f"{value}e0", f"{value}00E-2")
    yield from (repr(float(value)), f"{float(value):.40f}", f"{float(value):.20e}")


@pytest.mark.slow
@given(st.lists(VALUES | WORDS, max_size=30), st.data())
def test_what_a_text_may_become_is_among_them(values: Any, data: st.DataObject) -> None:
    numbers, value = NumberIndex.of(values), data.draw(VALUES)
    text = data.draw(st.sampled_from(list(spellings(value))))
    read = bare(text)
    here = sum(each == read for each in values)
    for end in range(1, len(text) + 1):
        begun = text[:end]
        left = numbers.among(begun)
        assert sum(each == read for each in left) == here
        assert len(left) == len(list(left)) <= len(values)
        if begun.lstrip("-").strip("0").isdigit():
            assert numbers.count(begun) >= len(left) - sum(_value(each) == 0 for each in left)
        if "e" not in text.lower() and "." in begun:
            assert sum(each == read for each in left.becoming(begun)) == here


@given(st.lists(VALUES | WORDS | st.just("text"), unique=True), st.integers(0, 40))
def test_one_by_one_and_back_is_the_same(values: Any, count: int) -> None:
    count = min(count, len(values))
    grown = NumberIndex()
    for value in values:
        grown = grown.plus(value)
    assert sorted(map(repr, grown)) == sorted(map(repr, NumberIndex.of(values)))
    for value in reversed(values[count:]):
        grown = grown.minus(value)
    assert sorted(map(repr, grown)) == sorted(map(repr, NumberIndex.of(values[:count])))
    assert len(grown.among("1")) == len(NumberIndex.of(values[:count]).among("1"))
