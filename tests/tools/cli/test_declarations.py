from typing import Any

import pytest

from enforcer.documents import Document
from enforcer.schema import Root
from enforcer.tools.cli.declarations import Declarations, find
from tests.support.cases import schemas

TOOL = {"name": "f", "inputSchema": {"type": "object"}}
USER = {"role": "user", "content": "hi"}


def found(value: Any) -> Declarations:
    return find(Document(value, "file:1"))


WITHOUT_TOOLS = schemas("tools/cli/cases/declarations.toml", "without_tools")
SCHEMAS = schemas("tools/cli/cases/declarations.toml")


@pytest.mark.parametrize("value", WITHOUT_TOOLS.values(), ids=WITHOUT_TOOLS)
def test_a_request_without_tools_is_one(value: dict[str, Any]) -> None:
    assert found(value) == Declarations("file:1", without_tools=1)


def test_functions_of_a_chat_are_no_tools() -> None:
    chat = {"model": "m", "messages": [USER], "functions": [{"name": "f", "parameters": {}}]}
    assert found(chat) == Declarations(
        "file:1", without_tools=1, functions=[{"where": "file:1", "path": "$.functions"}]
    )
    assert found(chat | {"functions": []}) == Declarations("file:1", without_tools=1)
    assert found({"tools": [TOOL], "functions": [TOOL]}).functions == []  # no request


@pytest.mark.parametrize("value", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_is_still_one(value: dict[str, Any]) -> None:
    [one] = found(value).declared
    assert (one.schema, one.root, one.form) == (value, Root.ANY, None)
    assert found(value).without_tools == 0


def test_an_empty_tool_list_of_a_server_is_no_request() -> None:
    assert found({"tools": []}) == Declarations("file:1")


def test_one_bad_tool_spoils_no_other() -> None:
    read = found({"tools": [TOOL, {"name": "bad"}, 7, TOOL | {"name": "g"}]})
    assert [one.name for one in read.declared] == ["f", "g"]
    first, second = read.unreadable
    assert first.startswith("file:1: `$.tools[1]` is not a function with a schema")
    assert "`$.tools[2]`" in second


def test_one_bad_item_of_a_list_spoils_no_other() -> None:
    read = found([{"type": "string"}, 7, {"city": "Oslo"}])
    assert len(read.declared) == 1
    told = read.unreadable
    assert ["`$[1]`" in told[0], "`$[2]`" in told[1]] == [True, True]
    # What an object could have been taken for is of no interest where there is none.
    assert ["keyword" in message for message in told] == [False, True]


def test_tools_that_are_no_list_are_told() -> None:
    [one] = found({"model": "m", "messages": [], "tools": {"f": {}}}).unreadable
    assert "`$.tools` is not a list of tools" in one


def test_a_format_is_declared_beside_tools_and_without() -> None:
    form = {"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}}
    body = {"model": "m", "messages": [], "response_format": form}
    for request, names in ((body, [None]), (body | {"tools": [TOOL]}, ["f", None])):
        declared = found({"request": request}).declared
        assert [one.name for one in declared] == names
        assert declared[-1].schema == {"type": "integer"}
        assert declared[-1].path == "$.request.response_format.json_schema.schema"


def test_the_format_of_a_completion_is_left_to_vllm() -> None:
    body = {"model": "m", "prompt": "hi", "structured_outputs": {"regex": "("}}
    assert found(body) == Declarations("file:1", without_tools=1)


def test_a_kind_of_tool_that_is_no_word_is_told() -> None:
    assert len(found({"tools": [{"type": ["function"]}]}).unreadable) == 1
