import sys
import time
from pathlib import Path

import pytest

from bench.demo.servers import ENFORCED, FREE, STRICT, Server, ServerFailedError
from tests.processes import is_running

# A stand-in for vLLM: it starts a child, as vLLM starts its engine, and neither ends by itself.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[1], "w").write(str(child.pid))
time.sleep(600)
"""


def stand_in(tmp_path: Path, *command: str) -> Server:
    server = Server(Path("model"), FREE, tmp_path / "server.log")
    server._command = [sys.executable, *command]
    return server


@pytest.mark.slow
def test_the_engine_ends_with_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.demo.servers._STOP_SECONDS", 0.5)
    note = tmp_path / "child"
    with stand_in(tmp_path, "-c", STUBBORN, str(note)) as server:
        while not (note.exists() and note.read_text()):
            time.sleep(0.02)
        server.check_alive()
        child = int(note.read_text())
        assert is_running(child)
    while is_running(child):  # the kernel needs a moment; the test's own time limit is the bound
        time.sleep(0.02)
    with pytest.raises(ServerFailedError, match="status -9"):
        server.check_alive()


def test_a_failed_start_names_the_log_and_quotes_its_end(tmp_path: Path) -> None:
    lines = "for n in range(100): print('line', n)\nraise SystemExit(3)"
    with stand_in(tmp_path, "-c", lines) as server, pytest.raises(ServerFailedError) as failed:
        server.wait_until_ready()
    message = str(failed.value)
    assert "status 3" in message
    assert str(tmp_path / "server.log") in message
    assert message.endswith("line 98\nline 99")
    assert "line 9\n" not in message


def test_servers_have_ports_of_their_own(tmp_path: Path) -> None:
    assert len({Server(Path("model"), FREE, tmp_path / "log").url for _ in range(8)}) > 1


def test_only_the_enforcer_has_a_plugin() -> None:
    assert (FREE.plugins, STRICT.plugins, ENFORCED.plugins) == ("", "", "enforcer")
