"""Tools, tool choice and parallel calls: what a chat request may carry, and what not."""

import json
import string
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcer.errors import InvalidTools
from enforcer.request import tools
from enforcer.request.tools import ToolChoice
from tests.support.cases import each_case
from tests.support.nested import nested

DEEP = nested(100_000, lambda inner: [inner], [])
CIRCLE: dict[str, object] = {}
CIRCLE["properties"] = CIRCLE


def tool(name: Any = "get", **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **function}}


def allowed(mode: Any, *names: str) -> dict[str, Any]:
    listed = {"mode": mode, "tools": [tool(name) for name in names]}
    return {"type": "allowed_tools", "allowed_tools": listed}


def test_the_cache_counts_what_tools_take() -> None:
    text = json.dumps([tool(f"t{i}", parameters={"not": {}}) for i in range(500)]).encode()
    tracemalloc.start()
    read = tools._read(text)
    assert all(each.arguments.digest for each in read.values())
    assert tracemalloc.get_traced_memory()[0] < 1.2 * tools._weight(text, read)
    tracemalloc.stop()


def test_a_tool_is_read() -> None:
    schema = {"type": "object", "properties": {"città": {"type": "string"}}}
    toolset = tools.parse([tool("get", parameters=schema)], "auto", True)
    read = toolset.tools["get"]
    assert (read.name, json.loads(read.schema)) == ("get", schema)
    assert read.path == "$.tools[0].function.parameters"
    assert toolset.allowed == ("get",)
    assert toolset.choice is ToolChoice.AUTO


@pytest.mark.parametrize("function", [{}, {"parameters": None}, {"parameters": {}}])
def test_parameters_may_be_missing_or_empty(function: dict[str, Any]) -> None:
    assert tools.parse([tool(**function)], None, None).tools["get"].schema == "{}"


@pytest.mark.parametrize("strict", [True, False, None])
def test_strict_changes_nothing(strict: bool | None) -> None:
    with_strict = tools.parse([tool(strict=strict, parameters={"type": "object"})], None, None)
    assert with_strict == tools.parse([tool(parameters={"type": "object"})], None, None)


def test_the_type_of_a_tool_may_be_left_out() -> None:
    assert tools.parse([{"function": {"name": "get"}}], None, None).allowed == ("get",)


@each_case
def test_choices(choice: Any, kind: str, names: list[str]) -> None:
    toolset = tools.parse([tool("a"), tool("b")], choice, None)
    assert (toolset.choice, toolset.allowed) == (ToolChoice(kind), tuple(names))
    assert set(toolset.tools) == {"a", "b"}
    assert toolset.parallel


@pytest.mark.parametrize("choice", ["none", None])
@pytest.mark.parametrize("listed", [None, [], ()])
def test_no_tools_no_calls(listed: list[Any] | tuple[Any, ...] | None, choice: str | None) -> None:
    toolset = tools.parse(listed, choice, None)
    assert (toolset.choice, toolset.allowed) == (ToolChoice.NONE, ())


@pytest.mark.parametrize(("given_", "parallel"), [(None, True), (True, True), (False, False)])
def test_parallel_calls(given_: bool | None, parallel: bool) -> None:
    assert tools.parse([tool()], None, given_).parallel is parallel


ALLOWED_IN_NAMES = string.ascii_letters + string.digits + "_-./"


@pytest.mark.parametrize("name", [*ALLOWED_IN_NAMES, ALLOWED_IN_NAMES, "ü", "天气", "x" * 128])
def test_legal_names(name: str) -> None:
    assert tools.parse([tool(name)], None, None).allowed == (name,)


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a b", "a:0", "a\n", "\n", "a\u00a0b", "x" * 129, "a|b", "<a>", '"a"', "a{}"),
        *("<|tool_call_end|>", "a<|tool_call_argument_begin|>{}", "\ud800", "a\x00", "🙂"),
        *(None, 3, b"get", ["get"], {"a": 1}, True),
    ],
)
def test_illegal_names(name: Any) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse([tool("ok"), tool(name)], None, None)
    assert caught.value.path == "$.tools[1].function.name"


