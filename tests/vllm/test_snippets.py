"""Examples of clients, as they are written, on servers that are started as the pages say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from transformers import AutoTokenizer

import enforcer
from bench.demo.servers import MODEL_NAME, HttpServer
from enforcer.doctor.answers import processes
from enforcer.verify.measure import judge
from enforcer.verify.replies import whole
from tests.snippets import MESSAGES, PROMPT, ROOT, TOOLS, blocks, commands, every, find, run
from tests.test_examples import FOLDER, SAYS
from tests.vllm_servers import TINY

if TYPE_CHECKING:
    from pathlib import Path

    from bench.demo.servers import Server


pytestmark = pytest.mark.vllm

# The command `vllm`, of the environment that the tests run in.
_VLLM = (sys.executable, "-m", "vllm.entrypoints.cli.main")
# Where the server is, and what it calls its model, are the reader's own.
ADDRESS, NAME = "http://localhost:8000", 'model="kimi"'


def _run(server: Server, page: Any, word: str) -> Any:
    block = find(page, word)
    assert ADDRESS in block
    assert NAME in block
    block = block.replace(ADDRESS, server.url).replace(NAME, f'model="{MODEL_NAME}"')
    return run(block, tools=TOOLS, messages=MESSAGES, prompt=PROMPT)


def test_readme_on_the_server_that_readme_starts(tiny_server: Server) -> None:
    made = _run(tiny_server, "README.md", "openai")
    assert made["extra"]["structured_outputs"]


def test_the_openai_client(tiny_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    reply = _run(tiny_server, "docs/clients/openai.md", "openai")["reply"]
    body = {"messages": MESSAGES, "tools": TOOLS, "tool_choice": "required", "stream": False}
    assert not judge(body, whole(reply.model_dump())).findings
    assert "functions.get_weather:0 get_weather {" in capsys.readouterr().out


def test_the_script_with_openais_client(tiny_server: Server) -> None:
    script = [sys.executable, str(FOLDER / "openai_client.py"), f"{tiny_server.url}/v1"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(SAYS["openai_client"], done.stdout), done.stdout


def test_the_anthropic_client(tiny_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    reply = _run(tiny_server, "docs/clients/anthropic.md", "anthropic")["reply"]
    assert reply.stop_reason == "tool_use"
    assert "get_weather {'city': " in capsys.readouterr().out


def test_a_completion(tiny_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    reply = _run(tiny_server, "docs/index.md", "client.completions")["reply"]
    tokenizer = AutoTokenizer.from_pretrained(TINY)
    read = find("docs/index.md", "reply.choices[0].model_dump")
    run(read, enforcer=enforcer, tokenizer=tokenizer, reply=reply)
    assert "functions.get_weather:0 get_weather {" in capsys.readouterr().out


def test_the_logits_processor(processor_server: Server) -> None:
    reply = _run(processor_server, "docs/index.md", "LOGITS_PROCESSOR")["reply"]
    body = {"messages": MESSAGES, "tools": TOOLS, "stream": False}
    assert not judge(body, whole(reply.model_dump())).findings


def test_the_first_server_and_its_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody who is new to it types: the command, then the request by curl."""
    page = ROOT / "docs/index.md"
    (command,) = [
        each
        for each in commands(every())
        if each.block.page == "docs/index.md" and each.words[0] == ".venv/bin/vllm"
    ]
    asked = re.search(r"`(curl [^`]*@request.json)`", page.read_text())[1]
    (request,) = blocks(page, "json")
    (tmp_path / "request.json").write_text(request)
    monkeypatch.chdir(ROOT)  # where the command is typed
    given = {"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", **command.given}
    with HttpServer([*_VLLM, *command.words[1:]], tmp_path / "log", given) as server:
        server.wait_until_ready()
        shown = httpx.get(f"{server.url}/metrics/").text
        assert processes(shown).found == "1 of the front end, 1 of the engine, 1 of workers"
        assert "localhost:8000" in asked
        answer = subprocess.run(
            ["bash", "-c", asked.replace("localhost:8000", server.url)],  # noqa: S607
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
    reply = whole(json.loads(answer.stdout))
    [call] = reply.calls
    shown = re.search(r"gives a call with `(.*)`", page.read_text())[1]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", json.loads(shown))
    assert not judge(json.loads(request), reply).findings
