"""Each mistake in the words that the lint and an error have for it."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import SchemaError
from enforcer.schema import Root, compile_schema
from enforcer.schema.reading.mistakes import NO_VALUE, wrong_types
from enforcer.tools.lint import notes

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NO_LIST = "`required` is a list of names since draft 4, not a boolean; "

# The schema of a property, where in it the mistake is, and the words.
MISTAKES: list[tuple[Any, str, str]] = [
    # `required`, and what is optional.
    (
        {"type": "string", "required": True},
        ".required",
        f"{NO_LIST}name this property in the `required` of the object around it",
    ),
    (
        {"required": False},
        ".required",
        f"{NO_LIST}leave it out; a property is optional unless the object around it requires it",
    ),
    (
        {"type": "string", "optional": True},
        ".optional",
        (
            "`optional` is no keyword of JSON Schema: a property is optional unless the "
            "`required` of the object around it names it"
        ),
    ),
    (
        {"type": "string", "required": ["city"]},
        ".required",
        (
            "`required` says nothing about `type: string`; name properties in the `required` of "
            "the object that has them"
        ),
    ),
    # Keywords that are about another type.
    (
        {"type": "array", "required": ["city"]},
        ".required",
        "`required` says nothing about `type: array`; move it into `items`?",
    ),
    (
        {"type": "array", "additionalProperties": False},
        ".additionalProperties",
        "`additionalProperties` says nothing about `type: array`; move it into `items`?",
    ),
    (
        {"type": ["string", "null"], "properties": {}, "additionalProperties": False},
        ".properties",
        '`properties` says nothing about `type: ["string", "null"]`; is `type: object` meant?',
    ),
    (
        {"type": "integer", "minLength": 3},
        ".minLength",
        "`minLength` says nothing about `type: integer`; is `type: string` meant?",
    ),
    (
        {"type": "string", "items": {}},
        ".items",
        "`items` says nothing about `type: string`; is `type: array` meant?",
    ),
    # Listed values.
    (
        {"type": "array", "enum": ["a", "b"]},
        ".enum",
        f"{NO_VALUE} (`enum` contradicts `type: array`); move `enum` into `items`?",
    ),
    (
        {"type": ["null", "integer"], "enum": ["1", "2"]},
        ".enum",
        f'{NO_VALUE} (`enum` contradicts `type: ["null", "integer"]`); write 1, 2 without quotes?',
    ),
    (
        {"type": "object", "enum": ["a", "b"]},
        ".enum",
        f"{NO_VALUE} (`enum` contradicts `type: object`); is `type: string` meant?",
    ),
    (
        {"type": "boolean", "enum": ["yes", 0]},
        ".enum",
        f"{NO_VALUE} (`enum` contradicts `type: boolean`); leave `type` out?",
    ),
    (
        {"type": "string", "const": 3.5},
        ".const",
        f"{NO_VALUE} (`const` contradicts `type: string`); is `type: number` meant?",
    ),
    (
        {"type": "string", "enum": ["a", None]},
        ".enum",
        '`type: string` rules out null of `enum`; write `"type": ["string", "null"]`?',
    ),
    # Names of types.
    ({"type": "float"}, ".type", '"float" is no type; write "number"'),
    ({"type": "int"}, ".type", '"int" is no type; write "integer"'),
    ({"type": "str"}, ".type", '"str" is no type; write "string"'),
    ({"type": "dict"}, ".type", '"dict" is no type; write "object"'),
    ({"type": "list"}, ".type", '"list" is no type; write "array"'),
    ({"type": "STRING"}, ".type", '"STRING" is no type; write "string"'),
    ({"type": "bolean"}, ".type", '"bolean" is no type; write "boolean"'),
    ({"type": "any"}, ".type", '"any" is no type; leave `type` out if any value is meant'),
    (
        {"type": ["str", "None"]},
        ".type",
        '"str" is no type; write "string"; "None" is no type; write "null"',
    ),
    (
        {"type": ["string", None]},
        ".type",
        'null is no type; write "null" with quotes, or leave `type` out if any value is meant',
    ),
    (
        {"type": {"type": "string"}},
        ".type",
        (
            '{"type": "string"} is no type; if a property of that name is meant, move it into '
            "`properties`"
        ),
    ),
    (
        {"type": "function"},
        ".type",
        '"function" is no type; this is a whole tool: write only the schema, its `parameters`',
    ),
    (
        {"type": "url"},
        ".type",
        '"url" is no type; use "null", "boolean", "integer", "number", "string", "array", "object"',
    ),
    # Values of keywords.
    ({"enum": None}, ".enum", "must not be null; leave it out"),
    ({"pattern": None}, ".pattern", "must be a string; leave it out"),
    (
        {"minLength": "3"},
        ".minLength",
        "must be a whole number, zero or more; write 3 without quotes",
    ),
    ({"uniqueItems": "True"}, ".uniqueItems", "must be a boolean; write true without quotes"),
    (
        {"properties": [{"name": "city"}], "additionalProperties": False},
        ".properties",
        "must be an object that maps the name of each property to its schema",
    ),
    # Schemas that are none.
    (None, "", "a schema is an object or a boolean, not null; leave it out"),
    ("int", "", 'a schema is an object or a boolean, not "int"; write {"type": "integer"}'),
    ("city", "", 'a schema is an object or a boolean, not "city"'),
    (
        {"additionalProperties": "False"},
        ".additionalProperties",
        'a schema is an object or a boolean, not "False"; write false without quotes',
    ),
    (
        {"properties": {"city": {}, "required": ["city"]}, "additionalProperties": False},
        ".properties.required",
        (
            'a schema is an object or a boolean, not ["city"]; in `properties` it is the name of a '
            "property: move `required` out of it"
        ),
    ),
    (
        {"properties": {"type": "object", "city": {}}, "additionalProperties": False},
        ".properties.type",
        (
            'a schema is an object or a boolean, not "object"; in `properties` it is the name of a '
            "property: move `type` out of it"
        ),
    ),
    (
        {"properties": {"type": "str"}, "additionalProperties": False},
        ".properties.type",
        'a schema is an object or a boolean, not "str"; write {"type": "string"}',
    ),
    # Names that are no keywords.
    (
        {"type": "string", "nullable": True},
        ".nullable",
        (
            "`nullable` is no keyword of JSON Schema, so that null is not allowed here; write "
            '`"type": ["string", "null"]`'
        ),
    ),
    (
        {"type": "object", "city": {"type": "string"}},
        ".city",
        "if `city` is the name of a property, move it into `properties`",
    ),
    (
        {"description": {"type": "string"}},
        ".description",
        "if `description` is the name of a property, move it into `properties`",
    ),
    (
        {"type": "integer", "min": 3},
        ".min",
        "`min` is no keyword of JSON Schema and says nothing; is `minimum` meant?",
    ),
    (
        {"type": "string", "options": ["a", "b"]},
        ".options",
        "`options` is no keyword of JSON Schema and says nothing; is `enum` meant?",
    ),
    # Defaults.
    (
        {"type": "boolean", "default": "False"},
        ".default",
        'the default "False" does not fit `type: boolean`; write it without quotes',
    ),
    (
        {"type": "string", "default": None},
        ".default",
        'the default null does not fit `type: string`; leave it out, or add "null" to `type`',
    ),
    (
        {"type": "array", "default": "1"},
        ".default",
        'the default "1" does not fit `type: array`; correct it',
    ),
    (
        {"enum": ["a"], "default": "b"},
        ".default",
        'the default "b" is not in `enum`; add it there, or correct it',
    ),
    # Patterns and formats.
    (
        {"type": "string", "pattern": "/^[a-z]+$/"},
        ".pattern",
        f"{NO_VALUE}: the `/` before `^` is a part of the pattern; write it without slashes",
    ),
    (
        {"type": "string", "format": "url"},
        ".format",
        "the format 'url' is not known, so that any string fits; is `uri` meant?",
    ),
]


@pytest.mark.parametrize(("schema", "at", "words"), MISTAKES)
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


@pytest.mark.parametrize(
    "schema",
    [
        CITY,
        {"type": "array", "items": CITY, "minItems": 1, "uniqueItems": True},
        {"type": ["string", "null"], "enum": ["a", None], "default": None},
        {"type": "number", "enum": [1, 2.5], "default": 1, "minimum": 0},
        {"type": "integer", "const": 2.0, "default": 3.0},
        {"type": ["integer", "string"], "minimum": 3, "minLength": 2},
        {"type": "integer", "format": "int64"},
        {"type": "string", "additionalProperties": False},
        {"type": "string", "format": "password"},
        {"type": "string", "enum": ["a"], "x-ui": {"type": "string"}, "ui": {"type": "menu"}},
        {"type": "string", "options": {"hidden": True}, "min": "a", "optional": "no"},
        {"properties": {"required": {"type": "boolean"}, "type": {}, "default": True}},
        {"anyOf": [{"type": "array"}, {"minLength": 3}], "default": {"type": "string"}},
        {"enum": [None, True, "1"], "const": None, "default": None, "description": None},
        {"dependencies": {"a": ["b"]}, "definitions": {"a": "note"}},
        {"type": "object", "_format": "date", "//pattern": "^a", "@type": "Thing"},
        {"type": "string", "nullable": False},
        {"type": "string", "pattern": "/^a|^b"},
    ],
)  # fmt: skip
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
