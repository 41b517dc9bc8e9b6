from typing import Any

import enforcer
from enforcer.tools.lint import notes
from tests.support.cases import parametrized
from tests.vocabularies import small, write

OBJECT = {"type": "object", "properties": {"a": {}}}
DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
SILENT = ("$", "")  # any value fits, as it says nothing


@parametrized("tools/cases/lint.toml", "notes")
def test_likely_mistakes_are_found_where_they_are(schema: Any, found: list[list[str]]) -> None:
    assert [[each.path, each.keyword] for each in notes(schema)] == found


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


@parametrized("tools/cases/lint.toml", "boolean_bounds")
def test_a_boolean_bound_is_told_as_read(beside: dict[str, Any], flag: bool, read: str) -> None:
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
