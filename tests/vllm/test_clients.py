"""What clients send is enforced: what `tests.support.record_clients` recorded of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

from bench.demo.servers import MODEL_NAME, Server
from enforcer.turn import dialects
from enforcer.vllm.intake import checks, dialogs, requests
from tests.vllm_servers import post

FOLDER = Path(__file__).parents[1] / "clients" / "recorded"
RECORDED = [
    pytest.param(json.loads(line), id=f"{file.stem}-{number}")
    for file in sorted(FOLDER.glob("*.jsonl"))
    for number, line in enumerate(file.read_text().splitlines())
]
LIBRARIES = {"openai-agents", "langchain-openai", "pydantic-ai", "litellm"}
AGENTS = {"claude-code", "codex"}
OF_AGENTS = [one for one in RECORDED if str(one.id).startswith(tuple(AGENTS))]
OF_LIBRARIES = [one for one in RECORDED if one not in OF_AGENTS]


def _request(recorded: dict[str, Any]) -> ChatCompletionRequest | ResponsesRequest:
    """Read a body as vLLM does."""
    path, body = recorded["path"], recorded["body"]
    if path == "/v1/messages":
        sent = AnthropicMessagesRequest(**{"model": MODEL_NAME, **body})
        return AnthropicServingMessages.to_chat_completion_request(sent)
    kinds = {"/v1/responses": ResponsesRequest, "/v1/chat/completions": ChatCompletionRequest}
    return kinds[path](**body)


def _declared(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Give what can be called, by name: the schema of each function, those of namespaces too."""
    found: dict[str, Any] = {}
    for tool in tools:
        if tool.get("type") == "namespace":
            inner = _declared(tool["tools"])
            found |= {f"{tool['name']}__{name}": schema for name, schema in inner.items()}
        elif tool.get("type", "function") == "function":
            function = tool.get("function", tool)
            found[function["name"]] = function.get("parameters", function.get("input_schema"))
    return found


def test_every_client_has_been_recorded() -> None:
    pages = Path(__file__).parents[2] / "docs" / "clients"
    clients = {file.stem.rpartition("-")[0] for file in FOLDER.glob("*.jsonl")}
    assert clients == LIBRARIES | AGENTS
    for file in FOLDER.glob("*.jsonl"):
        client, _, version = file.stem.rpartition("-")
        page = (pages / f"{client.removesuffix('-openai')}.md").read_text()
        assert version in page


@pytest.mark.slow
@pytest.mark.parametrize("recorded", RECORDED)
def test_its_tools_are_enforced_as_they_are(recorded: dict[str, Any]) -> None:
    body = recorded["body"]
    request = _request(recorded)
    spec = requests.write_spec(request).spec()
    assert not checks.run(checks.schemas(spec))  # nothing is less than exact
    assert list(spec.toolset.tools) == list(_declared(body.get("tools", [])))
    chosen = {"required": "required", "auto": "auto", None: "auto"}
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        assert spec.toolset.allowed == (choice["function"]["name"],)
    elif body.get("tools"):
        assert spec.toolset.choice.value == chosen[choice]
    formed = "response_format" in body or "format" in body.get("text", {})
    assert (spec.response_format is not None) == formed


@pytest.mark.parametrize("recorded", OF_AGENTS)
def test_of_an_agents_request_nothing_but_tools_is_kept(recorded: dict[str, Any]) -> None:
    body = recorded["body"]
    dialog = body.get("messages", body.get("input"))
    assert len(json.dumps([dialog, body.get("system"), body.get("instructions")])) < 200
    assert {"tools", "stream"} <= body.keys()
    assert all(len(text) <= 80 for text in _descriptions(body["tools"]))


def _descriptions(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, one in value.items():
            if key == "description" and isinstance(one, str):
                yield one
            yield from _descriptions(one)


def _search(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the request with which Claude Code goes on after it has looked for tools."""
    found = [{"type": "tool_reference", "tool_name": tool["name"]} for tool in tools[-2:]]
    sought = {"type": "tool_use", "id": "toolu_7", "name": "ToolSearch", "input": {"query": "web"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_7", "content": found}
    return {
        "tools": tools,
        "messages": [
            {"role": "user", "content": "Go on."},
            {"role": "system", "content": [{"type": "text", "text": "More tools are there."}]},
            {"role": "assistant", "content": [sought]},
            {"role": "user", "content": [result]},
        ],
    }


CLAUDE: Any = OF_AGENTS[0].values[0]
SEARCHED = CLAUDE | {"body": CLAUDE["body"] | _search(CLAUDE["body"]["tools"])}


def test_what_a_search_for_tools_found_belongs_to_its_call() -> None:
    dialog = [dialogs.materialised(message) for message in _request(SEARCHED).messages]
    normal = dialogs.normalised_ids(dialog, dialects.load("kimi_k2"))
    ids = [one["tool_call_id"] for one in normal if one["role"] == "tool"]
    assert ids == ["functions.ToolSearch:0"] * 2  # vLLM makes two results of it


@pytest.mark.vllm
@pytest.mark.parametrize("recorded", OF_LIBRARIES)
def test_its_request_is_answered(tiny_server: Server, recorded: dict[str, Any]) -> None:
    answer = post(tiny_server, recorded["body"] | _limit(recorded, 100), recorded["path"])
    assert answer.status_code == 200, answer.text


@pytest.mark.vllm
@pytest.mark.parametrize("recorded", [*OF_AGENTS, pytest.param(SEARCHED, id="a search for tools")])
def test_an_agents_request_is_answered(tiny_server: Server, recorded: dict[str, Any]) -> None:
    body = recorded["body"] | _limit(recorded, 100)
    answer = post(tiny_server, body, recorded["path"])
    assert answer.status_code == 200, answer.text
    events = [line[7:] for line in answer.text.splitlines() if line.startswith("event: ")]
    ends = {"message_stop", "response.completed", "response.incomplete"}
    assert events[-1] in ends, answer.text[-1000:]
    assert not {"error", "response.failed"} & set(events)


@pytest.mark.vllm
@pytest.mark.parametrize("recorded", OF_AGENTS)
def test_a_demanded_call_of_agents_is_valid(tiny_server: Server, recorded: dict[str, Any]) -> None:
    demanded = {"type": "any"} if "messages" in recorded["path"] else "required"
    body = recorded["body"] | _limit(recorded, 500) | {"stream": False, "tool_choice": demanded}
    body = {key: value for key, value in body.items() if key != "text"}  # calls, and then no answer
    body["vllm_xargs"] = {"enforcer": "finish"}
    answer = post(tiny_server, body, recorded["path"])
    assert answer.status_code == 200, answer.text
    declared = _declared(body["tools"])
    calls = list(_calls(answer.json()))
    assert calls
    for name, arguments in calls:
        jsonschema.validate(arguments, declared[name])


def _limit(recorded: dict[str, Any], ids: int) -> dict[str, Any]:
    most = "max_output_tokens" if "responses" in recorded["path"] else "max_tokens"
    return {"model": MODEL_NAME, most: ids, "temperature": 0}


def _calls(reply: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for item in reply.get("output", reply.get("content")):
        if item["type"] == "tool_use":
            yield item["name"], item["input"]
        elif item["type"] == "function_call":
            space = item.get("namespace")
            name = f"{space}__{item['name']}" if space else item["name"]
            yield name, json.loads(item["arguments"])
