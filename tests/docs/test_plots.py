import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tests.support import plots
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


@pytest.mark.parametrize("chart", plots.CHARTS, ids=lambda chart: chart.file)
def test_a_chart_says_what_it_shows_in_which_unit_and_scale(chart: Chart) -> None:
    drawn = plots.draw(TEXT[chart.page], chart)
    assert f"<title>{chart.title}</title>" in drawn
    assert f">{chart.unit}" in drawn
    assert (">milliseconds, logarithmic scale<" in drawn) is chart.logarithmic


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (plots.Scale(0, 37, logarithmic=False), [0, 5, 10, 15, 20, 25, 30, 35]),
        (plots.Scale(0, 851, logarithmic=False), [0, 200, 400, 600, 800]),
        (plots.Scale(0.24, 1561, logarithmic=True), [1, 10, 100, 1000]),
    ],
)
def test_an_axis_has_round_numbers(scale: plots.Scale, ticks: list[float]) -> None:
    assert scale.ticks() == ticks


@pytest.mark.parametrize("colours", [plots.LIGHT, plots.DARK], ids=["light", "dark"])
def test_text_has_contrast(colours: dict[str, str]) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    ink, panel = sorted((_luminance(colours[each]) for each in ("ink", "panel")), reverse=True)
    assert (ink + 0.05) / (panel + 0.05) >= 4.5


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    ]
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_table_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 tables"):
        plots.draw(TEXT[plots.PAGE], replace(plots.CHARTS[0], heading="of 7 requests"))
