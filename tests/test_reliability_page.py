"""The page on reliability names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
FAULTS = PAGE.split("## Faults")[1].split("\n## ")[0]
NAMED = re.findall(r"\| `(tests/[\w/]+\.py)` \|$", FAULTS, re.MULTILINE)


def test_each_fault_names_tests() -> None:
    rows = [line for line in FAULTS.splitlines() if line.startswith("| ")]
    assert len(NAMED) == len([line for line in rows if not line.startswith("| fault ")]) > 15


@pytest.mark.parametrize("file", sorted(set(NAMED)))
def test_tests_that_the_page_names_exist(file: str) -> None:
    assert re.search(r"^def test_", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("module", re.findall(r"python -m ([\w.]+)", PAGE))
def test_a_command_that_the_page_names_exists(module: str) -> None:
    path = ROOT.joinpath(*module.split("."))
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
