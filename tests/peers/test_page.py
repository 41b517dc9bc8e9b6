"""The part of `docs/results.md` on peers, and its plots, say what the results say."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from bench.peers import page, plots, summary
from bench.peers.cases import Case, Sample
from bench.peers.engines import ROWS
from bench.peers.judge import Verdict
from bench.peers.pool import Measured
from bench.plots import FOLDER, PAGE, WIDTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


TEXT = PAGE.read_text(encoding="utf-8")
_CASES = [Case(name, {}, ("{}",), ("1",), ()) for name in "abcd"]
# What becomes of the last case; the others are right.
_LAST = dict(zip(ROWS, Verdict, strict=True))


def _measured(name: str, times: int) -> Measured:
    """Return figures of an engine that takes so many times as long as the first."""
    packages = ROWS[name].packages
    ready = {"versions": dict.fromkeys(packages, "1"), "vocabulary": "kimi", "ids": 9, "mib": 9.0}
    outcomes = [
        {
            "case": case.id,
            "verdict": (_LAST[name] if case is _CASES[-1] else Verdict.RIGHT).value,
            "detail": "",
            "in_any_order": True,
            "unenforced": (),
            "first_mask": times * n / 1e3,
            "masks": [times * n * m / 1e6 for m in range(1, 9)],
        }
        for n, case in enumerate(_CASES, 1)
    ]
    return Measured(ready, outcomes, 100.0 * times)


MEASURED = summary.results(
    Sample(_CASES), 10.0, "a machine", {name: _measured(name, n) for n, name in enumerate(ROWS, 1)}
)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_the_one_that_is_written() -> None:
    if not summary.RESULTS.exists():
        assert page.HEADING not in TEXT
        return
    kept = summary.kept()
    assert page.replaced(TEXT, page.section(kept)) == TEXT, "python -m bench.peers.page"
    for file, draw in plots.PLOTS.items():
        assert (FOLDER / file).read_text(encoding="utf-8") == draw(kept), "bench.peers.page"
    # Else there is a fault to mend.
    verdicts = kept["engines"]["enforcer"]["verdicts"]
    assert not verdicts["wrongly rejected"] + verdicts["wrongly accepted"]


@pytest.mark.parametrize("file", plots.PLOTS)
def test_the_part_shows_each_plot(file: str) -> None:
    assert f"](assets/{file})" in page.section(MEASURED)
    ET.fromstring(plots.PLOTS[file](MEASURED))  # noqa: S314 - drawn here


def test_every_engine_has_a_column_whose_verdicts_are_all_schemas() -> None:
    head, _, *rows = map(_cells, page.table(MEASURED).splitlines())
    assert head[1:] == [row.label for row in ROWS.values()]
    assert {len(row) for row in rows} == {len(head)}
    names = [row[0] for row in rows]
    assert names[:6] == ["right", "refused", *names[2:4], "timed out", "crashed"]
    for label, *column in zip(head[1:], *(row[1:] for row in rows[:6]), strict=True):
        assert sum(map(int, column)) == MEASURED["schemas"], label


def test_the_page_says_where_peers_are_ahead() -> None:
    changed = copy.deepcopy(MEASURED)
    ours, theirs = (changed["engines"][name] for name in ("enforcer", "llguidance"))
    ours["first mask, ms"]["p50"], theirs["first mask, ms"]["p50"] = 5.0, 4.0
    ours["verdicts"]["right"], theirs["verdicts"]["right"] = 7, 8
    ours["mask, us"]["mean"], theirs["mask, us"]["mean"] = 10.0, 20.0
    said = page.ahead(changed).splitlines()
    assert any(re.match(r"- right of more schemas: llguidance \(8\)", line) for line in said)
    assert any("first mask, p50: llguidance (4 ms)" in line for line in said)
    assert not any("on average: llguidance" in line for line in said)


def test_a_missing_engine_has_a_column_that_says_why() -> None:
    changed = copy.deepcopy(MEASURED)
    changed["engines"]["grid"] = {"missing": "No module named 'grid'"}
    head, _, *rows = map(_cells, page.table(changed).splitlines())
    assert head[-1] == "GRID"
    assert rows[-1][-1] == "not installed: No module named 'grid'"
    assert {row[-1] for row in rows[:-1]} == {"-"}
    assert all(draw(changed) for draw in plots.PLOTS.values())


def test_a_part_of_the_page_takes_the_place_of_its_like() -> None:
    text = f"# A\n\n{page.HEADING}\nold\n\n## B\n\nmore\n"
    found = page.replaced(text, f"{page.HEADING}\nnew\n")
    assert found == f"# A\n\n{page.HEADING}\nnew\n\n## B\n\nmore\n"
    assert page.replaced(found, f"{page.HEADING}\nnew\n") == found
    assert page.replaced("# A\n\ntext\n", page.HEADING) == f"# A\n\ntext\n\n{page.HEADING}"
    with pytest.raises(ValueError, match="2 parts"):
        page.replaced(found * 2, "new")


def test_bars_are_as_long_as_their_counts() -> None:
    root = ET.fromstring(plots.verdicts(MEASURED))  # noqa: S314 - drawn here
    widths = [float(each.get("width")) for each in root if each.get("height") == "18"]
    counts = [
        count
        for each in MEASURED["engines"].values()
        for count in each.get("verdicts", {}).values()
        if count
    ]
    assert len(widths) == len(counts)
    whole = sum(widths) / len(MEASURED["engines"])
    assert widths == pytest.approx(
        [whole * n / MEASURED["schemas"] for n in _drawn_counts()], abs=0.2
    )


def _drawn_counts() -> Iterator[int]:
    for each in MEASURED["engines"].values():
        for verdict in plots._VERDICTS:
            if each["verdicts"][verdict.value]:
                yield each["verdicts"][verdict.value]


@pytest.mark.parametrize("draw", [plots.masks, plots.first_masks])
def test_curves_stay_inside_and_never_turn_back(draw: Callable[..., Any]) -> None:
    root = ET.fromstring(draw(MEASURED))  # noqa: S314 - drawn here
    lines = [each for each in root.iter() if each.tag.endswith("polyline")]
    assert len(lines) == len(MEASURED["engines"])
    for line in lines:
        points = [tuple(map(float, at.split(","))) for at in line.get("points").split()]
        xs, ys = zip(*points, strict=True)
        assert list(xs) == sorted(xs)
        assert list(ys) == sorted(ys, reverse=ys[0] > ys[-1])
        assert min(xs) >= 0
        assert max(xs) <= WIDTH


def test_an_axis_is_logarithmic_or_is_not() -> None:
    assert plots.Axis(1, 100, 0, 10).at(10) == pytest.approx(5)
    assert plots.Axis(0, 100, 0, 10, is_logarithmic=False).at(10) == pytest.approx(1)
    assert plots.Axis(1, 0.01, 0, 10).at(0.1) == pytest.approx(5)
    assert plots.Axis(1, 100, 0, 10).at(1000) == 10
