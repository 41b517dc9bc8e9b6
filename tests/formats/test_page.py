"""`docs/formats.md` says what the dialect files and the results say."""

from pathlib import Path

import pytest

from bench.formats import page
from bench.formats.catalogue import FORMATS
from bench.formats.count import WRONG
from enforcer.turn import dialects


def test_the_page_is_the_one_that_is_written() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(page.kept()), (
        "python -m bench.formats.page"
    )


def test_every_dialect_has_a_row() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert [name for name in dialects.available() if f"\n| `{name}` | " not in text] == []
    # What is added by its file alone is measured when it is put into the catalogue, too.
    assert set(FORMATS) <= set(dialects.available())


def test_a_format_needs_only_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page says under "How to add a format"."""
    source = page.PAGE.parents[1] / "grammars"
    for file in source.glob("*.toml"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    text = (source / "hermes.toml").read_text(encoding="utf-8")
    (tmp_path / "toy.toml").write_text(
        text.replace('name = "hermes"', 'name = "toy"', 1), encoding="utf-8"
    )
    monkeypatch.setattr(dialects, "_folder", lambda: tmp_path)
    assert "| `toy` | not noted | " in page.page(page.kept())


@pytest.mark.parametrize("name", FORMATS)
def test_the_enforcer_lets_nothing_through(name: str) -> None:
    counts = page.kept()[name]["enforced"]
    assert not any(counts.get(column) for column in WRONG)
    assert counts["calls"] > counts["requests"] / 3


def test_stock_lets_something_through() -> None:
    """Else the table would show nothing."""
    for name, ways in page.kept().items():
        assert any(ways["stock"].get(column) for column in WRONG), name
