"""Figures that stand in several places are the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
# Columns of the demo's table, counted from that of the requests, which is 0.
COLUMNS = {
    "undeclared calls": 4,
    "calls to undeclared tools": 4,
    "schema errors": 5,
    "schema accuracy": 7,
    "arguments that fail the schema": 5,
    "wrong ids": 8,
    "wrong call ids": 8,
    "empty replies": 10,
}


def _demo() -> list[list[str]]:
    """Give the rows of the demo's output in the README, a list of figures each."""
    rows = re.findall(r"^ (?:vLLM|vLLM, strict|Enforcer) {3,}(.*)$", README, re.MULTILINE)
    assert len(rows) == 3
    return [re.findall(r"[\d.]+(?: %)?", row) for row in rows]


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_a_page_has_the_figures_of_the_demo(page: str) -> None:
    text = (ROOT / page).read_text().partition("## Random weights")[0]
    demo = _demo()
    found = 0
    for name, column in COLUMNS.items():
        for line in re.findall(rf"^\| {name} \|(.*)\|$", text, re.MULTILINE):
            found += 1
            assert [cell.strip() for cell in line.split("|")] == [row[column] for row in demo]
    assert found >= 4
    strict, ours = re.search(
        r"^\| right turns .*\| \| (\d+ of \d+) \| (\d+ of \d+) \|$", text, re.MULTILINE
    ).groups()
    assert f"identical: {ours} valid turns (vLLM, strict: {strict})" in README
