"""What a type checker says of a request's fields: what clients write fits, nonsense does not."""

import re
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).resolve().parents[1]

# Lines that end with `# no` are wrong, and no others.
SNIPPET = (ROOT / "tests/cases/types.txt").read_text()


@pytest.mark.slow
def test_what_a_type_checker_says(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    checked = processes.run(sys.executable, "-m", "mypy", "--strict", str(file), cwd=ROOT)
    found = {int(line) for line in re.findall(r"snippet\.py:(\d+): error", checked.stdout)}
    lines = enumerate(SNIPPET.splitlines(), 1)
    assert found == {at for at, line in lines if line.endswith("# no")}, checked.stdout
