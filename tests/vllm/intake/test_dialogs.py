"""Tools that messages declare, and the ids of calls, of each kind."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.openai.responses.utils import construct_input_messages
from vllm.exceptions import VLLMValidationError
from vllm.tool_parsers.utils import get_function_tools

from enforcer.errors import InvalidTools
from enforcer.turn import dialects
from enforcer.turn.dialect import Ids
from enforcer.vllm.intake import dialogs, requests
from enforcer.vllm.server.side_table import notes
from tests.support import cases

USER = {"role": "user", "content": "Hi."}


def tool(name: str = "get", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


def says(*tools: Any, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": "x", "tools": list(tools)}


def chat(*messages: Any, **more: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(model="m", messages=list(messages), **more)


def responses(*items: Any, **more: Any) -> ResponsesRequest:
    return ResponsesRequest(input=list(items), **more)


def dialog_of(request: Any, earlier: list[Any] | None = None) -> list[Any]:
    """Give the messages that vLLM renders."""
    if isinstance(request, ResponsesRequest):
        given = {"request_instructions": request.instructions, "request_input": request.input}
        messages = construct_input_messages(**given, prev_msg=earlier)
    else:
        messages = request.messages
    return [dialogs.materialised(message) for message in messages]


def prepared(request: Any, earlier: list[Any] | None = None) -> Any:
    within = dialogs.declared(request, dialog_of(request, earlier))
    notes(request).within = within
    dialogs.adopt(request)
    return request


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
FLAT = {"type": "function", "name": "own", "parameters": SCHEMA}


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("make", [chat, responses])
def test_they_may_be_called_whatever_the_route(make: Any, role: str) -> None:
    """On /v1/responses vLLM reads a name of each of the request's tools, which are flat there."""
    request = prepared(make(says(tool(parameters=SCHEMA), role=role), USER))
    (function,) = get_function_tools(request.tools)
    named: Any = getattr(function, "function", function)
    assert (named.name, named.parameters) == ("get", SCHEMA)
    assert request.tool_choice == "auto"
    spec = requests.take_in(request, None).spec
    assert spec.toolset.allowed == ("get",)
    names, schema_of = requests.callable_tools(request)
    assert {name: schema_of(name) for name in names} == {"get": SCHEMA}


def test_they_stand_behind_the_requests_own() -> None:
    request = prepared(chat(says(tool()), USER, tools=[tool("own")]))
    assert [one.function.name for one in request.tools] == ["own", "get"]
    request = prepared(responses(says(tool()), USER, tools=[FLAT], tool_choice="required"))
    assert [one.name for one in request.tools] == ["own", "get"]
    assert request.tool_choice == "required"


def test_a_choice_of_the_clients_own_stays() -> None:
    assert prepared(chat(says(tool()), USER, tool_choice="none")).tool_choice == "none"
    request = responses(says(tool()), USER, tools=[FLAT], tool_choice="none")
    assert prepared(request).tool_choice == "none"


def _calls(*ids: str) -> list[dict[str, Any]]:
    called = {"type": "function_call", "name": "a", "arguments": "{}"}
    return [called | {"call_id": each} for each in ids]


# Two items that become one message stand before what declares.
ITEMS = responses(*_calls("1", "2"), says(tool(), role="developer"), says(tool("b")))
BEFORE = [says(tool("c"), role="developer"), USER]


@pytest.mark.parametrize(
    ("request_", "earlier", "places"),
    [
        (chat(USER, says(tool(), tool("b"))), None, ["$.messages[1]", "$.messages[1]"]),
        (responses(USER, says(tool())), None, ["$.input[1]"]),
        (responses(says(tool()), USER, instructions="Be brief."), None, ["$.input[0]"]),
        (ITEMS, BEFORE, ["$.previous_response_id", "$.input[2]", "$.input[3]"]),
    ],
)
def test_each_is_named_where_it_stands_in_the_body(
    request_: Any, earlier: list[Any] | None, places: list[str]
) -> None:
    within = dialogs.declared(request_, dialog_of(request_, earlier))
    assert [one.at.rpartition(".tools[")[0] for one in within] == places


