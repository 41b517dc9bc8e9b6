import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import ConfigurationError
from enforcer.judging.judge import judge
from enforcer.judging.replies import ChatCall, ChatReply
from enforcer.tools.verify import suites
from tests.shared_data import shared
from tests.support.cases import parametrized
from tests.support.json_lines import write


def valid(schema: dict[str, Any], value: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


NODE = {
    "$defs": {"word": {"type": "string"}},
    "type": "object",
    "properties": {
        "word": {"$ref": "#/$defs/word"},
        "again": {"$ref": "#/properties/word"},
        "next": {"$ref": "#"},
        "$ref": {"type": "integer"},
        "default": {"$ref": "#/properties/$ref"},
    },
    "default": {"$ref": "#/properties/word"},
}
VALUES = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "word": st.sampled_from(["a", 1]),
            "again": st.sampled_from(["a", 1]),
            "$ref": st.sampled_from(["a", 1]),
            "default": st.sampled_from(["a", 1]),
        },
    ),
    lambda inner: st.fixed_dictionaries({"next": inner}),
    max_leaves=4,
)


@given(VALUES)
def test_a_wrapped_schema_says_what_it_said(value: dict[str, Any]) -> None:
    wrapped = suites.wrap(NODE)
    assert valid(wrapped, {"value": value}) == valid(NODE, value)
    assert not valid(wrapped, {})
    assert not valid(wrapped, {"value": value, "more": 1})


def test_data_in_a_schema_stays() -> None:
    assert suites.wrap(NODE)["properties"]["value"]["default"] == NODE["default"]


def test_a_schema_inside_with_an_id_of_its_own_keeps_its_references() -> None:
    inner = {"$id": "http://x/inner", "properties": {"a": {"$ref": "#/$defs/b"}}}
    inner["$defs"] = {"b": {"type": "null"}}
    wrapped = suites.wrap({"properties": {"inner": inner}})
    assert valid(wrapped, {"value": {"inner": {"a": None}}})
    assert not valid(wrapped, {"value": {"inner": {"a": 1}}})


@pytest.mark.parametrize("schema", [True, False])
def test_booleans_are_schemas(schema: bool) -> None:
    assert valid(suites.wrap(schema), {"value": 1}) is schema


def test_every_valid_schema_of_the_vendor_becomes_a_request() -> None:
    files = sorted(shared("cases", "walle").rglob("valid.jsonl"))
    assert files
    for file in files:
        schemas = [json.loads(line) for line in file.open() if line.strip()]
        for schema, case in zip(schemas, suites.schema_cases(file), strict=True):
            wrapped = case.body["tools"][0]["function"]["parameters"]
            for value in (None, True, 3, "x", [], ["x"], {}, {"name": "n"}, {"user": {"name": 1}}):
                assert valid(wrapped, {"value": value}) == valid(schema, value), case.name


def test_schemas_come_from_folders_and_files(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [{"type": "null"}, {"type": "string"}])
    write(tmp_path / "b.jsonl", {"id": 1, "schema": {"type": "array"}}, True)
    write(tmp_path / "invalid.jsonl", {"type": 7})
    (tmp_path / "notes.txt").write_text("no schema")
    bodies = [case.body for case in suites.schema_cases(tmp_path)]
    values = [b["tools"][0]["function"]["parameters"]["properties"]["value"] for b in bodies]
    assert values == [{"type": "null"}, {"type": "string"}, {"type": "array"}, True]
    assert all(body["tool_choice"] == "required" for body in bodies)


@pytest.mark.parametrize("values", [(7,), ("x",), (None,)])
def test_what_is_no_schema_is_told(tmp_path: Path, values: tuple[int | str | None]) -> None:
    with pytest.raises(ConfigurationError, match="a schema is"):
        suites.schema_cases(write(tmp_path / "x.json", *values))


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no schemas in"):
        suites.schema_cases(tmp_path)


USER = {"role": "user", "content": "hi"}


def test_recorded_requests_are_bodies_or_have_them(tmp_path: Path) -> None:
    file = write(
        tmp_path / "r.jsonl",
        {"messages": [USER], "n": 2, "stream": True, "stream_options": {}},
        {"data_index": 2, "request": {"messages": [{"role": "_input", "content": "x"}]}},
    )
    assert [case.body for case in suites.recorded_cases(file).cases] == [
        {"messages": [USER], "stream": True},
        {"messages": [{"role": "system", "content": "x"}]},
    ]


def test_a_file_without_requests_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no requests"):
        suites.recorded_cases(write(tmp_path / "r.json", []))


