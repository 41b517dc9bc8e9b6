"""Builds the wheel, audits it, and tests it in empty environments.

`python -m tests.support.wheel python3.12 python3.13` installs it for each of these Pythons and runs
`tests/machine` there, where no checkout is in the way; without a name, for the Python that runs
this. `.github/workflows/release.yml` does the same in containers, for each kind of processor.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("tests", "bench", "pyproject.toml")


def main() -> None:
    """Build, audit and test; exit with the status of the first command that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    pythons = parser.parse_args().pythons
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    group = groups["dependency-groups"]["wheel"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in NEEDED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        for python in pythons:
            environment = folder / f"environment-{Path(python).name}"
            _run(python, "-m", "venv", "--clear", str(environment), cwd=folder)
            tool = environment / "bin"
            pip = (str(tool / "pip"), "-qq", "--disable-pip-version-check")
            if python == pythons[0]:
                _run(*pip, "wheel", "--no-deps", "--wheel-dir", "dist", str(ROOT), cwd=folder)
                (wheel,) = map(str, (folder / "dist").glob("*.whl"))
            _run(*pip, "install", wheel, *group, cwd=folder)
            if python == pythons[0]:
                _run(str(tool / "abi3audit"), "--strict", "--verbose", wheel, cwd=folder)
                _run(str(tool / "auditwheel"), "show", wheel, cwd=folder)
            _run(str(tool / "python"), "--version", cwd=folder)
            _run(str(tool / "python"), "-m", "pytest", "tests/machine", cwd=folder)


def _run(*command: str, cwd: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = {"ENFORCER_SHARED": str(ROOT.parent / "shared"), **kept}
    done = subprocess.run(command, cwd=cwd, env=found, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
