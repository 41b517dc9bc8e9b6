import json
from typing import Any

import pytest

from enforcer.client.body import extra_body
from enforcer.request import response_format
from enforcer.request.response_format import FormatKind, ResponseFormat
from enforcer.tools.cli.declarations import demanded
from tests.support.cases import parametrized

SCHEMA = {"type": "integer"}
CHAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
FLAT = {"type": "json_schema", "name": "x", "schema": SCHEMA}
OUTPUTS = "structured_outputs"
OF_SCHEMAS: dict[str, dict[str, Any]] = {
    "$.response_format.json_schema.schema": {"response_format": CHAT},
    "$.text.format.schema": {"text": {"format": FLAT}},
    "$.output_config.format.schema": {"output_config": {"format": FLAT}},
    "$.structured_outputs.json": {OUTPUTS: {"json": SCHEMA}},
}


@pytest.mark.parametrize("path", OF_SCHEMAS)
def test_a_schema_is_found_where_each_api_has_it(path: str) -> None:
    found = demanded(OF_SCHEMAS[path], "$", "f")
    assert found is not None
    assert (found.path, found.schema) == (path, SCHEMA)
    assert response_format.parse(found.form) == ResponseFormat(
        FormatKind.JSON_SCHEMA, json.dumps(SCHEMA, separators=(",", ":"))
    )


def test_a_schema_may_be_text() -> None:
    found = demanded({OUTPUTS: {"json": json.dumps(SCHEMA)}}, "$", "f")
    assert found is not None
    assert found.schema == SCHEMA


@pytest.mark.parametrize(
    ("kind", "value"), [("regex", "a+"), ("choice", ["a"]), ("grammar", 'root ::= "a"')]
)
def test_formats_that_are_no_schema(kind: str, value: Any) -> None:
    found = demanded({OUTPUTS: {kind: value}}, "$", "f")
    assert found is not None
    assert (found.path, found.schema) == ("$.structured_outputs", None)
    wanted = response_format.parse(found.form)
    assert wanted is not None
    assert wanted.kind is FormatKind(kind)


def test_a_format_of_text_leaves_structured_outputs() -> None:
    found = demanded({"response_format": {"type": "text"}, OUTPUTS: {"regex": "a"}}, "$", "f")
    assert found is not None
    assert found.path == "$.structured_outputs"


def test_what_a_client_brings_from_us_is_no_format() -> None:
    assert demanded(extra_body([]), "$", "f") is None


@parametrized("tools/cli/cases/response_formats.toml", "free")
def test_nothing_to_check(body: dict[str, Any]) -> None:
    assert demanded(body, "$", "f") is None
