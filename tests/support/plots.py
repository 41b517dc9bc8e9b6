"""Draws tables of the docs as bars: `python -m tests.support.plots`.

Owns: reading a table, and a chart of grouped bars as SVG. Must not know: how anything was measured.
What a chart shows is what the page says: `tests/docs/test_plots.py` draws them anew.
"""

import math
import re
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "results.md"
FOLDER = DOCS / "assets"

WIDTH, _LEFT, _RIGHT = 720, 210, 60  # pixels: the whole, for names, for figures
_BAR, _GAP, _TOP, _BOTTOM = 13, 14, 54, 44
_TICKS = 5  # at least so many numbers on a linear axis
# A panel of its own: text has contrast on it, whatever the page around it looks like.
LIGHT = {"panel": "#ffffff", "ink": "#4a515b", "rule": "#dde1e7"}
DARK = {"panel": "#16191d", "ink": "#b9c1cc", "rule": "#333a44"}
_BARS = {"a": ("#8d939d", "#a3aab5"), "b": ("#5f6670", "#6f7783"), "ours": ("#2f5bd0", "#7ea2ff")}


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn of a table.

    Attributes:
        file: its name in the folder of assets.
        title: what it shows, in words.
        unit: of the figures.
        heading: first cell of the table's head.
        columns: those that are compared, by their place; the last one is ours.
        rows: the first cells of what is shown; empty for all.
        logarithmic: whether lengths are those of logarithms.
        page: the page that has the table.

    """

    file: str
    title: str
    unit: str
    heading: str
    columns: tuple[int, ...]
    rows: tuple[str, ...] = ()
    logarithmic: bool = False
    page: Path = PAGE


_CHARTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CHARTS = [Chart(**{**each, "page": DOCS / each.get("page", PAGE)}) for each in _CHARTS["chart"]]


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
    kinds = (*("a", "b")[: len(names) - 1], "ours")
    figures = [_number(row[column]) for row in rows for column in chart.columns]
    scale = Scale(min(figures), max(figures), chart.logarithmic)
    bottom = _TOP + len(rows) * (_BAR * len(names) + _GAP) - _GAP + 6
    parts = [
        f'<rect class="panel" width="{WIDTH}" height="{bottom + _BOTTOM}"/>',
        f'<text class="title" x="10" y="18">{escape(chart.title)}</text>',
    ]
    x = float(_LEFT)
    for name, kind in zip(names, kinds, strict=True):
        parts.append(f'<rect class="{kind}" x="{x:.0f}" y="28" width="11" height="11"/>')
        parts.append(f'<text x="{x + 16:.0f}" y="38">{escape(name)}</text>')
        x += 40 + 6.4 * len(name)
    for tick in scale.ticks():
        at = _LEFT + scale.length(tick)
        parts.append(f'<path class="rule" d="M{at:.1f} {_TOP - 4}V{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="middle">{tick:,g}</text>')
    unit = chart.unit + (", logarithmic scale" if chart.logarithmic else "")
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{bottom + 34}" text-anchor="middle">{unit}</text>')
    y = _TOP
    for row in rows:
        at = y + _BAR * len(names) / 2 + 4
        label = escape(row[0].replace("`", ""))
        parts.append(f'<text x="{_LEFT - 10}" y="{at:.0f}" text-anchor="end">{label}</text>')
        for column, kind in zip(chart.columns, kinds, strict=True):
            length = scale.length(_number(row[column]))
            figure = escape(row[column])
            parts.append(
                f'<rect class="{kind}" x="{_LEFT}" y="{y + 1}" width="{length:.1f}" '
                f'height="{_BAR - 2}" rx="1"/>'
            )
            parts.append(
                f'<text class="figure" x="{_LEFT + length + 6:.1f}" y="{y + 10}">{figure}</text>'
            )
            y += _BAR
        y += _GAP
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + _BOTTOM}" '
        f'font-family="sans-serif" font-size="12" role="img">'
    )
    return "\n".join(
        [opening, f"<title>{escape(chart.title)}</title>", _style(), *parts, "</svg>", ""]
    )


def _style() -> str:
    """Return the colours, for a light and a dark system."""
    schemes = []
    for colours, place in ((LIGHT, 0), (DARK, 1)):
        rules = [
            f".panel {{ fill: {colours['panel']} }}",
            f"text {{ fill: {colours['ink']} }}",
            f".rule {{ stroke: {colours['rule']} }}",
            f".figure {{ paint-order: stroke; stroke: {colours['panel']}; stroke-width: 4px }}",
            *(f".{kind} {{ fill: {shades[place]} }}" for kind, shades in _BARS.items()),
        ]
        schemes.append("\n".join(rules))
    light, dark = schemes
    title = ".title { font-size: 14px; font-weight: bold }"
    return (
        f"<style>\n{title}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n</style>"
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """Lengths of bars.

    Attributes:
        least: the least figure.
        most: the largest.
        logarithmic: whether lengths are those of logarithms; the shortest has a tenth of the room.

    """

    least: float
    most: float
    logarithmic: bool

    def length(self, value: float) -> float:
        """Return a bar's length in pixels."""
        room = WIDTH - _LEFT - _RIGHT
        if not self.logarithmic:
            return room * value / self.most
        return room * (0.1 + 0.9 * math.log(value / self.least) / math.log(self.most / self.least))

    def ticks(self) -> list[float]:
        """Return the numbers of the axis: powers of ten, or the multiples of a round step."""
        power = math.floor(math.log10(self.most))
        if self.logarithmic:
            lowest = math.ceil(math.log10(self.least))
            return [10.0**each for each in range(lowest, power + 1)]
        steps = [
            factor * 10.0**each for each in range(power - 1, power + 1) for factor in (1, 2, 5)
        ]
        step = max(each for each in steps if self.most / each >= _TICKS - 1)
        return [step * n for n in range(math.floor(self.most / step) + 1)]


def _number(cell: str) -> float:
    return float(cell.replace(",", ""))


def main() -> None:
    """Write all charts."""
    for chart in CHARTS:
        text = chart.page.read_text(encoding="utf-8")
        (FOLDER / chart.file).write_text(draw(text, chart), encoding="utf-8")


if __name__ == "__main__":
    main()
