"""Running vLLM's CPU build as a server process.

Owns: the three ways of serving that the demo compares, the process, its log and
its end. Must not know: what is sent to it or how replies are judged.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

MODEL_NAME = "tiny-kimi"
_START_SECONDS = 600  # two busy cores need minutes where idle ones need 20 s
_STOP_SECONDS = 20
_KV_CACHE = 512 << 20
_ONE_PROCESS = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
_ENVIRONMENT = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to serve the model.

    Attributes:
        name: what the table calls it.
        flags: for vLLM's command line.
        plugins: the general plugins that vLLM may load; the rows to compare with are of
            vLLM as it is, without the Enforcer's.
        environment: variables and values beside what every server here gets.

    """

    name: str
    flags: tuple[str, ...]
    plugins: str = ""
    environment: tuple[tuple[str, str], ...] = ()


_CHOICE = "--enable-auto-tool-choice"
FREE = Setting("vLLM", (_CHOICE, "--tool-call-parser", "kimi_k2"))
STRICT = Setting("vLLM, strict", (*FREE.flags, "--tool-strict-level", "parameter"))
ENFORCED = Setting("Enforcer", (_CHOICE, "--tool-call-parser", "kimi_k2_enforced"), "enforcer")


def with_a_worker_process(setting: Setting) -> Setting:
    """Serve in this way as vLLM's CPU build does by default: a process and threads for the worker.

    Engine and worker wait for each other by spinning, and so do the worker's OpenMP threads: on
    two cores whatever else has to run waits for those.
    """
    cores = sorted(os.sched_getaffinity(0))
    threads = (
        ("VLLM_CPU_OMP_THREADS_BIND", ",".join(map(str, cores))),
        ("OMP_NUM_THREADS", str(len(cores))),
    )
    flags = (*setting.flags, "--distributed-executor-backend", "mp")
    return replace(setting, flags=flags, environment=(*setting.environment, *threads))


class ServerFailedError(Exception):
    """The server ended or never answered; the message names its log and quotes the end of it."""


class HttpServer:
    """A server; leaving the `with` block ends it and every process that it started.

    Args:
        command: what is run; `--host` and `--port` are added to it.
        log: where its output goes.
        environment: beside this process's own.
        health: the path that answers once it is ready.

    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        health: str = "/health",
    ) -> None:
        port = free_port()
        self.log = log
        self.url = f"http://127.0.0.1:{port}"
        self._command = [*command, "--host", "127.0.0.1", "--port", str(port)]
        self._environment = environment
        self._health = health

    def __enter__(self) -> Self:
        started: list[subprocess.Popen[bytes]] = []
        try:
            # A group of its own, so that Ctrl-C reaches the demo alone, which then ends the
            # server in order, and so that the engine processes can be ended with it.
            with self.log.open("w") as log, _interrupts_wait():
                started.append(
                    subprocess.Popen(
                        self._command,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        stdin=subprocess.DEVNULL,
                        env={**os.environ, **self._environment},
                        start_new_session=True,
                    )
                )
        except KeyboardInterrupt:
            # The block is not entered, so that its end would end nothing.
            for process in started:
                _end(process)
            raise
        (self._process,) = started
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _end(self._process)

    def wait_until_ready(self) -> None:
        """Block until the server answers.

        Raises:
            ServerFailedError: it ended, or did not answer within ten minutes.

        """
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                if httpx.get(f"{self.url}{self._health}", timeout=5).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.25)
        raise ServerFailedError(self._complaint("the server did not answer in time"))

    @property
    def pid(self) -> int:
        """The id of the first of its processes."""
        return self._process.pid

    def check_alive(self) -> None:
        """Raise `ServerFailedError` if the process has ended."""
        status = self._process.poll()
        if status is not None:
            raise ServerFailedError(self._complaint(f"the server ended with status {status}"))

    def _complaint(self, what: str) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([f"{what}; its log is {self.log}, which ends in:", *lines[-25:]])


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let an interrupt come after the block: between a fork and its id nobody would end the child.

    Handlers stay installed, for a mask would be the child's as well.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # interrupts come to the main thread
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    kept = {number: signal.signal(number, lambda at, _: came.append(at)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        for at in came:
            signal.raise_signal(at)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    finally:
        # The group outlives its leader where the leader died without ending its children.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Server(HttpServer):
    """A vLLM server.

    Args:
        model: a model folder.
        setting: how it is served.
        log: where its output goes.
        command: the module that is run and what comes before vLLM's flags, if it is not the
            OpenAI server.

    """

    def __init__(
        self,
        model: Path,
        setting: Setting,
        log: Path,
        command: tuple[str, ...] | None = None,
    ) -> None:
        module = "vllm.entrypoints.openai.api_server"
        words = [
            *(sys.executable, "-m", *(command or (module, "--model", str(model)))),
            *("--served-model-name", MODEL_NAME),
            *("--dtype", "float32", "--max-model-len", "4096", "--max-num-seqs", "16"),
            *("--enforce-eager", "--disable-uvicorn-access-log"),
            # The CPU build's default takes half of the machine's memory.
            *("--kv-cache-memory-bytes", str(_KV_CACHE)),
            # As on one GPU: the worker is the engine's process. See `with_a_worker_process`.
            *("--distributed-executor-backend", _ONE_PROCESS),
            *setting.flags,
        ]
        environment = {
            **_ENVIRONMENT,
            "VLLM_PLUGINS": setting.plugins,
            **dict(setting.environment),
        }
        super().__init__(words, log, environment)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
