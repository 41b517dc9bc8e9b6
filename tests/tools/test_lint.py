from __future__ import annotations

from typing import Any

import pytest

import enforcer
from enforcer.tools.lint import notes
from tests.vocabularies import small, write

OBJECT = {"type": "object", "properties": {"a": {}}}
DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
SILENT = ("$", "")  # any value fits, as it says nothing


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (OBJECT, [("$", "additionalProperties")]),
        ({**OBJECT, "additionalProperties": False}, []),
        ({**OBJECT, "unevaluatedProperties": False}, []),
        ({"type": "object"}, []),
        ({"items": OBJECT}, [("$.items", "additionalProperties")]),
        ({"anyOf": [{}, OBJECT]}, [("$.anyOf[1]", "additionalProperties")]),
        ({"$defs": {"x": OBJECT}}, [("$.$defs.x", "additionalProperties")]),
        ({"type": "string", "nullable": True}, [("$.nullable", "nullable")]),
        ({"type": ["string", "null"], "nullable": True}, []),
        ({"type": ["string"], "nullable": True}, [("$.nullable", "nullable")]),
        ({"type": "null", "nullable": True}, []),
        ({"nullable": True}, [SILENT]),
        ({"type": "string", "nullable": False}, []),
        ({"type": "string", "format": "phone"}, [("$.format", "format")]),
        ({"type": "string", "format": "email"}, []),
        ({"type": "integer", "format": "int64"}, []),
        ({"type": "string", "format": {"date": 1}}, []),
        ({"format": "phone"}, [("$.format", "format")]),
        ({"type": ["null", "string"], "format": "phone"}, [("$.format", "format")]),
        ({"type": ["null", "integer"], "format": "phone"}, []),
        ({"format": "regex"}, []),
        ({"type": "string", "pattern": "[0-9]{5}"}, [("$.pattern", "pattern")]),
        ({"items": {"pattern": "(a|b)c"}}, [("$.items.pattern", "pattern")]),
        ({"pattern": r"\S+"}, []),
        ({"pattern": "^[0-9]{5}"}, []),
        ({"pattern": "[0-9]{5}$"}, []),
        ({"pattern": r"\bword\b"}, []),
        ({"pattern": "(?=x)y{3}"}, []),
        (
            {"patternProperties": {"[0-9]{5}": {}}, "properties": {"pattern": {}}},
            [
                ("$", "additionalProperties"),
            ],
        ),
        ({"items": [{}, OBJECT]}, [("$.items[1]", "additionalProperties")]),
        ({"type": "null", "desciption": "a keyword of notes, misspelt, is one of notes still"}, []),
        ({"properties": {"format": {}}, "additionalProperties": False}, []),
        ({"default": {"properties": {}}}, []),
        ({"enum": [{"nullable": True, "properties": {}}]}, []),
        ({"$ref": "#", "minLength": 1}, []),
        (
            {
                "$schema": DRAFT7,
                "not": {"$ref": "#/x", "enum": []},
            },
            [("$.not", "$ref")],
        ),
        (
            {
                "$schema": DRAFT7,
                "not": {"$ref": "#/x", "title": ""},
            },
            [],
        ),
        ({"$schema": DRAFT7, "prefixItems": [{}]}, [("$.prefixItems", "prefixItems")]),
        (
            {"$schema": DRAFT7, "not": {"if": {}, "dependentRequired": {}, "minContains": 2}},
            [
                ("$.not.dependentRequired", "dependentRequired"),
                ("$.not.minContains", "minContains"),
            ],
        ),
        ({"prefixItems": [{}], "dependencies": {}}, []),
        (
            {"minimum": 3, "exclusiveMinimum": True, "not": {"exclusiveMaximum": False}},
            [
                ("$.exclusiveMinimum", "exclusiveMinimum"),
                ("$.not.exclusiveMaximum", "exclusiveMaximum"),
            ],
        ),
        ({"$schema": DRAFT4, "minimum": 3, "exclusiveMinimum": True}, []),
        ({"exclusiveMinimum": 3}, []),
        ({"type": "object", "requred": ["a"]}, [("$.requred", "requred")]),
        ({"tpye": "string", "enmu": []}, [SILENT, ("$.enmu", "enmu"), ("$.tpye", "tpye")]),
        ({"items": {"minLenght": 3}}, [("$.items.minLenght", "minLenght")]),
        ({"$Ref": "#/$defs/x"}, [SILENT, ("$.$Ref", "$Ref")]),
        ({"anyof": [], "Type": "string"}, [SILENT, ("$.Type", "Type"), ("$.anyof", "anyof")]),
        ({"properties": {"requred": {}}, "additionalProperties": False}, []),
        (
            {
                "type": "null",
                "example": 1,
                "x-order": 2,
                "discriminator": {},
                "enumNames": [],
                "x" * 99: 1,
            },
            [],
        ),
        ({"$schema": "urn:own", "properties": {}}, []),
        ({"title": "A dashboard", "id": 7, "panels": [], "version": 3}, [SILENT]),
        ({"title": "anything", "description": "is meant", "$schema": DRAFT7}, []),
        ({"panels": [], "$ref": "#"}, []),
        ({"panels": [], "required": []}, []),
        ({"type": "object", "required": ["a", "b"]}, [("$.required", "required")]),
        (
            {"items": {**OBJECT, "required": ["a", "b"]}},
            [("$.items", "additionalProperties"), ("$.items.required", "required")],
        ),
        ({"required": "a"}, []),
        ({"required": [["a"]]}, []),
        ({"additionalProperties": False, "properties": {"a": {}}, "required": ["b"]}, []),
        ({"additionalProperties": {"type": "string"}, "required": ["b"]}, []),
        ({"patternProperties": {"^b": {}}, "required": ["b"]}, []),
        ({"$ref": "#/$defs/b", "required": ["b"]}, []),
        ({"allOf": [{"$ref": "#/$defs/b"}], "required": ["b"]}, []),
        (
            {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            [("$", "additionalProperties"), ("$.anyOf[1].required", "required")],
        ),
        (
            {"allOf": [{"required": ["a"]}, {"oneOf": [{**OBJECT}]}]},
            [("$.allOf[1].oneOf[0]", "additionalProperties")],
        ),
        (
            {"required": ["a"], "allOf": [{"anyOf": [{**OBJECT}]}]},
            [("$.allOf[0].anyOf[0]", "additionalProperties")],
        ),
        (
            {"not": {"required": ["b"]}, "if": {"required": ["b"]}, "then": {"required": ["b"]}},
            [("$.then.required", "required")],
        ),
        ({"not": {"anyOf": [{"required": ["b"]}]}}, []),
        (
            {
                "dependentSchemas": {"a": {"required": ["b"]}},
                "properties": {"b": {}, "a": {}},
                "unevaluatedProperties": False,
            },
            [],
        ),
        ({"enum": [{"b": 1}], "required": ["b"]}, []),
        (
            {"properties": {"b": {"properties": {"a": {}}, "required": ["b"]}}},
            [
                ("$", "additionalProperties"),
                ("$.properties.b", "additionalProperties"),
                ("$.properties.b.required", "required"),
            ],
        ),
        ({"panels": [], "$defs": {}}, []),
        ({"items": {"panels": []}}, []),
        ({}, []),
        (True, []),
    ],
)
def test_what_may_not_be_meant_is_found_where_it_stands(
    schema: Any, found: list[tuple[str, str]]
) -> None:
    assert [(each.path, each.keyword) for each in notes(schema)] == found


