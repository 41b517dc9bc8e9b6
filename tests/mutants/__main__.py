"""`python -m tests.mutants --seed N --minutes M`: would the tests notice?

Changes one place of the core or the compiler at a time, chosen at random, in a copy of the
repository, and runs the tests that are nearest to it: those of the module, then those of its
room, then all that reach the core without a server. A mutant that none of them notices has
survived, and is shown; those in `equivalent.toml` are not counted. The same seed chooses the
same mutants. Exits with 1 if fewer than nine of ten are noticed.

Needs `pip install --group mutants` with pip 25.1 or newer (Cosmic Ray, whose operators these are).
Cosmic Ray's own runner gives every mutant the same command; here most mutants take the seconds of
one module's tests, which is what makes a sample affordable.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.mutants.mutants import ROOT, Mutant, equivalent, mutants

ROOMS = ("turn", "request", "schema", "regex", "numbers")
# Whatever reaches those rooms without a server, what notices most first.
REST = (
    *("tests/schema", "tests/conformance", "tests/turn", "tests/request", "tests/regex"),
    *("tests/numbers", "tests/engines", "tests/properties", "tests/test_api.py"),
    *("tests/test_compiling.py", "tests/test_budget.py", "tests/test_errors.py"),
    "tests/test_documents.py",
)
WANTED = 0.9
_COPIED = ("enforcer", "tests", "grammars", "bench", "docs", "README.md", "Makefile")
_PATIENCE = (6, 90)  # times what the tests take unchanged, and seconds more


class Workplace:
    """A copy of the repository, in which one module at a time is changed and tests are run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (*_COPIED, "pyproject.toml", "CONTRIBUTING.md", "CHANGELOG.md"):
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".cache")
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
            elif (ROOT / name).exists():
                shutil.copy(ROOT / name, folder / name)
        shared = os.environ.get("ENFORCER_SHARED", str(ROOT.parent / "shared"))
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(folder),
            "ENFORCER_SHARED": shared,
        }
        self._usual: dict[tuple[str, ...], float] = {}

    def notices(self, mutant: Mutant, tests: tuple[str, ...]) -> bool:
        """Tell whether tests fail, or do not end, with a mutant.

        Raises:
            RuntimeError: they fail without it.

        """
        if tests not in self._usual:
            begun = time.monotonic()
            code, said = self._run(tests, None)
            if code != 0:
                raise RuntimeError(f"{' '.join(tests)} fail unchanged:\n{said[-3000:]}")
            self._usual[tests] = time.monotonic() - begun
        times, more = _PATIENCE
        module = self._folder / mutant.path
        original = module.read_bytes()
        self._write(module, mutant.code.encode())
        try:
            code, _ = self._run(tests, times * self._usual[tests] + more)
        finally:
            self._write(module, original)
        return code != 0

    @staticmethod
    def _write(module: Path, code: bytes) -> None:
        for cached in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
            cached.unlink()
        module.write_bytes(code)

    def _run(self, tests: tuple[str, ...], seconds: float | None) -> tuple[int, str]:
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-m", "not vllm"),
            *("-p", "no:cacheprovider", "--no-header", *tests),
        ]
        # In a group of its own, so that what a test has started ends with it.
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return -1, "out of time"
        return process.returncode, said


def stages(path: str) -> list[tuple[str, ...]]:
    """Return the tests to run for a module: its own, those of its room, then the rest.

    Where it has none of its own, the room's come first, and nothing second.
    """
    module = Path(path).relative_to("enforcer")
    mirror = Path("tests", module.parent, f"test_{module.stem}.py")
    room = str(Path("tests", module.parts[0]))
    near = [(str(mirror),), (room,)] if (ROOT / mirror).exists() else [(room,), ()]
    return [*near, tuple(each for each in REST if each != room)]


def main() -> int:
    """Run, show the survivors and the rate, and return the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--minutes", type=float, default=60, help="when to stop")
    options.add_argument("--most", type=int, default=10_000, help="mutants to try")
    options.add_argument("--only", default="", help="part of the paths of modules to change")
    options.add_argument(
        "--stages", type=int, default=3, help="1: the module's own tests; 2: its room's as well"
    )
    arguments = options.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    random, known = Random(arguments.seed), equivalent()
    rooms = (sorted((ROOT / "enforcer" / room).rglob("*.py")) for room in ROOMS)
    files = [str(path.relative_to(ROOT)) for room in rooms for path in room]
    files = [path for path in files if arguments.only in path]
    tried = survived = same = 0
    with tempfile.TemporaryDirectory() as folder:
        workplace = Workplace(Path(folder))
        for mutant in mutants(files, random):
            if tried == arguments.most or time.monotonic() > until:
                break
            if (mutant.path, mutant.before, mutant.after) in known:
                same += 1
                continue
            begun = time.monotonic()
            by = None
            for stage in stages(mutant.path)[: arguments.stages]:
                if stage and by is None and workplace.notices(mutant, stage):
                    by = stage[0]
            tried += 1
            survived += by is None
            _say(
                f"{mutant.path}:{mutant.line} {f'noticed by {by}' if by else 'SURVIVED'}"
                f" ({time.monotonic() - begun:.0f} s)"
            )
            if by is None:
                _say(f"- {mutant.before}\n+ {mutant.after}")
    rate = (tried - survived) / tried if tried else 0.0
    _say(
        f"seed {arguments.seed}: {tried} mutants, {survived} survived, "
        f"{rate:.1%} noticed; {same} more are known to change nothing"
    )
    return int(rate < WANTED)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
