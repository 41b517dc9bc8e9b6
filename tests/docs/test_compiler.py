"""The page about the compiler names modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT.joinpath("docs", "compiler.md").read_text(encoding="utf-8")

# What the page quotes in the same way that is no module.
KEYWORDS = {"contains", "kind", "properties"}


def test_the_modules_that_the_page_names_exist() -> None:
    room = ROOT / "enforcer"
    for each in re.findall(r"`(enforcer/[a-z/]+)`", PAGE):
        assert (ROOT / each).is_dir() or (ROOT / f"{each}.py").exists(), each
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*)`", PAGE)) - KEYWORDS
    named -= {each for each in named if each.startswith("enforcer/")}
    assert len(named) > 15
    known = {path.relative_to(room).with_suffix("").as_posix() for path in room.rglob("*.py")}
    assert not [x for x in named if not any(f"/{each}".endswith(f"/{x}") for each in known)]
