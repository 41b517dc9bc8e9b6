"""Where a text of arguments ends, by its letters alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.layouts.pattern import ID
from enforcer.layouts.scanning import JSON_TEXT, PYTHON_TEXT, NestedText
from tests.drawn_json import any_value
from tests.laid_out import bound, symbols_of


def end_of(scan: NestedText, symbols: bytes) -> int | None:
    """Give how many symbols there are to the end; None if it does not come."""
    for at, symbol in enumerate(symbols, 1):
        scan = scan.after(symbol)
        if scan is None:
            return None
        if scan.ends:
            return at
    return None


def follow(name: str, text: str) -> Any:
    """Return the place behind a text; None if it cannot stand there."""
    scan = bound(name).scan()
    for symbol in symbols_of(text, name):
        scan = None if scan is None else scan.after(symbol)
    return scan


@given(st.dictionaries(st.text(), any_value(3), max_size=3), st.sampled_from([None, 1]), st.text())
def test_json_ends_with_its_bracket(value: dict[str, Any], indent: int | None, behind: str) -> None:
    text = "\n " + json.dumps(value, indent=indent)
    assert end_of(JSON_TEXT, (text + behind).encode("utf-8", "replace")) == len(text)


@given(st.dictionaries(st.sampled_from("abc"), any_value(3), max_size=3), st.booleans())
def test_keyword_arguments_end_with_the_open_bracket(value: dict[str, Any], indented: bool) -> None:
    gap = ",\n" if indented else ","
    text = gap.join(f"{key}={each!r}" for key, each in value.items()) + ")"
    data = text.encode("utf-8", "replace")
    assert end_of(PYTHON_TEXT, data + b")]") == len(data)


@pytest.mark.parametrize("text", ["x", "}", '"', "]", ID])
def test_what_no_arguments_begin_with(text: int | str) -> None:
    assert JSON_TEXT.after(text if text == ID else ord(str(text))) is None


def test_nothing_belongs_to_a_text_behind_its_end() -> None:
    assert end_of(JSON_TEXT, b"{}") == 2
    ended = JSON_TEXT.after(ord("{")).after(ord("}"))
    assert ended.ends
    assert ended.after(ord(" ")) is None
    k3 = follow("kimi_k3", "<|close|>call<|sep|>")
    assert k3.ends
    assert k3.after(ord(" ")) is None


def test_an_id_outside_ends_what_has_no_end_of_its_own() -> None:
    scan = bound("glm45").scan()
    for symbol in symbols_of("<arg_key>a</arg_key><arg_value>b</arg_value>\n", "glm45"):
        scan = scan.after(symbol)
        assert not scan.ends
    assert scan.after(ord("x")) is None


def test_places_are_values() -> None:
    scans = [follow("kimi_k3", '<|open|>argument key="a') for _ in range(2)]
    assert scans[0] == scans[1]
    assert len(set(scans)) == 1


@pytest.mark.parametrize(
    ("value", "is_one"),
    [("x", True), ("</parameter", True), ("<</parameter", True), ("", True),
     ("</parameter>x", False)],
)  # fmt: skip
def test_a_value_ends_at_the_first_stop(value: str, is_one: bool) -> None:
    found = follow("qwen3_coder", f"<parameter=a>{value}</parameter>")
    assert (found is not None) == is_one
    if is_one:
        assert found is follow("qwen3_coder", "<parameter=b></parameter>")


@pytest.mark.parametrize("space", ["", " ", "\n", "\r\n\t ", "\n" + " " * 500])
def test_white_space_may_be_there_or_not(space: str) -> None:
    pair = f"{space}<parameter=a>b</parameter>{space}"
    assert follow("qwen3_coder", f"{pair}</function>").ends


@pytest.mark.parametrize("space", ["  ", "\r", "\t", "\n\n"])
def test_other_white_space_may_not(space: str) -> None:
    assert follow("qwen3_coder", f"{space}<parameter=a>") is None
