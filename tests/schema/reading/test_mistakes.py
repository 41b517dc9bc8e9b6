"""Each mistake in the words that the lint and an error have for it."""

from typing import Any

import pytest

from enforcer.errors import SchemaError
from enforcer.schema import Root, compile_schema
from enforcer.schema.reading.mistakes import NO_VALUE, wrong_types
from enforcer.tools.lint import notes
from tests.support.cases import each_case

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@each_case
def test_a_mistake_has_a_note_and_an_error_the_same_words(schema: Any, at: str, words: str) -> None:
    tool = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    (note,) = notes(tool, closed=True)
    assert (note.path, note.reason) == (f"$.properties.a{at}", words)
    try:
        compile_schema(tool, root=Root.OBJECT)
    except SchemaError as error:
        assert list(error.problems) == [note]  # noqa: PT017
    else:
        assert not words.startswith((NO_VALUE, "must", "a schema is"))


@each_case
def test_what_is_right_has_no_note(schema: dict[str, Any]) -> None:
    assert notes({"type": "object", "properties": {"a": schema}}, closed=True) == []


@pytest.mark.parametrize("name", ["parameters", "input_schema", "inputSchema", "function"])
def test_a_tool_around_its_schema_is_named(name: str) -> None:
    (note,) = notes({"name": "f", "description": "d", name: CITY})
    assert (note.path, note.reason) == (
        "$",
        f"this is no schema but holds one, and any value fits it; write only its `{name}`",
    )


def test_of_many_wrong_types_five_are_named() -> None:
    assert str(wrong_types([*"abcdefg"])).count("is no type") == 5


def test_a_contradiction_is_no_error_where_another_keyword_is_to_blame() -> None:
    schema = {"type": "string", "enum": ["a", None], "minLength": 3}
    with pytest.raises(SchemaError, match="`enum` and `minLength` rule out"):
        compile_schema(schema)
