"""A page of a model that is no Kimi K2 says what the formats and their tests have."""

import re
from pathlib import Path

import pytest

from bench.formats import page as formats
from enforcer.turn import dialects

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "models"
INDEX = (FOLDER / "index.md").read_text(encoding="utf-8")
# Kimi K2's has one format, and no failures of the stock parser: those are what all else is about.
KIMI = FOLDER / "kimi-k2.md"
PAGES = [each for each in sorted(FOLDER.glob("*.md")) if each.stem not in ("index", KIMI.stem)]


def row(text: str, name: str) -> str:
    found = re.findall(rf"^- {name}: (.*(?:\n  .*)*)$", text, re.MULTILINE)
    assert len(found) == 1, name
    return str(found[0])


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.stem)
def test_a_page_is_of_its_formats(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    linked = re.findall(r"\[(\w+)\]\(\.\./formats\.md\)", row(text, "format"))
    known = [dialects.load(name) for name in linked]
    served = re.findall(r"--tool-call-parser (\w+)_enforced", text)
    assert {dialects.named(parser).name for parser in served} <= set(linked)
    assert all(set(dialect.parsers) & set(served) for dialect in known)
    tried = dict.fromkeys(each for name in linked for each in formats.tokenizers(name).split("; "))
    assert row(text, "tokenizers").split("; ") == list(tried)
    for part in ("template", "thinks", "tested", "not tested"):
        assert row(text, part)
    assert text.count("\n## Known failures of the stock parser") == 1


def test_the_index_has_every_page_and_its_parsers() -> None:
    rows = re.findall(r"^- \[.*?\]\((.*?)\): (`.*`)", INDEX, re.MULTILINE)
    assert {link for link, _ in rows} == {KIMI.name, *(each.name for each in PAGES)}
    parsers = {name for _, cell in rows for name in re.findall(r"`(\w+)_enforced`", cell)}
    assert parsers <= set(dialects.parsers())
    for link, cell in rows:
        text = (FOLDER / link).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(\w+)`", cell) if name not in text] == []
