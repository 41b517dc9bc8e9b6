"""LiteLLM's proxy between the clients and a server.

Owns: its configuration, its process and its end. Must not know: what goes through it.

It wants packages of other versions than vLLM's, hence an environment of its own:
`python -m venv .litellm && .litellm/bin/pip install 'litellm[proxy]'`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import TYPE_CHECKING, Self

import httpx

from bench.demo.servers import MODEL_NAME, ServerFailedError, free_port

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_START_SECONDS = 180
_STOP_SECONDS = 20


class Proxy:
    """A proxy; leaving the `with` block ends it.

    Args:
        program: the executable `litellm`.
        url: the server's, without `/v1`.
        folder: where its configuration and its log go.

    """

    def __init__(self, program: Path, url: str, folder: Path) -> None:
        self._log = folder / "proxy.log"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        # JSON is YAML; `drop_params` is off: what it cannot pass on is an error, not lost.
        served = {"model": f"hosted_vllm/{MODEL_NAME}", "api_base": f"{url}/v1", "api_key": "-"}
        configuration = {"model_list": [{"model_name": MODEL_NAME, "litellm_params": served}]}
        path = folder / "proxy.json"
        path.write_text(json.dumps(configuration))
        self._command = [str(program), "--config", str(path), "--host", "127.0.0.1"]
        self._command += ["--port", str(port), "--telemetry", "False"]

    def __enter__(self) -> Self:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                # Else it asks the network what models cost.
                env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait_until_ready(self) -> None:
        """Block until it answers.

        Raises:
            ServerFailedError: it ended, or did not answer in time.

        """
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if httpx.get(f"{self.url}/health/liveliness", timeout=5).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.25)
        end = "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])
        raise ServerFailedError(f"the proxy did not start; its log ends in:\n{end}")
