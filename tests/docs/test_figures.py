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


def test_the_readme_says_what_the_page_of_results_says_that_it_costs() -> None:
    page = (ROOT / "docs/results.md").read_text().split("## What it costs")[1]
    (said,) = re.findall(r"^- It costs .*$", README, re.MULTILINE)

    def row(name: str) -> list[str]:
        (found,) = re.findall(rf"^\| {name} \|(.*)\|$", page, re.MULTILINE)
        return [cell.split("(")[0].strip() for cell in found.split("|")]

    masks = [row(name)[0] for name in ("128 tools, unseen", "text", "arguments")]
    shares = [row(f"auto, {n} in flight")[-1] for n in (1, 32)]
    told = re.findall(r"([\d.]+)(?: (?:ms|µs)| of vLLM's| with 32\b)", said)
    known = page.split("| known tools, ids a second |")[1].split("\n\n")[0]
    beside = re.findall(r"^\| \w+, \d+ at a time \|.*\| ([\d.]+) \(", known, re.MULTILINE)
    assert told == [*masks, *shares, min(beside, key=float)]
