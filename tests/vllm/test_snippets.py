"""Examples of clients, as they are written, on servers that are started as the pages say."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.demo.servers import HttpServer, Server
from enforcer.judging.judge import judge
from enforcer.judging.replies import whole
from enforcer.tools.doctor.answers import processes
from tests.processes import run
from tests.snippets import ROOT, blocks, commands, every
from tests.test_examples import FOLDER, SAYS
from tests.test_snippets import SERVED, says

pytestmark = pytest.mark.vllm

# The command `vllm`, of the environment that the tests run in.
_VLLM = (sys.executable, "-m", "vllm.entrypoints.cli.main")


@pytest.mark.parametrize("page", SERVED)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, tiny_server: Server) -> None:
    says(page, tmp_path, {"8000": httpx.URL(tiny_server.url).port or 0})


@pytest.mark.parametrize(
    ("name", "server", "given"),
    [
        ("openai_client", "tiny_server", []),
        ("openai_client", "processor_server", ["logits_processor"]),
        ("completions", "tiny_server", []),
        ("vllm_offline", None, []),
    ],
)
def test_an_example_runs(name: str, server: str | None, given: list[str], request: Any) -> None:
    url = [] if server is None else [f"{request.getfixturevalue(server).url}/v1"]
    script = [sys.executable, str(FOLDER / f"{name}.py"), *url, *given]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    done = run(*script, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(SAYS[name], done.stdout), done.stdout


def test_the_first_server_and_its_first_request(tmp_path: Path, monkeypatch: Any) -> None:
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
        typed = asked.replace("localhost:8000", server.url)
        answer = run("bash", "-c", typed, cwd=tmp_path, check=True)
    reply = whole(json.loads(answer.stdout))
    [call] = reply.calls
    shown = re.search(r"gives a call with `(.*)`", page.read_text())[1]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", json.loads(shown))
    assert not judge(json.loads(request), reply).findings