@pytest.mark.parametrize("name", [DEEP, "x" * 10**6, ["x" * 10**6]], ids=["deep", "long", "list"])
def test_a_monstrous_value_gives_a_short_message(name: Any) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse([tool(name)], None, None)
    assert len(str(caught.value)) < 300
    with pytest.raises(InvalidTools) as caught:
        tools.parse([{"type": name, "function": {"name": "a"}}], None, None)
    assert len(str(caught.value)) < 300
    for choice in (tool(name), allowed(name), {"type": name}):
        with pytest.raises(InvalidTools) as caught:
            tools.parse([tool()], choice, None)
        assert len(str(caught.value)) < 300


def test_a_name_twice() -> None:
    with pytest.raises(InvalidTools, match="twice") as caught:
        tools.parse([tool("a"), tool("b"), tool("a")], None, None)
    assert caught.value.path == "$.tools[2].function.name"


@each_case
def test_what_is_no_list_of_tools(value: Any, path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse(value, None, None)
    assert caught.value.path == path


@pytest.mark.parametrize("value", [b"get", iter([tool()]), {"function"}])
def test_what_is_no_list_of_json_is_none_of_tools(value: Any) -> None:
    test_what_is_no_list_of_tools(value, "$.tools")


NUMBERS = [float("nan"), 1e400, 10**5000]


@pytest.mark.parametrize(
    "parameters",
    [*({"enum": [number]} for number in NUMBERS), {"enum": {1, 2}}, {"const": b"x"}, {(1, 2): 3},
     {"enum": DEEP}, CIRCLE],
    ids=["NaN", "infinity", "digits", "set", "bytes", "tuple", "deep", "circle"],
)  # fmt: skip
def test_parameters_that_are_no_json(parameters: Any) -> None:
    test_what_is_no_list_of_tools([tool(parameters=parameters)], "$.tools[0].function.parameters")


@each_case
def test_what_is_no_choice(choice: Any, path: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse([tool()], choice, None)
    assert caught.value.path == path


@pytest.mark.parametrize(("choice", "name"), [("get", "get"), ("gte", "NAME")])
def test_a_name_as_a_choice_is_told_how_a_function_is_named(choice: str, name: str) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse([tool()], choice, None)
    assert str(caught.value).startswith(f"'{choice}' is not one of 'auto', 'none', 'required'; ")
    assert json.dumps(tool(name)) in str(caught.value)


@pytest.mark.parametrize("choice", ["required", tool("get")])
@pytest.mark.parametrize("listed", [None, []])
def test_a_call_is_demanded_but_there_is_no_tool(listed: list[Any] | None, choice: Any) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse(listed, choice, None)
    assert caught.value.path.startswith("$.tool_choice")


@pytest.mark.parametrize("parallel", ["yes", 1, 0, [], {}])
def test_parallel_must_be_a_truth_value(parallel: Any) -> None:
    with pytest.raises(InvalidTools) as caught:
        tools.parse([tool()], None, parallel)
    assert caught.value.path == "$.parallel_tool_calls"


@given(st.lists(st.text(ALLOWED_IN_NAMES + "é日", min_size=1, max_size=20), unique=True))
def test_the_order_of_declaration_is_kept(names: list[str]) -> None:
    assert tools.parse([tool(name) for name in names], None, None).allowed == tuple(names)


@each_case
def test_schemas_that_say_the_same(one: str, other: str, same: bool) -> None:
    assert tools.is_same(one, other) is same
    assert tools.is_same(one, one)


def test_schemas_of_other_lengths_differ_without_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_canonical", None)
    large = tools.as_text({"description": "x" * 100_000}, "$")
    assert not tools.is_same(large, tools.as_text({"description": "x" * 100_001}, "$"))
    assert tools.is_same(large, large)


@pytest.mark.parametrize("depth", [400, *range(900, 1000, 3), 5_000])
def test_schemas_that_are_nested_too_deeply_to_be_compared_are_not_the_same(depth: int) -> None:
    nested = '{"not": ' * depth + "{}" + "}" * depth
    one, other = (f'{{"{a}": 1, "{b}": {nested}}}' for a, b in ("ab", "ba"))
    assert tools.is_same(one, one)
    assert not tools.is_same(one, other)
