"""`enforcer check` run on values, and `enforcer verify` against a server that answers as told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enforcer.tools import cli
from tests.fake_server import FakeServer, serving
from tests.support.json_lines import write
from tests.tools.cli.answers import REQUEST, SCHEMAS, Check, Command, Run, Verify


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; gives its status, output and errors."""
    return lambda *words: (cli.main([*words]), *capsys.readouterr())


@pytest.fixture
def schemas(tmp_path: Path) -> str:
    return str(write(tmp_path / "schemas.jsonl", *SCHEMAS))


@pytest.fixture
def requests(tmp_path: Path) -> str:
    bodies = [{**REQUEST, "stream": stream} for stream in (False, True)]
    return str(write(tmp_path / "requests.jsonl", *bodies))


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(
        answer: Callable[..., Any], *options: str, url: str | None = None, **listing: Any
    ) -> tuple[int, dict[str, Any] | None, str, FakeServer]:
        report = tmp_path / "report.json"
        with serving(answer, **listing) as server:
            arguments = ["--url", url or server.url, "--report", str(report), "--quiet"]
            status = cli.main(["verify", *arguments, *options])
        out, err = capsys.readouterr()
        found = json.loads(report.read_text()) if report.exists() else None
        return status, found, out + err, server

    return run


@pytest.fixture
def run(tmp_path: Path, command: Command) -> Run:
    """Check lines of a file; gives the status, and the lines of both outputs."""

    def _run(*lines: Any, options: tuple[str, ...] = ()) -> tuple[int, list[str], list[str]]:
        file = tmp_path / "file.jsonl"
        text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        file.write_text("\n".join(text))
        status, out, err = command("check", *options, str(file))
        return status, out.splitlines(), err.splitlines()

    return _run


@pytest.fixture
def check(tmp_path: Path, command: Command) -> Check:
    def run(
        *values: Any, options: list[str] | tuple[Any, ...] = (), text: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        file = tmp_path / "file.json"
        file.write_text("\n".join(map(json.dumps, values)) if text is None else text)
        status, out, _ = command("check", "--json", *options, str(file))
        return status, json.loads(out)

    return run
