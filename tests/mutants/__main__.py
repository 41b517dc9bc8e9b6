"""`python -m tests.mutants --seed N --minutes M`: would the tests notice?

Changes one place of the core or the compiler at a time, chosen at random, in a copy of the
repository, and runs the tests that can notice: the module's own, then all that reach the place
without a server (`reach`: recorded first, once for a state of the code). A mutant that none of
them notices has survived, and is shown; those in `equivalent.toml` are not counted. The same seed
chooses the same mutants. Exits with 1 if fewer than nine of ten are noticed.

A mutant of a compiled module is compiled, without optimization, which takes half a minute. Whose
tests it runs in cannot be recorded there, so that all are asked that follow a text by the machine.

Needs `pip install --group mutants` with pip 25.1 or newer: Cosmic Ray, whose operators these are,
and pytest-cov. Cosmic Ray's own runner gives every mutant the same command; here most mutants take
the seconds of one module's tests, which is what makes a sample affordable.
"""

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

from enforcer.machine import compiled
from tests.mutants.known import equivalent
from tests.mutants.mutants import ROOT, Mutant, mutants
from tests.mutants.reach import record

ROOMS = ("turn", "request", "schema", "regex", "numbers", "machine", "kernel")
_LINT = "enforcer/tools/lint.py"  # alone of the tools: it reads schemas
WANTED = 0.9
# Tests of what stands around the package; of a place of it they say nothing, or need a whole clone.
_ASIDE = (
    *("clients", "demo", "deploy", "docs", "fuzz", "gpu", "mutants", "peers"),
    "test_packaging.py",
)
_PARALLEL = ("-n", "auto", "--dist", "loadgroup", "--no-loadscope-reorder")
_FEW_SECONDS = 20  # of tests: not worth a second process
_PATIENCE = (6, 90)  # times what the tests take unchanged, and seconds more
_KERNEL = Path("enforcer", "kernel")
_COMPILED = frozenset(str(_KERNEL / f"{name}.py") for name in compiled.FILES)
_BOUND = str(Path("enforcer", "machine", "grammar.py"))  # it reaches what runs compiled


class Workplace:
    """A copy of the repository, in which one module at a time is changed and tests are run.

    Args:
        folder: an empty one, or none yet, in one with nothing else.
        tests: files and folders to ask, relative to the repository; none for all.

    """

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self._folder = folder
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True)
        for name in listed.stdout.splitlines():
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        # Beside the copy, where the benches look for it that tests use.
        shared = Path(os.environ.get("ENFORCER_SHARED", ROOT.parent / "shared"))
        (folder.parent / "shared").symlink_to(shared)
        self._environment = {**os.environ, "PYTHONPATH": str(folder), "CFLAGS": "-O0"}
        if not self._compile():
            raise SystemExit("the compiled modules cannot be compiled: python hatch_build.py")
        self._unchanged = {each: each.read_bytes() for each in (folder / _KERNEL).glob("*.so")}
        every = sorted(each for each in (folder / "tests").iterdir() if each.name not in _ASIDE)
        self._reach = record(
            folder,
            ROOT / ".cache" / "mutants",
            self._environment,
            tests
            or [f"tests/{each.name}" for each in every if each.is_dir() or each.match("test_*.py")],
        )

    def noticed(self, mutant: Mutant) -> str | None:
        """Return the tests that fail, or do not end, with a mutant: a file, or of how many one."""
        original = (self._folder / mutant.path).read_text(encoding="utf-8")
        last = mutant.line + mutant.before.count("\n")
        if mutant.path in _COMPILED:
            reaching = self._reach.using(_BOUND)
        else:
            reaching = self._reach.tests(mutant.path, original, mutant.line, last)
        own = mirror(mutant.path)
        near = [own] if own in reaching else []
        for files in (near, [each for each in reaching if each != own]):
            if files and self._fails(mutant, files):
                return files[0] if len(files) == 1 else f"one of {len(files)} files"
        return None

    def _fails(self, mutant: Mutant, files: list[str]) -> bool:
        seconds = sum(self._reach.seconds[each] for each in files)
        times, more = _PATIENCE
        module = self._folder / mutant.path
        original = module.read_bytes()
        self._write(module, mutant.code.encode())
        try:
            if not self._compile():
                return True
            return self._run(files, seconds > _FEW_SECONDS, times * seconds + more) != 0
        finally:
            self._write(module, original)
            for each, code in self._unchanged.items():
                each.write_bytes(code)

    def _compile(self) -> bool:
        """Compile the compiled modules, if one of them has changed; False if that fails."""
        command = [sys.executable, "hatch_build.py"]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, check=False)
        return done.returncode == 0

    @staticmethod
    def _write(module: Path, code: bytes) -> None:
        for cached in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
            cached.unlink()
        module.write_bytes(code)

    def _run(self, files: list[str], parallel: bool, seconds: float) -> int:
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-m", "not vllm"),
            *("-p", "no:cacheprovider", "--no-header", *(_PARALLEL if parallel else ()), *files),
        ]
        # In a group of its own, so that what a test has started ends with it.
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()


def mirror(path: str) -> str:
    """Name the file of a module's own tests, which need not exist."""
    module = Path(path).relative_to("enforcer")
    return str(Path("tests", module.parent, f"test_{module.stem}.py"))


def main() -> int:
    """Run, show the survivors and the rate, and return the exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--minutes", type=float, default=60, help="when to stop, once the tests' reach is recorded"
    )
    options.add_argument("--most", type=int, default=10_000, help="mutants to try")
    options.add_argument("--only", default="", help="part of the paths of modules to change")
    options.add_argument("--tests", nargs="*", default=[], help="those to ask, instead of all")
    arguments = options.parse_args()
    random, known = Random(arguments.seed), equivalent()
    rooms = (sorted((ROOT / "enforcer" / room).rglob("*.py")) for room in ROOMS)
    files = [*(str(path.relative_to(ROOT)) for room in rooms for path in room), _LINT]
    files = [path for path in files if arguments.only in path]
    tried = survived = same = 0
    with tempfile.TemporaryDirectory() as folder:
        workplace = Workplace(Path(folder) / "repository", arguments.tests)
        until = time.monotonic() + 60 * arguments.minutes
        for mutant in mutants(files, random):
            if tried == arguments.most or time.monotonic() > until:
                break
            if (mutant.path, mutant.before, mutant.after) in known:
                same += 1
                continue
            begun = time.monotonic()
            by = workplace.noticed(mutant)
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
