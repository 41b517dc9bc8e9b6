"""A Ray head of this machine alone, for vLLM's CPU build.

It counts GPUs that are not there, which `shim` lets the CPU build ask for. Ray is not in `.venv`:
where vLLM finds it, every other server would import it too. `python -m bench.scale.ray_head`
installs it into `.ray`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = _ROOT / ".ray"
_SHIM = Path(__file__).with_name("shim")


def missing() -> str | None:
    """Return why Ray cannot be used; None if it can."""
    found = (_FOLDER / "ray").is_dir()
    return None if found else f"no Ray in {_FOLDER.name}: python -m bench.scale.ray_head gets it"


def install() -> int:
    """Install Ray, unless it is there; return pip's status."""
    if missing() is None:
        return 0
    groups = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pip = (sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "install")
    wanted = groups["dependency-groups"]["ray"]
    command = [*pip, "--no-deps", "--target", str(_FOLDER), *wanted]
    return subprocess.run(command, check=False).returncode


@contextmanager
def running(logs: Path, folder: Path) -> Iterator[None]:
    """Start a head, which runs until the namespace ends; servers find it by their environment.

    Args:
        logs: gets what Ray says.
        folder: gets its files.

    """
    paths = [str(_SHIM), str(_FOLDER), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ADDRESS": "127.0.0.1:6379",
    }
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head"),
        *("--node-ip-address=127.0.0.1", "--port=6379", "--num-gpus=4", "--num-cpus=4"),
        *("--include-dashboard=false", f"--object-store-memory={100 << 20}"),
        f"--temp-dir={folder / 'ray'}",
    ]
    with patch.dict(os.environ, environment):
        with (logs / "ray.log").open("w", encoding="utf-8") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)
        yield


if __name__ == "__main__":
    sys.exit(install())