def test_one_that_repeats_a_tool_of_the_requests_own_is_refused_at_its_place() -> None:
    request = prepared(responses(USER, says(tool("own", parameters={})), tools=[FLAT]))
    with pytest.raises(VLLMValidationError, match="declared twice") as caught:
        requests.take_in(request, None)
    assert "`$.input[1].tools[0].function.name`" in str(caught.value)


@cases.parametrized("vllm/intake/cases/dialogs.toml", "no_tools")
@pytest.mark.parametrize(("make", "place"), [(chat, "$.messages[1]"), (responses, "$.input[1]")])
def test_other_values_than_lists_are_refused(make: Any, place: str, tools: str, path: str) -> None:
    given = json.loads(tools.replace('"GET"', json.dumps(tool())))
    request = make(USER, {"role": "system", "content": "x", "tools": given})
    with pytest.raises(InvalidTools) as caught:
        prepared(request)
    assert caught.value.path == f"{place}.tools{path}"
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize("tools", [5, "x", [5], None, [tool()]])
def test_other_roles_declare_none(tools: object) -> None:
    """For vLLM it is a key that nobody reads."""
    request = prepared(chat({"role": "user", "content": "Hi.", "tools": tools}))
    assert not request.tools


def test_what_runs_once_is_listed_for_whoever_reads_next() -> None:
    def once() -> Iterator[dict[str, Any]]:
        yield tool()

    message = {"role": "system", "tools": once()}
    assert dialogs.materialised(message)["tools"] == [tool()]
    assert message["tools"] == [tool()]
    calls = {"role": "assistant", "tool_calls": 5}
    assert dialogs.materialised(calls) == calls


KIMI = dialects.load("kimi_k2")
GOOD = "aB3dE6gH9"


def _asks(*calls: tuple[str | None, str]) -> dict[str, Any]:
    listed = [{"id": i, "type": "function", "function": {"name": n}} for i, n in calls]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def _answers(call_id: str | None) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "21 °C"}


DIALOG = [
    {"role": "user", "content": "Hi."},
    _asks(("x", "a"), (GOOD, "b"), (None, "a")),
    _answers(GOOD),
    _answers("x"),
    _answers(None),
    _asks(("x", "a")),
    _answers("x"),
]


def _ids(kind: Ids) -> list[str | None]:
    """Give the ids of a dialog's calls and results in order."""
    before = copy.deepcopy(DIALOG)
    found = []
    for message in dialogs.normalised_ids(DIALOG, replace(KIMI, ids=kind)):
        found += [call["id"] for call in message.get("tool_calls", ())]
        found += [message["tool_call_id"]] if "tool_call_id" in message else []
    assert before == DIALOG
    return found


def test_what_the_model_writes_counts_over_the_dialog() -> None:
    one, two, three, four = (f"functions.{n}:{at}" for at, n in enumerate("abaa"))
    assert _ids(Ids.WRITTEN) == [one, two, three, two, one, three, four, four]


def test_ids_that_are_not_rendered_tell_a_renderer_which_call_a_result_is_of() -> None:
    assert _ids(Ids.MESSAGE) == ["a:0", "b:1", "a:2", "b:1", "a:0", "a:2", "a:0", "a:0"]


def test_templates_that_take_any_id_get_the_clients_own() -> None:
    assert _ids(Ids.RANDOM) == ["x", GOOD, None, GOOD, "x", None, "x", "x"]


def test_templates_that_demand_nine_letters_and_digits_get_them_each_time_the_same() -> None:
    ids = _ids(Ids.RANDOM9)
    one, two, three, four = (*ids[:3], ids[6])
    assert ids == [one, two, three, two, one, three, four, four]
    assert two == GOOD
    assert len({one, two, three, four}) == 4
    assert all(len(i) == 9 and i.isascii() and i.isalnum() for i in ids)
    assert _ids(Ids.RANDOM9) == ids


@pytest.mark.parametrize("kind", list(Ids))
def test_an_invented_id_is_not_given_twice(kind: Ids) -> None:
    ids = {dialogs.new_call_id(kind) for _ in range(1000)}
    assert len(ids) == 1000


def test_what_is_invented_needs_no_change_in_the_next_request() -> None:
    invented = dialogs.new_call_id(Ids.RANDOM9)
    dialog = [_asks((invented, "a")), _answers(invented)]
    assert dialogs.normalised_ids(dialog, replace(KIMI, ids=Ids.RANDOM9)) == dialog