def test_objects_that_are_closed_are_no_surprise() -> None:
    assert notes(OBJECT, closed=True) == []


def test_what_closed_objects_require_undeclared_is_noted_too() -> None:
    (found,) = notes({**OBJECT, "required": ["b"]}, closed=True)
    assert found.reason.startswith("`required` names `b`, which `properties` does not declare")


def test_of_many_undeclared_names_five_are_named() -> None:
    (found,) = notes({"required": ["a", "b", "c", "d", "e", "f", "g"]})
    assert found.reason.startswith("`required` names `a`, `b`, `c`, `d`, `e` and 2 more, which")


def test_of_many_keywords_beside_a_reference_five_are_named() -> None:
    hidden = {"$ref": "#", "minLength": 1, "maxLength": 2, "enum": [], "const": 3, "not": {}}
    schema = {"$schema": DRAFT7, "not": hidden}
    (found,) = notes(schema)
    assert "`const`, `enum`, `maxLength`, `minLength`, `not` beside" in found.reason
    hidden["type"] = "string"
    assert "type" not in notes(schema)[0].reason


def test_a_keyword_that_its_draft_lacks_is_told_with_both_drafts() -> None:
    (found,) = notes({"$schema": DRAFT7, "dependentRequired": {"a": ["b"]}})
    assert found.reason.startswith(
        "`dependentRequired` came with 2019-09 and says nothing in draft-07"
    )


@pytest.mark.parametrize(
    ("beside", "flag", "read"),
    [
        ({"maximum": 5}, True, "`maximum` itself is not allowed; "),
        ({"maximum": 5}, False, "`maximum` itself is allowed; "),
        ({}, True, "without `maximum` it says nothing; "),
    ],
)
def test_a_boolean_bound_is_told_as_it_is_read(
    beside: dict[str, Any], flag: bool, read: str
) -> None:
    schema = {"type": "integer", **beside, "exclusiveMaximum": flag}
    (found,) = notes(schema)
    assert read in found.reason
    tool = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    function = {"type": "function", "function": {"name": "get", "parameters": tool}}
    matcher = enforcer.Enforcer(small()).matcher([function], tool_choice="required")
    turn = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
        '{"v": 5}<|tool_call_end|>'
    )
    ids = write(small(), turn)
    assert (matcher.validate(ids) == len(ids)) == ("not allowed" not in read)
