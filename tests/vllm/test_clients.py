"""What agents' libraries send is enforced: what `bench.record_clients` recorded of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

import httpx
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest

from bench.demo.servers import MODEL_NAME
from enforcer.request import spec as specs
from enforcer.vllm import checks, requests

FOLDER = Path(__file__).parents[1] / "clients" / "recorded"
RECORDED = [
    pytest.param(json.loads(line), id=f"{file.stem}-{number}")
    for file in sorted(FOLDER.glob("*.jsonl"))
    for number, line in enumerate(file.read_text().splitlines())
]
KINDS = {"/v1/responses": ResponsesRequest, "/v1/chat/completions": ChatCompletionRequest}


def _names(tools):
    return [tool.get("name") or tool["function"]["name"] for tool in tools]


def test_every_client_has_been_recorded():
    pages = Path(__file__).parents[2] / "docs" / "clients"
    clients = {file.stem.rpartition("-")[0] for file in FOLDER.glob("*.jsonl")}
    assert clients == {"openai-agents", "langchain-openai", "pydantic-ai", "litellm"}
    for file in FOLDER.glob("*.jsonl"):
        client, _, version = file.stem.rpartition("-")
        page = (pages / f"{client.removesuffix('-openai')}.md").read_text()
        assert f"with version {version}" in page


@pytest.mark.parametrize("recorded", RECORDED)
def test_its_tools_are_enforced_as_they_are(recorded):
    body = recorded["body"]
    request = KINDS[recorded["path"]](**body)
    spec = specs.read(requests.write_spec(request))
    assert not checks.check(spec)  # nothing is less than exact
    assert list(spec.toolset.tools) == _names(body.get("tools", []))
    chosen = {"required": "required", "auto": "auto", None: "auto"}
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        assert spec.toolset.allowed == (choice["function"]["name"],)
    elif body.get("tools"):
        assert spec.toolset.choice.value == chosen[choice]
    assert (spec.response_format is not None) == ("response_format" in body)


@pytest.mark.vllm
@pytest.mark.parametrize("recorded", RECORDED)
def test_its_request_is_answered(tiny_server, recorded):
    most = "max_output_tokens" if "responses" in recorded["path"] else "max_tokens"
    body = recorded["body"] | {"model": MODEL_NAME, most: 100, "temperature": 0}
    answer = httpx.post(f"{tiny_server.url}{recorded['path']}", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
