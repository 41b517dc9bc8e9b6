"""`response_format` and vLLM's `structured_outputs`, read into one value."""

import json
from typing import Any

import pytest

from enforcer.errors import InvalidTools
from enforcer.request.response_format import FormatKind, ResponseFormat, parse
from tests.support.cases import each_case


@each_case
def test_formats_with_a_json_source(value: dict[str, Any], kind: str, source: Any) -> None:
    found = parse(value)
    assert found is not None
    assert found.kind is FormatKind(kind)
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


@each_case
def test_another_form_is_refused_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        parse(value)
    assert caught.value.path == f"$.response_format{path}"


def test_what_json_cannot_carry_is_refused_with_its_place() -> None:
    test_another_form_is_refused_with_its_place({"type": "choice", "choice": b"a"}, ".choice")
    for schema in ({"a": {1}}, {"const": float("nan")}):
        wanted = {"type": "json_schema", "json_schema": {"schema": schema}}
        test_another_form_is_refused_with_its_place(wanted, ".json_schema.schema")
