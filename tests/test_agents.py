"""How coding agents are run and recorded: the pages say the same, and what is noted is so."""

import re
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.agents import headless
from bench.agents.relay import relaying
from tests.snippets import ROOT, blocks
from tests.support.record_clients import stub
from tests.support.record_clients.reduced import reduced

URL = "http://localhost:8000"
TOOL = {"name": "look", "description": "x" * 100, "input_schema": {"type": "object"}}
ASK = [{"role": "user", "content": "A secret."}]


def test_the_page_of_claude_code_has_what_was_tested() -> None:
    (block,) = blocks(ROOT / "docs" / "clients" / "claude-code.md", "sh")
    said = dict(re.findall(r"^export (\w+)=(\S+)", block, re.MULTILINE))
    (plain, _) = headless.AGENTS["claude-code"]
    tested = {key: text.format(url=URL, model="kimi") for key, text in plain.environment.items()}
    assert said == tested
    assert f'claude -p "{headless.ASKED}"' in block


def test_the_page_of_codex_has_what_was_tested(tmp_path: Path) -> None:
    page = ROOT / "docs" / "clients" / "codex.md"
    (plain, _) = headless.AGENTS["codex"]
    plain.prepare(tmp_path, URL, "kimi")
    tested = tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())
    denied = {name: tested.pop(name) for name in ("hooks", "approval_policy", "sandbox_mode")}
    assert denied["sandbox_mode"] == "read-only"
    assert tomllib.loads(blocks(page, "toml")[0]) == tested
    assert f'codex exec --skip-git-repo-check "{headless.ASKED}"' in blocks(page, "sh")[0]


def test_an_agent_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(headless, "_BINARIES", tmp_path)
    with pytest.raises(headless.NotInstalledError, match="npm install --prefix"):
        headless.version(headless.AGENTS["codex"][0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "dialog", "tool"),
    [
        ("/v1/messages", "messages", TOOL),
        ("/v1/responses", "input", {"type": "function", "name": "look", "parameters": {}}),
    ],
)
def test_exchanges_are_noted_and_relayed(path: str, dialog: str, tool: dict[str, Any]) -> None:
    body = {"model": "m", dialog: ASK, "tools": [tool], "stream": True}
    with stub.running() as (url, recorded), relaying(url) as (relay, seen):
        answer = httpx.post(f"{relay}{path}?beta=true", json=body)
        assert httpx.get(f"{relay}/v1/models").json()["object"] == "list"
    assert recorded == [{"path": path, "body": body}]
    (one,) = seen
    assert (one.path, one.tools, one.messages, one.status) == (path, 1, 1, 200)
    assert one.text == answer.text
    assert one.answered
    assert one.calls == ["look"]


@pytest.mark.slow
def test_what_is_no_answer() -> None:
    with stub.running() as (url, _), relaying(f"{url}/v1/none") as (relay, seen):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(f"{relay}/elsewhere", json={})
        assert [one.status for one in seen] == [599]
    assert not seen[0].answered


def test_prompts_are_not_kept() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "description": "y" * 100,
        "properties": {"description": {"type": "string", "description": "z" * 100}},
    }
    body: dict[str, Any] = {
        "model": "m",
        "system": "Secret.",
        "messages": ASK,
        "metadata": {"user_id": "u"},
    }
    body |= {"tools": [TOOL | {"input_schema": schema}], "stream": True, "thinking": {"type": "x"}}
    kept = reduced({"path": "/v1/messages", "body": body})
    assert kept["others"] == ["metadata", "model"]
    assert "ecret" not in str(kept)
    (tool,) = kept["body"]["tools"]
    assert tool["description"] == "x" * 80
    assert tool["input_schema"]["description"] == "y" * 80
    assert tool["input_schema"]["properties"] == {
        "description": {"type": "string", "description": "z" * 80}
    }
    assert (kept["body"]["stream"], kept["body"]["thinking"]) == (True, {"type": "x"})
