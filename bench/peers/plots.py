"""The plots of `docs/results.md` that show the comparison with peers, as SVG.

Owns: a chart of stacked bars, a chart of curves with logarithmic axes, what they show. Must not
know: how anything was measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from bench.peers.engines import ROWS
from bench.peers.judge import Verdict
from bench.peers.summary import SHARES
from bench.plots import FOLDER, INK, OURS, WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_VERDICTS = {
    Verdict.RIGHT: OURS,
    Verdict.REFUSED: "#b4b9c1",
    Verdict.WRONG_REJECT: "#e0a13c",
    Verdict.WRONG_ACCEPT: "#cf4a4a",
    Verdict.TIME_OUT: "#8b919b",
    Verdict.CRASH: "#5a5f66",
}
# Colour, and dashes for the second setting of an engine.
_LINES = {
    "enforcer": (OURS, ""),
    "llguidance": ("#3c9a5f", ""),
    "xgrammar": ("#d9822b", ""),
    "xgrammar-open": ("#d9822b", "5 3"),
    "outlines-core": ("#9a5bc0", ""),
    "grid": ("#cf4a4a", ""),
}
_DARK = "#33373d"  # is read on light bars
_NAMES = 130  # pixels for the names of bars
_BAR, _STEP, _TOP = 18, 27, 34
_LEFT, _RIGHT, _UPPER, _FLOOR = 68, 28, 48, 300  # pixels around curves
_LETTER = 6.4  # pixels of a letter, about


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis or one from 0 to 1.

    Attributes:
        first, last: values at its ends.
        begins, ends: pixels of these.
        is_logarithmic: how values lie between.

    """

    first: float
    last: float
    begins: float
    ends: float
    is_logarithmic: bool = True

    def at(self, value: float) -> float:
        """Give the pixel of a value; beyond the ends it is that of the end."""
        low, high = sorted((self.first, self.last))
        inside = min(max(value, low), high)
        if self.is_logarithmic:
            part = math.log(inside / self.first) / math.log(self.last / self.first)
        else:
            part = (inside - self.first) / (self.last - self.first)
        return self.begins + part * (self.ends - self.begins)


def verdicts(results: Mapping[str, Any]) -> str:
    """Draw what became of the schemas, a bar for each engine."""
    engines = _there(results)
    shown = [
        verdict
        for verdict in _VERDICTS
        if any(each["verdicts"][verdict.value] for each in engines.values())
    ]
    parts = list(_legend([(verdict.value, _VERDICTS[verdict], "") for verdict in shown], _NAMES))
    y = _TOP
    room = WIDTH - _NAMES - _RIGHT
    for name, each in engines.items():
        parts.append(_text(_NAMES - 10, y + 13, ROWS[name].label, anchor="end"))
        x = float(_NAMES)
        for verdict in shown:
            count = each["verdicts"][verdict.value]
            width = room * count / results["schemas"]
            if not count:
                continue
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" '
                f'fill="{_VERDICTS[verdict]}"/>'
            )
            if width > _LETTER * (len(str(count)) + 0.6):
                ink = _DARK if verdict is Verdict.REFUSED else "#fff"
                parts.append(_text(x + width / 2, y + 13, str(count), anchor="middle", fill=ink))
            x += width
        y += _STEP
    return _svg(y, parts)


def masks(results: Mapping[str, Any]) -> str:
    """Draw the share of masks that take longer than a time."""
    across = Axis(1.0, 100_000.0, _LEFT, WIDTH - _RIGHT)
    up = Axis(1.0, 0.001, _UPPER, _FLOOR)
    curves = {
        name: [
            (across.at(value), up.at(1 - share))
            for share, value in zip(SHARES, each["mask, us"]["curve"], strict=True)
            if 1 - share >= up.last
        ]
        for name, each in _there(results).items()
        if each["mask, us"]["count"]
    }
    shares = {1.0: "all", 0.1: "1 in 10", 0.01: "1 in 100", 0.001: "1 in 1,000"}
    ticks = {1.0: "1 µs", 10.0: "10 µs", 100.0: "100 µs", 1e3: "1 ms", 1e4: "10 ms", 1e5: "100 ms"}
    return _curves(curves, (across, ticks), (up, shares), "masks that take longer than")


def first_masks(results: Mapping[str, Any]) -> str:
    """Draw the share of all schemas whose first mask is there within a time."""
    across = Axis(0.1, 10_000.0, _LEFT, WIDTH - _RIGHT)
    up = Axis(0.0, 1.0, _FLOOR, _UPPER, is_logarithmic=False)
    curves = {}
    for name, each in _there(results).items():
        taken = each["first mask, ms"]
        if taken["count"]:
            part = taken["count"] / results["schemas"]
            curves[name] = [
                (across.at(value), up.at(share * part))
                for share, value in zip(SHARES, taken["curve"], strict=True)
            ]
    shares = {part / 4: f"{part * 25} %" for part in range(5)}
    ticks = {0.1: "0.1 ms", 1.0: "1 ms", 10.0: "10 ms", 100.0: "100 ms", 1e3: "1 s", 1e4: "10 s"}
    return _curves(
        curves, (across, ticks), (up, shares), "schemas whose first mask is there within"
    )


PLOTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "peers-verdicts.svg": verdicts,
    "peers-first-mask.svg": first_masks,
    "peers-masks.svg": masks,
}


def write(results: Mapping[str, Any]) -> None:
    """Write all of them into the folder of assets."""
    for file, draw in PLOTS.items():
        (FOLDER / file).write_text(draw(results), encoding="utf-8")


def _there(results: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in results["engines"].items() if "missing" not in each}


def _curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    across: tuple[Axis, Mapping[float, str]],
    up: tuple[Axis, Mapping[float, str]],
    title: str,
) -> str:
    parts = [*_legend([(ROWS[name].label, *_LINES[name]) for name in curves], _LEFT)]
    parts.append(_text(_LEFT, _UPPER - 12, title))
    for value, name in across[1].items():
        x = across[0].at(value)
        parts.append(_rule(x, _UPPER, x, _FLOOR))
        parts.append(_text(x, _FLOOR + 16, name, anchor="middle"))
    for value, name in up[1].items():
        y = up[0].at(value)
        parts.append(_rule(_LEFT, y, WIDTH - _RIGHT, y))
        parts.append(_text(_LEFT - 6, y + 4, name, anchor="end"))
    for name, points in curves.items():
        colour, dashes = _LINES[name]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        broken = f' stroke-dasharray="{dashes}"' if dashes else ""
        width = 2.5 if name == "enforcer" else 1.7
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-linejoin="round"{broken}/>'
        )
    return _svg(_FLOOR + 26, parts)


def _legend(entries: Iterable[tuple[str, str, str]], left: float) -> Iterator[str]:
    x = left
    for name, colour, dashes in entries:
        if dashes:
            yield (
                f'<line x1="{x:.0f}" y1="12" x2="{x + 12:.0f}" y2="12" stroke="{colour}" '
                f'stroke-width="3" stroke-dasharray="{dashes}"/>'
            )
        else:
            yield f'<rect x="{x:.0f}" y="6" width="11" height="11" fill="{colour}"/>'
        yield _text(x + 16, 16, name)
        x += 38 + _LETTER * len(name)


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{INK}" '
        'stroke-opacity="0.3"/>'
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )


def _svg(height: float, parts: Iterable[str]) -> str:
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="sans-serif" font-size="12" fill="{INK}">'
    )
    return "\n".join([opening, *parts, "</svg>", ""])
