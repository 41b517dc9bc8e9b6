"""Draws tables of the docs as bars: `python -m tests.support.plots`.

Owns: reading a table, and a chart of grouped bars as SVG. Must not know: how anything was measured.
What a chart shows is what the page says: `tests/docs/test_plots.py` draws them anew.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "results.md"
FOLDER = DOCS / "assets"

WIDTH, _LEFT, _RIGHT = 720, 210, 60  # pixels: the whole, for names, for figures
_BAR, _GAP, _TOP = 13, 14, 30
INK = "#7a7f87"  # is read on white and on black
OURS, _THEIRS = "#3f6ad8", ("#b4b9c1", "#8b919b")


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn of a table.

    Attributes:
        file: its name in the folder of assets.
        heading: first cell of the table's head.
        columns: those that are compared, by their place; the last one is ours.
        rows: the first cells of what is shown; empty for all.
        logarithmic: whether lengths are those of logarithms.
        page: the page that has the table.

    """

    file: str
    heading: str
    columns: tuple[int, ...]
    rows: tuple[str, ...] = ()
    logarithmic: bool = False
    page: Path = PAGE


CHARTS = (
    Chart(
        "demo.svg",
        "of 260 requests",
        (1, 2, 3),
        ("undeclared calls", "schema errors", "wrong ids", "empty replies"),
    ),
    Chart(
        "random-weights.svg",
        "of 190 requests",
        (1, 2, 3),
        ("successful calls", "schema errors", "id errors", "cut off, but reported as a call"),
    ),
    Chart("throughput.svg", "ids a second", (1, 2, 3)),
    Chart("first-mask.svg", "until the first mask", (2, 1), logarithmic=True),
    Chart(
        "leaderboard.svg",
        "of 420 questions",
        (1, 2, 3),
        ("valid calls", "right answers", "cut off by `max_tokens`"),
        page=DOCS / "leaderboard.md",
    ),
)


def table(text: str, heading: str) -> list[list[str]]:
    """Give the cells of the table whose head begins with a heading, its head first.

    Raises:
        ValueError: there is none, or there are several.

    """
    found = re.findall(rf"^\| {re.escape(heading)} \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"the page has {len(found)} tables that begin with {heading!r}, not one")
    head, _, *rows = found[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, *rows)]


def draw(text: str, chart: Chart) -> str:
    """Draw a page's table as SVG."""
    head, *rows = table(text, chart.heading)
    if chart.rows:
        rows = [next(row for row in rows if row[0] == name) for name in chart.rows]
    names = [head[column].replace("`", "") for column in chart.columns]
    colours = (*_THEIRS[: len(names) - 1], OURS)
    most = max(_number(row[column]) for row in rows for column in chart.columns)
    least = min(_number(row[column]) for row in rows for column in chart.columns)
    parts = []
    x = float(_LEFT)
    for name, colour in zip(names, colours, strict=True):
        parts.append(f'<rect x="{x:.0f}" y="6" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="16">{escape(name)}</text>')
        x += 40 + 6.4 * len(name)
    if chart.logarithmic:
        parts.append(f'<text x="{x:.0f}" y="16">(logarithmic)</text>')
    y = _TOP
    for row in rows:
        middle = y + _BAR * len(names) / 2 + 4
        label = escape(row[0].replace("`", ""))
        parts.append(f'<text x="{_LEFT - 10}" y="{middle:.0f}" text-anchor="end">{label}</text>')
        for column, colour in zip(chart.columns, colours, strict=True):
            length = _length(_number(row[column]), least, most, chart)
            parts.append(
                f'<rect x="{_LEFT}" y="{y + 1}" width="{length:.1f}" height="{_BAR - 2}" '
                f'rx="1" fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{_LEFT + length + 6:.1f}" y="{y + 10}">{escape(row[column])}</text>'
            )
            y += _BAR
        y += _GAP
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}">'
    )
    return "\n".join([opening, *parts, "</svg>", ""])


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def _length(value: float, least: float, most: float, chart: Chart) -> float:
    """Give a bar's length; on a logarithmic scale the shortest has a tenth of the room."""
    room = WIDTH - _LEFT - _RIGHT
    if not chart.logarithmic:
        return room * value / most
    return room * (0.1 + 0.9 * math.log(value / least) / math.log(most / least))


def main() -> None:
    """Write all charts."""
    for chart in CHARTS:
        text = chart.page.read_text(encoding="utf-8")
        (FOLDER / chart.file).write_text(draw(text, chart), encoding="utf-8")


if __name__ == "__main__":
    main()
