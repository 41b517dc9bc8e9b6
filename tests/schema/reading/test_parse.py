"""What keywords mean that combine subschemas, and what is malformed in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from enforcer.errors import InvalidSchema, SchemaLimit
from enforcer.schema import Limits
from tests.schema_judge import accepts, compiled

DRAFT4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


def takes(schema: dict[str, Any], *values: Any) -> list[bool]:
    grammar = compiled(schema)
    return [accepts(grammar, json.dumps(value)) for value in values]


@pytest.mark.parametrize("draft", [{}, DRAFT4, DRAFT7])
@pytest.mark.parametrize("needed", ["b", ["b"], {"required": ["b"]}])
def test_dependencies(draft: dict[str, Any], needed: Any) -> None:
    schema = {**draft, "type": "object", "dependencies": {"a": needed}}
    found = takes(schema, {}, {"b": 1}, {"a": 1}, {"a": 1, "b": 1})
    assert found == [True, True, False, True]


def test_dependencies_by_the_new_names() -> None:
    one = {"type": "object", "dependentRequired": {"a": ["b", "c"]}}
    assert takes(one, {}, {"a": 1, "b": 1}, {"c": 1, "a": 1, "b": 1}) == [True, False, True]
    other = {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}, "b": False}}
    assert takes(other, {}, {"a": 1}, {"a": 1, "b": 1}, {"c": 1}) == [True, False, False, True]


@pytest.mark.parametrize(
    ("schema", "keyword", "reason"),
    [
        ({"dependentRequired": {"a": "b"}}, "dependentRequired", "lists of names"),
        ({"dependentRequired": {"a": {}}}, "dependentRequired", "lists of names"),
        ({"dependentRequired": {"a": ["b", 1]}}, "dependentRequired", "must list"),
        ({"dependentRequired": []}, "dependentRequired", "an object"),
        ({"dependentSchemas": {"a": ["b"]}}, "", "a schema is"),
        ({"dependentSchemas": {"a": "b"}}, "", "a schema is"),
        ({"dependencies": {"a": 3}}, "", "a schema is"),
        ({"enum": {"a": 1}}, "enum", "a list"),
        ({"allOf": {}}, "allOf", "list"),
        ({"not": 3}, "", "a schema is"),
        ({"properties": {"a": "string"}}, "", "a schema is"),
    ],
)
def test_what_is_malformed_is_named(schema: dict[str, Any], keyword: str, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason) as caught:
        compiled({"type": "object", **schema})
    assert caught.value.problems[0].keyword == keyword


def test_conditionals() -> None:
    kind = {"properties": {"a": {"const": 1}}, "required": ["a"]}
    schema = {
        "type": "object",
        "if": kind,
        "then": {"required": ["b"]},
        "else": {"required": ["c"]},
    }
    values: tuple[Any, ...] = ({"a": 1}, {"a": 1, "b": 1}, {"a": 2}, {"a": 2, "c": 1}, {"c": 1}, {})
    assert takes(schema, *values) == [False, True, False, True, True, False]
    # `then` and `else` by themselves say nothing.
    del schema["if"]
    assert all(takes(schema, *values))


def test_what_may_count_as_either_has_to_fit_both_ways() -> None:
    # `\w` is read in two ways; "é" fits one of them.
    unclear = {"type": "string", "if": {"pattern": r"^\w$"}, "then": {"maxLength": 1}}
    assert takes(unclear, "a", "é", "--") == [True, True, True]
    unclear["else"] = {"minLength": 2}
    assert takes(unclear, "a", "é", "--") == [True, False, True]


def test_a_reference_hides_what_stands_beside_it_up_to_draft_7() -> None:
    schema = {"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a", "minimum": 5}
    assert takes(schema, 3, 7) == [False, True]
    assert takes({**DRAFT7, **schema}, 3, 7) == [True, True]


def test_keywords_of_other_drafts_say_nothing() -> None:
    assert takes({**DRAFT4, "const": 1, "if": {}, "then": False}, 1, 2) == [True, True]
    assert takes({"type": "object", **DRAFT7, "dependentRequired": {"a": ["b"]}}, {"a": 1}) == [
        True
    ]


def test_the_usual_leaf_is_the_same_with_notes_and_without() -> None:
    noted = {"type": "integer", "title": "A", "description": "B", "default": 3, "examples": [1]}
    for leaf in ({"type": "integer"}, noted):
        schema = {"properties": {"a": leaf}, "required": ["a"]}
        assert takes(schema, {"a": 1}, {"a": 1.0}, {"a": 1.5}) == [True, True, False]
        # An integer of draft 4 has no fraction, not even one of zero.
        assert takes({**DRAFT4, **schema}, {"a": 1}, {"a": 1.0}, {"a": 1.5}) == [True, False, False]


def test_an_enumeration_may_be_as_long_as_its_limit() -> None:
    limits = Limits(enum=2)
    assert compiled({"enum": [1, 2]}, limits=limits)
    with pytest.raises(SchemaLimit, match="more than 2 "):
        compiled({"enum": [1, 2, 3]}, limits=limits)


def test_every_malformed_keyword_is_gathered() -> None:
    wrong = {"a": {"enum": 3}, "b": {"items": {"required": 3}}, "c": {"type": "objekt"}}
    with pytest.raises(InvalidSchema) as caught:
        compiled({"properties": wrong})
    assert [problem.keyword for problem in caught.value.problems] == ["enum", "required", "type"]
