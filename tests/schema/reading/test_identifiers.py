import json
from typing import Any

import pytest

from enforcer.errors import InvalidSchema, Problem
from tests.schema_judge import accepts, compiled
from tests.support.cases import each_case
from tests.support.schema_cases import schema_test

DRAFTS = [
    None,
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
NAMES = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$ref", "$schema", "$defs"]
INTEGER = {"definitions": {"x": {"type": "integer"}}}
REFERRING = {"a": {"$ref": "#/definitions/x"}}


def of(draft: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": REFERRING, **INTEGER}
    for part in parts:
        schema |= part
    return schema if draft is None else {"$schema": draft, **schema}


def takes_integers(schema: dict[str, Any]) -> None:
    grammar = compiled(schema)
    assert accepts(grammar, '{"a": 1}')
    assert not accepts(grammar, '{"a": "s"}')


@pytest.mark.slow
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_property_is_no_identifier(draft: str | None, name: str) -> None:
    properties = {**REFERRING, name: {"type": "string"}, "b": {"$ref": f"#/properties/{name}"}}
    schema = of(draft, {"properties": properties})
    takes_integers(schema)
    assert accepts(compiled(schema), json.dumps({name: "text", "b": "text"}))
    assert not accepts(compiled(schema), json.dumps({name: 1}))
    assert not accepts(compiled(schema), json.dumps({"b": 1}))


@pytest.mark.slow
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["text", "#", "http://[", "%%%", 5, None, {"type": "string"}])
def test_what_is_no_schema_has_no_identifiers(draft: str | None, name: str, value: Any) -> None:
    held = {name: value}
    takes_integers(of(draft, {"x-more": held, "default": held, "examples": [held, [held]]}))
    assert accepts(compiled({"enum": [held, 1]}), json.dumps(held))


@pytest.mark.parametrize("draft", DRAFTS)
@each_case
def test_identifiers_ignore_values_of_no_schema(draft: str | None, part: dict[str, Any]) -> None:
    takes_integers(of(draft, part, {"$id": "http://example.com/a", "id": "http://example.com/a"}))


test_schemas = schema_test(__file__)


@each_case
def test_an_identifier_of_the_draft_that_is_none_is_refused_where_it_stands(
    draft: str | None, keyword: str, value: Any, reason: str | None
) -> None:
    schema = of(draft, {"properties": {**REFERRING, "b": {keyword: value}}})
    if reason is None:
        takes_integers(schema)
        return
    with pytest.raises(InvalidSchema) as refusal:
        compiled(schema)
    (problem,) = refusal.value.problems
    assert problem == Problem(f"$.properties.b.{keyword}", keyword, reason)
