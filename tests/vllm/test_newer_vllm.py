"""Versions without a CPU build serve too: their Python files over the installed one's kernels.

`python -m tests.support.newer_vllm VERSION python -m pytest tests/vllm` runs all of these tests so;
here is one server.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from enforcer.vllm.config.names import TESTED_VERSIONS
from tests.processes import run
from tests.support import newer_vllm

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SERVED = Path(__file__).with_name("test_random_weights.py")


@pytest.mark.parametrize("version", TESTED_VERSIONS[1:])
def test_it_leaves_random_weights_only_declared_and_valid_calls(version: str) -> None:
    try:
        root = newer_vllm.overlay(version)
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"the wheel of vLLM {version} cannot be had here: {error}")
    environment = newer_vllm.environment(root) | {"LIVE_REQUESTS": "60"}

    python = partial(run, sys.executable, env=environment)
    told = python("-c", "import vllm; print(vllm.__version__)")
    assert told.stdout.split() == [version], told.stderr
    served = python("-m", "pytest", "-p", "no:cacheprovider", str(SERVED))
    assert served.returncode == 0, served.stdout[-8000:]
    assert "2 passed" in served.stdout