FUNCTION = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["f", 3]), "parameters": st.sampled_from([{}, None, 7])}
)
TOOL = st.one_of(
    st.just(7),
    st.fixed_dictionaries({}, optional={"type": st.just("function"), "function": FUNCTION}),
)
LISTED = st.lists(TOOL, max_size=2) | st.sampled_from([None, 7])
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant"]),
        "tools": LISTED,
        "tool_calls": st.sampled_from([None, [], [7], 7]),
    },
)
CHOICE = st.one_of(
    st.sampled_from([None, "auto", "none", "required", 7, {}]),
    st.fixed_dictionaries({"type": st.just("function")}, optional={"function": FUNCTION}),
    st.fixed_dictionaries(
        {"type": st.just("allowed_tools")},
        optional={
            "allowed_tools": st.fixed_dictionaries(
                {}, optional={"mode": st.sampled_from(["auto", "required"]), "tools": LISTED}
            )
        },
    ),
)
BODY = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE | st.just(7), max_size=2) | st.just(7)},
    optional={
        "tools": LISTED,
        "tool_choice": CHOICE,
        "parallel_tool_calls": st.booleans(),
        "stream": st.booleans(),
    },
)


@given(BODY, st.booleans(), st.sampled_from(["stop", "tool_calls", "length"]))
def test_every_request_that_is_read_can_be_judged(
    tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any], calls: bool, finish: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "drawn.json"
    file.write_text(json.dumps(body))
    try:
        [case] = suites.recorded_cases(file).cases
    except ConfigurationError:
        return
    made = (ChatCall("functions.f:0", "f", "{}"),) if calls else ()
    judge(case.body, ChatReply(200, finish_reason=finish, calls=made))


@parametrized("tools/verify/cases/suites.toml", "no_requests")
def test_what_is_no_request_is_told(tmp_path: Path, value: Any) -> None:
    with pytest.raises(ConfigurationError, match="is no chat request"):
        suites.recorded_cases(write(tmp_path / "r.jsonl", value))


RESPONSES = {"model": "m", "input": "hi"}
MESSAGES = {"model": "m", "max_tokens": 9, "system": "x", "messages": [USER]}


def test_what_is_no_chat_request_is_skipped(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", RESPONSES, {"messages": [USER]}, MESSAGES, 7)
    file.write_text(file.read_text() + "\n{\n" + json.dumps({"messages": []}))
    recorded = suites.recorded_cases(file)
    # Their places among all records are those of a reference's lines.
    assert [(case.name[-1], case.at) for case in recorded.cases] == [("2", 1), ("6", 5)]
    first, third, fourth = recorded.skipped
    only = "(verify replays Chat Completions only)"
    assert first.endswith(f":1 is no chat request: it is one of the Responses API {only}")
    assert third.endswith(f":3 is no chat request: it is one of the Messages API {only}")
    assert ":4 is no chat request" in fourth
    [unreadable] = recorded.unreadable
    assert ":5 is not JSON" in unreadable


def test_a_body_of_messages_is_not_taken_for_a_chat_request_with_a_bad_tool(tmp_path: Path) -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}}
    for more in ({"tools": [tool]}, {"tool_choice": {"type": "any"}}):
        body = {"model": "m", "max_tokens": 9, "messages": [USER], **more}
        recorded = suites.recorded_cases(write(tmp_path / "r.jsonl", body, {"messages": [USER]}))
        [told] = recorded.skipped
        assert "it is one of the Messages API" in told


def test_nothing_but_what_is_skipped_is_told_with_the_first_few(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", *[RESPONSES] * 4, MESSAGES, MESSAGES, MESSAGES)
    with pytest.raises(ConfigurationError, match=r":5 is no chat.*\(and 2 more\)$") as caught:
        suites.recorded_cases(file)
    assert ":6" not in str(caught.value)


def test_every_unreadable_line_is_told_where_nothing_else_can_be_sent(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", RESPONSES, MESSAGES)
    file.write_text(file.read_text() + "\n{\n[")
    with pytest.raises(ConfigurationError, match=r":3 is not JSON.*:4 is not JSON.*:1 is no chat"):
        suites.recorded_cases(file)


@parametrized("tools/verify/cases/suites.toml", "tools")
def test_tools_are_no_schemas(tool: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([tool]))
    with pytest.raises(ConfigurationError, match=r"tools\.json.*: it has tools, .* --requests"):
        suites.schema_cases(file)
    file.write_text(json.dumps([{"properties": {"type": {"const": "function"}, "tools": {}}}]))
    assert suites.schema_cases(file)


CHAT_TOOL = {"type": "function", "function": {"name": "f"}}


@parametrized("tools/verify/cases/suites.toml", "bodies")
def test_bodies_are_told_apart(body: dict[str, Any], api: str) -> None:
    assert suites.api_of(body) == api
