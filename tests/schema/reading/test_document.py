"""References by identifiers, and the paths of what they lead to."""

from __future__ import annotations

from typing import Any

import pytest

from enforcer.errors import InvalidSchema, SchemaError, UnsupportedSchema
from enforcer.schema import compile_schema
from enforcer.schema.reading.document import shown, step
from tests.schema_judge import accepts, compiled


def test_paths_can_be_read() -> None:
    assert step("$", "plain_1") == "$.plain_1"
    assert step("$.a", 3) == "$.a[3]"
    assert step("$", 'q"uo\\te') == '$["q\\"uo\\\\te"]'
    assert step("$", "") == '$[""]'
    assert step("$", " " * 64) == f'$["{" " * 64}"]'
    assert step("$", " " * 65) == f'$["{" " * 64}…"]'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ({"é": [1.5]}, '{"é": [1.5]}'),
        ("a" * 58, f'"{"a" * 58}"'),
        ("a" * 59, f'"{"a" * 59}…'),
    ],
)
def test_values_are_shown_as_json(value: Any, text: str) -> None:
    assert shown(value) == text


def listing(keyword: str) -> dict[str, Any]:
    """A schema whose list, a resource of its own, leaves its elements to an anchor."""
    return {
        "$id": "https://example.com/strict",
        "$ref": "list",
        "$defs": {
            "item": {"$dynamicAnchor": "item", "$ref": "#/$defs/thing"},
            "thing": {"type": "integer"},
            "list": {
                "$id": "https://example.com/list",
                "type": "array",
                "items": {keyword: "#item"},
                "$defs": {
                    "default": {"$dynamicAnchor": "item", "type": "string"},
                    "thing": {"type": "null"},
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("keyword", "fitting"), [("$dynamicRef", "[1]"), ("$ref", '["a"]')], ids=["dynamic", "static"]
)
def test_a_dynamic_anchor_is_dynamic_for_dynamic_references_alone(
    keyword: str, fitting: str
) -> None:
    # And `#/$defs/thing` is a part of the resource that the outermost anchor stands in.
    grammar = compiled(listing(keyword))
    for text in ("[1]", '["a"]', "[null]"):
        assert accepts(grammar, text) is (text == fitting)


def test_what_a_pointer_leads_to_is_of_the_draft_of_its_resource() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/old",
        "definitions": {
            "a": {"$ref": "#/definitions/b", "type": "null"},
            "b": {"type": "integer"},
        },
    }
    grammar = compiled({"$ref": "https://example.com/old#/definitions/a", "$defs": {"old": old}})
    assert accepts(grammar, "1")  # up to draft 7, `$ref` hides what stands beside it
    assert not accepts(grammar, "null")


@pytest.mark.parametrize("fragment", ["#/$defs/b", "#b", "#a/b"])
def test_a_reference_to_nothing_in_a_resource_of_its_own(fragment: str) -> None:
    inner = {"$id": "https://example.com/inner", "$defs": {"a": True}}
    with pytest.raises(InvalidSchema, match="leads to nothing in that document") as refusal:
        compile_schema({"items": {"$ref": f"inner{fragment}"}, "$defs": {"inner": inner},
                        "$id": "https://example.com/outer"})  # fmt: skip
    assert refusal.value.path == "$.items.$ref"


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("inner", "$.items -> https://example.com/inner.multipleOf"),
        ("inner#/$defs/a", "$.items -> https://example.com/inner#/$defs/a.pattern"),
        ("inner#b", "$.items -> https://example.com/inner#b.pattern"),
        ("#/$defs/local", "$.$defs.local.pattern"),
        ("inner#/$defs/back", "$.$defs.local.pattern"),
        ("inner#/$defs/to", "$.items -> https://example.com/inner#/$defs/a.pattern"),
    ],
)
def test_a_path_names_the_resource_that_a_problem_is_in(ref: str, path: str) -> None:
    wrong = {"pattern": "("}
    inner = {
        "$id": "inner",
        "multipleOf": "a",
        "$defs": {
            "a": wrong,
            "b": {"$anchor": "b", **wrong},
            "back": {"$ref": "outer#/$defs/local"},
            "to": {"$ref": "#/$defs/a"},
        },
    }
    outer = {
        "$id": "https://example.com/outer",
        "items": {"$ref": ref},
        "$defs": {"inner": inner, "local": wrong},
    }
    with pytest.raises(SchemaError) as refusal:
        compile_schema(outer)
    assert refusal.value.path == path


