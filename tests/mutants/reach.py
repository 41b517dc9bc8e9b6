"""Which tests reach which lines, by coverage.py: measured once for a state of the code.

Owns: the run that records it, and the test files to ask about a change, the nearest first. Must
not know: what is changed.

Files, not tests: what a file's tests share (a fixture, a cache) is reached by the first of them
alone. What several files share is not told apart, so that a file may be missed; none too many
mutants are called noticed for it.
"""

import ast
import hashlib
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from itertools import chain
from pathlib import Path

from coverage import CoverageData

_CONFIGURATION = "[run]\nrelative_files = true\nsource = enforcer\n"


class Reach:
    """The test files that reach a line, and how long each takes.

    Attributes:
        seconds: that each test file takes in one process, under the tracer.

    """

    def __init__(self, folder: Path) -> None:
        self._data = CoverageData(str(folder / "coverage"))
        self._data.read()
        self.seconds: dict[str, float] = defaultdict(float)
        # Written by the run below, of our own tests.
        for case in ET.parse(folder / "seconds.xml").iter("testcase"):  # noqa: S314
            self.seconds[case.attrib["file"]] += float(case.attrib["time"])

    def tests(self, path: str, code: str, first: int, last: int) -> list[str]:
        """List the test files that reach a statement, the module's room first, quick ones first.

        Args:
            path: of the module, relative to the repository.
            code: the module, unchanged.
            first, last: lines of it, counted from 1.

        """
        contexts = self._data.contexts_by_lineno(path)
        start, end = _statement(code, first, last)
        reaching = {each for line in range(start, end + 1) for each in contexts.get(line, ())}
        # What is run as the module is loaded belongs to no test: ask whoever uses the module.
        return self._files(path, reaching - {""}) or self.using(path)

    def using(self, path: str) -> list[str]:
        """List the test files that reach a module at all, in the same order."""
        contexts = self._data.contexts_by_lineno(path)
        return self._files(path, {each for some in contexts.values() for each in some} - {""})

    def _files(self, path: str, named: set[str]) -> list[str]:
        files = {each.split("::")[0] for each in named}
        room = f"tests/{Path(path).parts[1]}/"
        return sorted(files, key=lambda file: (not file.startswith(room), self.seconds[file], file))


def _statement(code: str, first: int, last: int) -> tuple[int, int]:
    """Return the lines of the smallest statement around some lines; those, if there is none."""
    around = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt)
        and node.lineno <= first
        and (node.end_lineno or node.lineno) >= last
    ]
    return min(around, key=lambda each: each[1] - each[0], default=(first, last))


def record(folder: Path, kept: Path, environment: dict[str, str], tests: list[str]) -> Reach:
    """Return what reaches what in a copy of the repository, from `kept` if that has it.

    `tests` are files and folders of it. Takes as long as they do on all processors, and half as
    long again.

    Raises:
        RuntimeError: the tests fail.

    """
    digest = hashlib.sha256(" ".join(tests).encode())
    of_tests = (folder.glob(f"tests/**/*.{kind}") for kind in ("py", "toml", "txt", "jsonl"))
    for path in sorted((*folder.glob("enforcer/**/*.py"), *chain.from_iterable(of_tests))):
        digest.update(path.read_bytes())
    into = kept / digest.hexdigest()[:16]
    if not (into / "seconds.xml").exists():
        into.mkdir(parents=True, exist_ok=True)
        settings = into / "settings.ini"  # any `coverage.*` would be taken for data, and removed
        settings.write_text(_CONFIGURATION, encoding="utf-8")
        command = [
            *(sys.executable, "-m", "pytest", "-m", "not vllm", "-n", "auto"),
            *("--dist", "loadgroup", "--no-loadscope-reorder", "-p", "no:cacheprovider"),
            *("--cov", "--cov-context=test", "--cov-report="),
            *(f"--cov-config={settings}", "-o", "junit_family=xunit1"),
            *(f"--junitxml={into / 'unfinished.xml'}", *tests),
        ]
        ended = subprocess.run(
            command,
            cwd=folder,
            env={**environment, "COVERAGE_FILE": str(into / "coverage")},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode != 0:
            raise RuntimeError(f"the tests fail unchanged:\n{ended.stdout[-3000:]}")
        (into / "unfinished.xml").rename(into / "seconds.xml")
    return Reach(into)
