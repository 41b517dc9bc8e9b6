"""Where in a JSON text one stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.tools.explain.cursor import JsonDue, locate, written
from tests.drawn_json import any_value


@pytest.mark.parametrize(
    ("text", "path", "due", "begun"),
    [
        ("", (), JsonDue.VALUE, ""),
        ("12", (), JsonDue.VALUE, "12"),
        ("{", (), JsonDue.NAME, ""),
        ('{"a', (), JsonDue.NAME, '"a'),
        ('{"a"', (), JsonDue.COLON, ""),
        ('{"a":', ("a",), JsonDue.VALUE, ""),
        ('{"a": "x\\"y', ("a",), JsonDue.VALUE, '"x\\"y'),
        ('{"a": "x\\', ("a",), JsonDue.VALUE, '"x\\'),
        ('{"a": 1', ("a",), JsonDue.VALUE, "1"),
        ('{"a": 1 ', (), JsonDue.MORE, ""),
        ('{"a": 1, ', (), JsonDue.NAME, ""),
        ('{"a": {"b": [', ("a", "b", 0), JsonDue.VALUE, ""),
        ('{"a": {"b": [1, ', ("a", "b", 1), JsonDue.VALUE, ""),
        ('{"a": {"b": [1]', ("a",), JsonDue.MORE, ""),
        ('[[], [{}, "', (1, 1), JsonDue.VALUE, '"'),
        ('["a,]}"', (), JsonDue.MORE, ""),
    ],
)
def test_places(text: str, path: tuple[int | str, ...], due: JsonDue, begun: str) -> None:
    found = locate(text.encode())
    assert (found.path, found.due, found.begun) == (path, due, begun.encode())
    assert found.opened == text.endswith(("{", "["))


def test_what_is_complete_is_read() -> None:
    found = locate(b'{"a": [1, null], "b": [{"x": "y"}, tru')
    assert [each.members for each in found.inside] == [{"a": [1, None]}, [{"x": "y"}]]
    assert found.ended() is None
    behind = locate(b"[1, 12").ended()
    assert behind is not None
    assert (behind.due, behind.inside[0].members) == (JsonDue.MORE, [1, 12])


@pytest.mark.parametrize(
    ("begun", "string"),
    [
        (b'"', ("", b"")),
        (b'"a\\"', ('a"', b"")),
        (b'"a\\', ("a", b"\\")),
        (b'"a\\u00', ("a", b"\\u00")),
        (b'"\\ud83d\\ud', ("", b"\\ud83d\\ud")),
        (b'"\xe6\x97', ("", b"\xe6\x97")),
        (b"12", None),
    ],
)
def test_a_string_that_has_been_begun(begun: bytes, string: tuple[str, bytes] | None) -> None:
    assert locate(begun).string == string


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
    assert (found.path, found.inside) == ((), ())


@pytest.mark.parametrize("text", ["}", "{}]", "1,", "[True,"])
def test_what_is_no_beginning_of_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a bracket or a comma|Expecting value"):
        locate(text.encode())


def test_written() -> None:
    assert written(("a", 0, "b c", 'q"')) == '$.a[0]["b c"]["q\\""]'