@pytest.mark.parametrize(
    ("ref", "fitting"),
    [
        ("#/$defs/0", "1"),
        ("#/$defs/list/0", '"a"'),
        ("#/$defs/list/1", "null"),
        ("#/$defs/01", "true"),
        ("#/$defs/a~1b~0c%25", "[]"),
    ],
)
def test_a_pointer_goes_by_names_and_by_indices(ref: str, fitting: str) -> None:
    parts = {
        "0": {"type": "integer"},
        "list": [{"type": "string"}, {"type": "null"}],
        "01": {"type": "boolean"},
        "a/b~c%": {"type": "array"},
    }
    grammar = compiled({"$ref": ref, "$defs": parts})
    for text in ("1", '"a"', "null", "true", "[]"):
        assert accepts(grammar, text) is (text == fitting)


@pytest.mark.parametrize(
    "ref", ["#/$defs/list/2", "#/$defs/list/a", "#/$defs/list/\u0660", "#/x/0"]
)
def test_a_pointer_past_the_end_leads_to_nothing(ref: str) -> None:
    with pytest.raises(InvalidSchema, match="leads to nothing in this schema") as refusal:
        compile_schema({"items": {"$ref": ref}, "$defs": {"list": [True, True]}})
    assert refusal.value.path == "$.items.$ref"


@pytest.mark.parametrize("ref", ["#/$defs/a", "https://example.com/a#/$defs/a"])
@pytest.mark.parametrize("value", [None, 5, True])
def test_a_pointer_through_what_has_no_parts_leads_to_nothing(ref: str, value: Any) -> None:
    with pytest.raises(InvalidSchema, match="leads to nothing in"):
        compile_schema({"$id": "https://example.com/a", "$defs": value, "$ref": ref})


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": 5},
        {"$id": ["a"], "items": {"$ref": "#"}},
        {"$id": "https://example.com/a", "items": {"$id": 5}},
    ],
)
def test_an_identifier_that_is_no_text_is_named(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema, match="must be a string") as refusal:
        compile_schema(schema)
    (problem,) = refusal.value.problems
    path = "$.items.$id" if schema["$id"] == "https://example.com/a" else "$.$id"
    assert (problem.path, problem.keyword) == (path, "$id")


@pytest.mark.parametrize("keyword", ["$anchor", "$dynamicAnchor"])
def test_a_tree_that_refers_to_its_anchor_has_few_paths(keyword: str) -> None:
    ref = {"$ref": "#node"} if keyword == "$anchor" else {"$dynamicRef": "#node"}
    tree = {
        keyword: "node",
        "properties": {
            "left": {"items": ref},
            "right": {"items": ref},
            "tags": {"contains": {"type": "string"}, "uniqueItems": True},
        },
    }
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(tree)
    assert {problem.keyword for problem in caught.value.problems} == {"uniqueItems"}
    assert {problem.path for problem in caught.value.problems} == {
        "$.properties.tags.uniqueItems",
        "$.properties.left.items -> #node.properties.tags.uniqueItems",
    }


@pytest.mark.parametrize("beside", [{}, {"id": {"type": "string"}}])
@pytest.mark.parametrize("named", ["http://json-schema.org/draft-07/schema#", "urn:unknown"])
def test_a_dialect_is_that_of_a_resource_whatever_properties_are_called(
    beside: dict[str, Any], named: str
) -> None:
    schema = {
        "properties": {
            "a": {"$schema": named, "$ref": "#/definitions/q", "maximum": 5},
            **beside,
        },
        "definitions": {"q": {"type": "integer"}},
    }
    grammar = compiled(schema)
    # In draft 7 nothing beside a reference would count.
    assert [accepts(grammar, text) for text in ('{"a":3}', '{"a":7}')] == [True, False]


def test_an_unknown_dialect_is_refused_with_its_path() -> None:
    schema = {"properties": {"a": {"$id": "https://example.com/a", "$schema": "urn:unknown"}}}
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(schema)
    assert [problem.path for problem in caught.value.problems] == ["$.properties.a.$schema"]
