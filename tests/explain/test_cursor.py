"""Where in a JSON text one stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.explain.cursor import locate, written
from tests.drawn_json import any_value


@pytest.mark.parametrize(
    ("text", "path", "here", "begun"),
    [
        ("", (), None, ""),
        ("12", (), None, "12"),
        ("{", (), "", ""),
        ('{"a', (), "", '"a'),
        ('{"a"', (), "a", ""),
        ('{"a":', ("a",), "a", ""),
        ('{"a": "x\\"y', ("a",), "a", '"x\\"y'),
        ('{"a": 1', ("a",), "a", "1"),
        ('{"a": 1 ', (), "a", ""),
        ('{"a": 1, ', (), "a", ""),
        ('{"a": {"b": [', ("a", "b", 0), 0, ""),
        ('{"a": {"b": [1, ', ("a", "b", 1), 1, ""),
        ('{"a": {"b": [1]', ("a",), "b", ""),
        ('[[], [{}, "', (1, 1), 1, '"'),
        ('["a,]}"', (), 0, ""),
    ],
)
def test_places(text: str, path: tuple[int | str, ...], here: int | str | None, begun: str) -> None:
    found = locate(text.encode())
    assert (found.path, found.here, found.begun) == (path, here, begun.encode())


@given(any_value(3), st.data())
def test_a_path_leads_to_what_has_been_begun(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    until = data.draw(st.integers(0, len(text)))
    found = locate(text[:until])
    if not found.begun:
        return
    inner = value
    for key in found.path:
        inner = inner[key]
    if not isinstance(inner, dict):
        assert json.dumps(inner, ensure_ascii=False).encode().startswith(found.begun)


@given(any_value(3))
def test_a_whole_text_is_at_its_end(value: Any) -> None:
    found = locate(json.dumps(value).encode())
    assert (found.path, found.here) == ((), None)


def test_written() -> None:
    assert written(("a", 0, "b c", 'q"')) == '$.a[0]["b c"]["q\\""]'
