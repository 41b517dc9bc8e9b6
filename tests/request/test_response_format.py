"""`response_format` and vLLM's `structured_outputs`, read into one value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from enforcer.errors import InvalidTools
from enforcer.request.response_format import FormatKind, ResponseFormat, parse

EMPTY: list[Any] = []


@pytest.mark.parametrize(
    ("value", "kind", "source"),
    [
        ({"type": "json_object"}, FormatKind.JSON_SCHEMA, {"type": "object"}),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "null"}}},
            FormatKind.JSON_SCHEMA,
            {"type": "null"},
        ),
        ({"type": "json_schema", "json_schema": {"schema": True}}, FormatKind.JSON_SCHEMA, True),
        ({"type": "choice", "choice": ["é", "b"]}, FormatKind.CHOICE, ["é", "b"]),
    ],
)
def test_formats_with_a_json_source(value: dict[str, Any], kind: FormatKind, source: Any) -> None:
    found = parse(value)
    assert found is not None
    assert found.kind is kind
    assert json.loads(found.source) == source


@pytest.mark.parametrize("kind", ["regex", "grammar"])
def test_formats_with_a_source_of_their_own(kind: str) -> None:
    assert parse({"type": kind, kind: "a|b"}) == ResponseFormat(FormatKind(kind), "a|b")


@pytest.mark.parametrize("value", [None, {"type": "text"}])
def test_free_text_is_no_format(value: dict[str, Any] | None) -> None:
    assert parse(value) is None


def test_equal_formats_are_equal_values() -> None:
    made = [
        parse({"type": "choice", "choice": ("a", "b")}),
        parse({"type": "choice", "choice": ["a", "b"]}),
    ]
    assert len(set(made)) == 1


@pytest.mark.parametrize(
    ("value", "path"),
    [
        *((each, "") for each in (3, "text", ["text"], True)),
        *(({"type": each}, ".type") for each in ("json", None, EMPTY, 3)),
        ({}, ".type"),
        *(({"type": "regex", "regex": each}, ".regex") for each in ("", None, 3)),
        ({"type": "grammar"}, ".grammar"),
        *(({"type": "choice", "choice": each}, ".choice") for each in ([], "ab", [1], None, b"a")),
        ({"type": "json_schema"}, ".json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"schema": "a"}}, ".json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"schema": {"a": {1}}}}, ".json_schema.schema"),
        (
            {"type": "json_schema", "json_schema": {"schema": {"const": float("nan")}}},
            ".json_schema.schema",
        ),
    ],
)
def test_another_form_is_refused_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        parse(value)
    assert caught.value.path == f"$.response_format{path}"
