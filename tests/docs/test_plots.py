from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support import plots

if TYPE_CHECKING:
    from tests.support.plots import Chart


TEXT = {page: page.read_text() for page in {chart.page for chart in plots.CHARTS}}


@pytest.mark.parametrize("chart", plots.CHARTS, ids=lambda chart: chart.file)
def test_a_chart_shows_what_the_page_says(chart: Chart) -> None:
    assert (plots.FOLDER / chart.file).read_text() == plots.draw(TEXT[chart.page], chart)
    assert f"](assets/{chart.file})" in TEXT[chart.page]


@pytest.mark.parametrize("chart", plots.CHARTS, ids=lambda chart: chart.file)
def test_bars_fit_and_are_as_long_as_their_figures(chart: Chart) -> None:
    _, *rows = plots.table(TEXT[chart.page], chart.heading)
    shown = [row for row in rows if not chart.rows or row[0] in chart.rows]
    root = ET.fromstring(plots.draw(TEXT[chart.page], chart))  # noqa: S314 - drawn here
    bars = [element for element in root if element.get("rx")]
    lengths = [float(bar.get("width")) for bar in bars]
    figures = [float(row[c].replace(",", "")) for row in shown for c in chart.columns]
    assert len(lengths) == len(figures) > 7
    assert max(lengths) <= float(root.get("viewBox").split()[2]) - 250
    # The longer bar is the larger figure.
    order = sorted(range(len(figures)), key=figures.__getitem__)
    assert [lengths[n] for n in order] == sorted(lengths)


def test_a_table_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 tables"):
        plots.draw(TEXT[plots.PAGE], replace(plots.CHARTS[0], heading="of 7 requests"))
