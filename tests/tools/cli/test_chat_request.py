"""Requests of the three APIs, as `enforcer explain` reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

from enforcer.errors import ConfigurationError
from enforcer.tools.cli import chat_request
from tests.support.cases import parametrized, schemas

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TEXT = {"type": "object", "required": ["a"]}
CHAT, MESSAGES, RESPONSES = schemas("tools/cli/cases/chat_request.toml", "requests").values()


def read(folder: Path, value: Any, choice: str | None = None) -> chat_request.ChatRequest:
    file = folder / "request.json"
    file.write_text(json.dumps(value))
    return chat_request.read(str(file), choice)


def format_of(form: Any) -> Any:
    return {"type": form["type"], "schema": form["json_schema"]["schema"]}


@pytest.mark.parametrize(
    ("api", "body"), [("chat", CHAT), ("messages", MESSAGES), ("responses", RESPONSES)]
)
def test_all_apis_ask_the_same(tmp_path: Path, api: str, body: dict[str, Any]) -> None:
    found = read(tmp_path, body)
    assert (found.api, found.body) == (api, body)
    fields = found.fields
    assert fields["tools"] == CHAT["tools"]
    assert fields["tool_choice"] == CHAT["tool_choice"]
    assert fields["parallel_tool_calls"] is False
    assert format_of(fields["response_format"]) == {"type": "json_schema", "schema": TEXT}
    assert fields["messages"][0] == CHAT["messages"][0]
    assert fields["messages"][1]["tool_calls"] == CHAT["messages"][1]["tool_calls"]
    assert read(tmp_path, {"request": body}).fields == fields


@pytest.mark.parametrize(
    ("body", "schema", "text"),
    [
        (CHAT, "$.tools[0].function.parameters", "$.response_format.json_schema.schema"),
        (MESSAGES, "$.tools[0].input_schema", "$.output_config.format.schema"),
        (RESPONSES, "$.tools[0].parameters", "$.text.format.schema"),
    ],
)
def test_errors_name_places(tmp_path: Path, body: dict[str, Any], schema: str, text: str) -> None:
    found = read(tmp_path, body)
    assert found.place("$.tools[0].function.parameters") == schema
    assert found.place("$.tools[0].function.parameters.a[1]") == f"{schema}.a[1]"
    assert found.place("$.tools[0].function.name") == schema.rsplit(".", 1)[0] + ".name"
    assert found.place("$.response_format.json_schema.schema.type") == f"{text}.type"
    for other in ("$.tools[1].function.name", "$.tool_choice", "$.messages[0]"):
        assert found.place(other) == other


@parametrized("tools/cli/cases/chat_request.toml", "choices")
def test_choices(tmp_path: Path, choice: Any, meant: Any) -> None:
    found = read(tmp_path, {"input": "Hi.", "tools": [], "tool_choice": choice})
    assert found.fields["tool_choice"] == (choice if meant is None else meant)


def test_the_command_line_chooses_first(tmp_path: Path) -> None:
    assert read(tmp_path, CHAT, "none").fields["tool_choice"] == "none"
    assert read(tmp_path, MESSAGES, "get").fields["tool_choice"] == CHAT["tool_choice"]


@pytest.mark.parametrize("form", [{"type": "json_object"}, {"type": "text"}, {"type": "unknown"}])
def test_a_format_without_a_schema_stays_what_it_is(tmp_path: Path, form: dict[str, Any]) -> None:
    assert read(tmp_path, {**CHAT, "response_format": form}).fields["response_format"] == form


def test_tools_by_themselves_ask_for_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, CHAT["tools"])
    assert (found.fields, found.api) == ({"tools": CHAT["tools"]}, "")


def test_a_schema_by_itself_is_no_tool(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="make a tool of it"):
        read(tmp_path, SCHEMA)
