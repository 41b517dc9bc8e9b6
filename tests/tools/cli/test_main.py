"""The command itself: its version, `python -m`, and pipes that close."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from enforcer.tools import cli
from tests import processes

PYTHON = [sys.executable, "-m", "enforcer"]


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"enforcer {metadata.version('kimi-enforcer')}\n"


@pytest.mark.slow
def test_as_a_module() -> None:
    assert processes.run(*PYTHON, "--help", check=True).stdout.startswith("usage: enforcer")


@pytest.mark.slow
def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path) -> None:
    tools = [{"name": f"f{n}", "input_schema": {"type": "object"}} for n in range(3000)]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    command = [*PYTHON, "check", str(tmp_path / "tools.json")]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as running:
        assert running.stdout.readline().startswith("exact")
        running.stdout.close()
        error = running.stderr.read()
    assert error == ""
    assert running.returncode == cli.PIPE_CLOSED
