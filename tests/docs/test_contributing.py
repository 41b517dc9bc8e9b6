"""The worked example of a keyword in `CONTRIBUTING.md` is in the code and on the page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (
    "enforcer/schema/reading/drafts.py",
    "enforcer/schema/reading/parse.py",
    "tests/schema/reading/test_parse.py",
    "docs/schema-support.md",
)


def test_the_example_of_a_keyword_is_the_code() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page[page.index("## A new keyword") : page.index("## A new engine")]
    blocks = re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)
    shown = [line.strip() for block in blocks for line in block.splitlines() if line.strip()]
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in SOURCES]
    known = {line.strip() for text in texts for line in text.splitlines()}
    assert len(blocks) == 5
    assert [line for line in shown if line not in known] == []
