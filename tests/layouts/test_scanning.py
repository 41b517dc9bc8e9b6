"""Where a text of arguments ends, by its letters alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts.pattern import ID
from enforcer.layouts.scanning import JSON_TEXT, PYTHON_TEXT
from tests.drawn_json import any_value
from tests.laid_out import bound, symbols_of

if TYPE_CHECKING:
    from enforcer.layouts.scanning import NestedScan


def end_of(scan: NestedScan, symbols: bytes) -> int | None:
    """Give how many symbols there are to the end; None if it does not come."""
    for at, symbol in enumerate(symbols, 1):
        scan = scan.step(symbol)
        if scan is None:
            return None
        if scan.complete:
            return at
    return None


@given(st.dictionaries(st.text(), any_value(3), max_size=3), st.sampled_from([None, 1]), st.text())
def test_json_ends_with_its_outermost_bracket(
    value: dict[str, Any], indent: int | None, behind: str
) -> None:
    text = "\n " + json.dumps(value, indent=indent)
    assert end_of(JSON_TEXT, (text + behind).encode("utf-8", "replace")) == len(text)


@given(st.dictionaries(st.sampled_from("abc"), any_value(3), max_size=3), st.booleans())
def test_keyword_arguments_end_with_the_bracket_that_was_open(
    value: dict[str, Any], indented: bool
) -> None:
    gap = ",\n" if indented else ","
    text = gap.join(f"{key}={each!r}" for key, each in value.items()) + ")"
    data = text.encode("utf-8", "replace")
    assert end_of(PYTHON_TEXT, data + b")]") == len(data)


@pytest.mark.parametrize("text", ["x", "}", '"', "]", ID])
def test_what_no_arguments_begin_with(text: int | str) -> None:
    assert JSON_TEXT.step(text if text == ID else ord(str(text))) is None


def test_nothing_belongs_to_a_text_behind_its_end() -> None:
    assert end_of(JSON_TEXT, b"{}") == 2
    ended = JSON_TEXT.step(ord("{")).step(ord("}"))
    assert ended.complete
    assert ended.step(ord(" ")) is None
    k3 = bound("kimi_k3").scan()
    for symbol in symbols_of("<|close|>call<|sep|>", "kimi_k3"):
        k3 = k3.step(symbol)
    assert k3.complete
    assert k3.step(ord(" ")) is None


def test_an_id_outside_ends_what_has_no_end_of_its_own() -> None:
    scan = bound("glm45").scan()
    for symbol in symbols_of("<arg_key>a</arg_key><arg_value>b</arg_value>\n", "glm45"):
        scan = scan.step(symbol)
        assert not scan.complete
    assert scan.step(ord("x")) is None


def test_places_are_values() -> None:
    scans = [bound("kimi_k3").scan() for _ in range(2)]
    for symbol in symbols_of('<|open|>argument key="a', "kimi_k3"):
        scans = [scan.step(symbol) for scan in scans]
    assert scans[0] == scans[1]
    assert len(set(scans)) == 1
