"""The whole demo, as `make demo` runs it, on fewer requests."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from signal import Signals
from typing import Any, Self

import pytest

from bench.demo import __main__ as demo
from bench.demo import servers
from bench.demo.__main__ import MODEL, ROOT, SETTINGS
from bench.demo.table import COLUMNS
from enforcer.judging.replies import ChatReply
from enforcer.tools.verify import client
from tests import processes
from tests.processes import descendants, is_running

pytestmark = pytest.mark.vllm
DEMO = [sys.executable, "-m", "bench.demo"]


REQUESTS = 37  # each kind, as often as it comes


def test_the_enforcers_row_is_perfect_and_stock_vllm_is_not() -> None:
    done = processes.run(*DEMO, "--requests", str(REQUESTS), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {}
    for setting in SETTINGS:
        [line] = re.findall(
            rf"^ *{re.escape(setting.name)}  +(\d.*\d) *$", done.stdout, re.MULTILINE
        )
        cells = line.replace(" %", "").split()
        rows[setting.name] = dict(zip(COLUMNS[1:], map(float, cells), strict=True))
    stock, _, enforced = rows.values()
    assert stock["requests"] == enforced["requests"] == REQUESTS
    assert stock["schema\naccuracy"] <= 80
    assert stock["undeclared\ncalls"] > 0
    assert stock["schema\nerrors"] > 0
    assert enforced["schema\naccuracy"] == 100
    assert enforced["successful\ncalls"] >= enforced["tool\ncalls"] > 0
    faults = ("undeclared calls", "schema errors", "wrong ids", "leaked markers", "other errors")
    for fault in (heading.replace(" ", "\n") for heading in faults):
        assert enforced[fault] == 0, fault
    [(identical, valid)] = re.findall(r"identical: (\d+) of (\d+) valid turns", done.stdout)
    assert identical == valid
    assert int(valid) > REQUESTS / 3


# The server, not yet begun and alone; and with its engine, which is another process.
@pytest.mark.parametrize(
    ("number", "processes", "after"),
    [(signal.SIGTERM, 1, 0), (signal.SIGTERM, 1, 0.5), (signal.SIGINT, 3, 0)],
)
def test_a_stopped_demo_leaves_no_process(number: Signals, processes: int, after: float) -> None:
    running = subprocess.Popen(DEMO, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    while len(started := descendants(running.pid)) < processes:
        assert running.poll() is None
    time.sleep(after)
    running.send_signal(number)
    printed, _ = running.communicate()
    # CPython ends by the signal's hand where it came in the midst of an `exec` of a text.
    assert running.returncode in (130, -signal.SIGINT)
    assert "interrupted" in printed
    while [pid for pid in started if is_running(pid)]:  # killed; the kernel needs a moment
        time.sleep(0.05)


def test_what_goes_on_is_told_where_no_terminal_draws_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Server:
        url = "http://127.0.0.1:9"

        def __init__(self, *_: object) -> None:
            assert capsys.readouterr().out.endswith("which takes a minute or so\n")

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            assert capsys.readouterr().out.rstrip().endswith("is ready, and is sent 2 requests")

        def wait_until_ready(self) -> None:
            assert not capsys.readouterr().out

        def check_alive(self) -> None:
            pass

    async def send_all(_endpoint: object, bodies: list[Any], _tell: object) -> list[ChatReply]:
        return [ChatReply(0, "reset") for _ in bodies]

    monkeypatch.setattr(servers, "Server", Server)
    monkeypatch.setattr(client, "send_all", send_all)
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    demo.serve_all(tmp_path, SETTINGS, [{}, {}], {})
    assert "Enforcer: all its requests are answered" in capsys.readouterr().out


def test_an_interrupted_demo_shows_the_servers_that_have_answered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def serve_all(_model: Path, _: object, bodies: list[Any], replies: dict[Any, Any]) -> None:
        replies[SETTINGS[0]] = [ChatReply(0, "reset") for _ in bodies]
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "serve_all", serve_all)
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench.demo", "--requests", "3"])
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert demo.main() == 130
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    printed = capsys.readouterr().out
    assert re.search(rf"^ *{re.escape(SETTINGS[0].name)} +3 ", printed, re.MULTILINE)
    assert SETTINGS[1].name not in printed
    assert "interrupted" in printed


def test_a_server_that_cannot_start_fails_the_demo(tmp_path: Path) -> None:
    done = processes.run(*DEMO, "--model", str(tmp_path), cwd=ROOT)
    assert done.returncode == 1
    [log] = re.findall(r"its log is (\S+),", done.stderr)
    assert Path(log).read_text().rstrip().endswith(done.stderr.rstrip().splitlines()[-1].strip())


def test_the_demos_model_is_there() -> None:
    assert (MODEL / "model.safetensors").is_file()
