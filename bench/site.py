"""Builds the site of the docs: `python bench/site.py [VERSION]`, which `make docs` calls.

Owns: where it is built, and what holds versions together: with a version it becomes `site/VERSION`,
beside those that are there; `site/versions.json` feeds the selector in the head of each page, and
the root leads to the newest. Must not know: what is on the pages. Runs on the standard library, in
the environment that has the generator.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
CONFIGURATION = ROOT / "zensical.toml"
NEWEST = "latest"  # the alias by which zensical.toml knows the newest version
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?")
_ROOT_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>kimi-enforcer</title>
<meta http-equiv="refresh" content="0; url={version}/">
<a href="{version}/">kimi-enforcer {version}</a>
"""


def main() -> None:
    """Build; see the module."""
    if not sys.argv[1:]:
        _build(CONFIGURATION)
        return
    (version,) = sys.argv[1:]
    if not _VERSION.fullmatch(version):
        sys.exit(f"{version!r} is no version, as 0.1.0 is one")
    # The generator takes the folder from its settings alone, which lie where their paths begin.
    settings = CONFIGURATION.with_name(f".zensical-{version}.toml")
    settings.write_text(configured(CONFIGURATION.read_text("utf-8"), version), "utf-8")
    try:
        _build(settings)
    finally:
        settings.unlink()
    join(SITE)


def configured(text: str, version: str) -> str:
    """Give the generator's settings for a version's folder."""
    return text.replace("[project]\n", f'[project]\nsite_dir = "site/{version}"\n', 1)


def join(site: Path) -> None:
    """Write the list of the versions in a folder, newest first, and the page that leads to it."""
    found = [one.name for one in site.iterdir() if one.is_dir() and _VERSION.fullmatch(one.name)]
    ordered = sorted(found, key=_order, reverse=True)
    listed = [
        {"version": each, "title": each, "aliases": [NEWEST] if each == ordered[0] else []}
        for each in ordered
    ]
    (site / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", "utf-8")
    (site / "index.html").write_text(_ROOT_PAGE.format(version=ordered[0]), "utf-8")


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Put what leads up to a release before it."""
    numbers, early = re.fullmatch(r"([\d.]+\d)(\D.*)?", version).groups()  # type: ignore[union-attr]
    return tuple(map(int, numbers.split("."))), early is None, early or ""


def _build(settings: Path) -> None:
    generator = Path(sys.executable).with_name("zensical")
    command = [str(generator), "build", "--clean", "--strict", "--config-file", str(settings)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
