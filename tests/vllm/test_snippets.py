"""Examples of clients, as they are written, on servers that are started as the pages say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bench.demo.servers import HttpServer
from enforcer.judging.judge import judge
from enforcer.judging.replies import whole
from enforcer.tools.doctor.answers import processes
from tests.snippets import ROOT, blocks, commands, every
from tests.test_examples import FOLDER, SAYS
from tests.test_snippets import SERVED, says

if TYPE_CHECKING:
    from pathlib import Path

    from bench.demo.servers import Server


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
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
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
