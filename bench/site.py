"""Builds the site of the docs: `python bench/site.py [VERSION]`, which `make docs` calls.

Owns: where it is built, and what holds versions together: with a version it becomes `site/VERSION`,
beside those that are there; `site/versions.json` feeds the selector in the head of each page, and
the root leads to the newest. `DOCS_URL` is the address of the root: with it each page has a
canonical one, and there is a sitemap. A page loads nothing from another host: the script that draws
diagrams is a file of the site. Lines of a page do not end within a command's option, and wide
diagrams scroll. Must not know: what is on the pages. Runs on the standard library
and npm, in the environment that has the generator.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "site"
CONFIGURATION = ROOT / "zensical.toml"
NEWEST = "latest"  # the alias by which zensical.toml knows the newest version
MERMAID = "mermaid@12.3.0"  # of npm, MIT; the generator's pages name the major version alone
MERMAID_FILES = {"dist/mermaid.min.js": "mermaid.min.js", "LICENSE": "mermaid.LICENSE"}
_MERMAID_ADDRESS = re.compile(r'"https://unpkg\.com/mermaid@12/[^"]*"')
_INLINE_CODE = re.compile(r'(?<!<pre class="mermaid">)<code>[^<]+</code>')
_HYPHENATED = re.compile(r"[^\s<>]*-[^\s<>]*")
_WHOLE = 32  # characters; a longer word does not fit into a line of a phone
_DIAGRAM = re.compile(r'(?<!<div class="diagram">)<pre class="mermaid">.*?</pre>', re.DOTALL)
_TAGS = re.compile(r"(?<=&gt;)(?!\s|</code>)|(?<!\s)(?<!<code>)(?<!&gt;)(?=&lt;)")
_CELL = re.compile(r"<td.*?</td>", re.DOTALL)
_OBJECT_NAME = re.compile(r'(<span class="doc doc-object-name[^>]*>)([^<]+)(?=</span>)')
_RECORDS = {"mkdocstrings.json", "objects.inv"}
_PACKAGES = ROOT / ".cache" / "npm"
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:(?:a|b|rc)\d+)?")
_ROOT_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>kimi-enforcer</title>
<meta http-equiv="refresh" content="0; url={version}/">
<a href="{version}/">kimi-enforcer {version}</a>
"""


def main() -> None:
    """Build; see the module."""
    version = sys.argv[1] if sys.argv[1:] else ""
    if version and not _VERSION.fullmatch(version):
        sys.exit(f"{version!r} is no version, as 0.1.0 is one")
    address = os.environ.get("DOCS_URL", "")
    # The generator takes folder and address from its settings alone, which lie where their paths
    # begin.
    settings = CONFIGURATION.with_name(f".zensical-{version or NEWEST}.toml")
    settings.write_text(configured(CONFIGURATION.read_text("utf-8"), version, address), "utf-8")
    try:
        _build(settings)
    finally:
        settings.unlink()
    for page in (SITE / version).rglob("*.html"):
        page.write_text(breakable(page.read_text("utf-8")), "utf-8")
    draw_here(SITE / version / "assets" / "javascripts", _mermaid())
    if version:
        join(SITE)


def configured(text: str, version: str, address: str = "") -> str:
    """Give the generator's settings for a version's folder, and for the address of the root."""
    given = f'site_dir = "site/{version}"\n' if version else ""
    if address:
        place = "/".join([address.rstrip("/"), *([version] if version else []), ""])
        given += f"site_url = {json.dumps(place)}\n"
    return text.replace("[project]\n", f"[project]\n{given}", 1)


def breakable(page: str) -> str:
    """Mark where lines of a page may end, and what scrolls, for `docs/assets/site.css`.

    Browsers break a line after each hyphen, so between `--` and an option's name; CSS cannot forbid
    that. They break the dotted name of a class or function nowhere, and then within a word; so they
    do with the tags of a call in a table.
    """
    page = _CELL.sub(_cell, page)
    page = _INLINE_CODE.sub(lambda code: _HYPHENATED.sub(_whole, code[0]), page)
    page = _OBJECT_NAME.sub(lambda name: name[1] + name[2].replace(".", ".<wbr>"), page)
    return _DIAGRAM.sub(lambda diagram: f'<div class="diagram">{diagram[0]}</div>', page)


def _cell(cell: re.Match[str]) -> str:
    # GitHub's tables need `\|` in code; the generator shows the backslash.
    return _INLINE_CODE.sub(_code_in_cell, cell[0].replace(r"\|", "|"))


def _code_in_cell(code: re.Match[str]) -> str:
    text = code[0].removeprefix("<code>").removesuffix("</code>")
    named = code[0].replace("&#60;", "&lt;").replace("&#62;", "&gt;")
    return _TAGS.sub("<wbr>", named) if _long(text) else code[0]


def _whole(word: re.Match[str]) -> str:
    return word[0] if _long(word[0]) else f'<span class="whole">{word[0]}</span>'


def _long(text: str) -> bool:
    return len(html.unescape(text)) > _WHOLE


def draw_here(scripts: Path, mermaid: Path) -> None:
    """Let a site's pages load the script that draws diagrams from the site.

    Raises:
        ValueError: the generator's script names no address of it, or several.

    """
    (bundle,) = scripts.glob("bundle.*.js")
    text = bundle.read_text("utf-8")
    here = 'new URL("assets/javascripts/mermaid.min.js",__md_scope).href'
    changed, found = _MERMAID_ADDRESS.subn(here, text)
    if found != 1:
        raise ValueError(f"{bundle.name} has {found} addresses of Mermaid, not one")
    bundle.write_text(changed, "utf-8")
    for name in MERMAID_FILES.values():
        (scripts / name).write_bytes((mermaid / name).read_bytes())


def _mermaid() -> Path:
    """Return the folder that has Mermaid's files, which npm gets once."""
    folder = _PACKAGES / MERMAID.replace("@", "-")
    if folder.is_dir():
        return folder
    _PACKAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_PACKAGES) as temporary:
        command = ["npm", "pack", "--loglevel=error", "--pack-destination", temporary, MERMAID]
        try:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            sys.exit(f"diagrams need npm's package {MERMAID}: {error}")
        (archive,) = Path(temporary).glob("*.tgz")
        part = Path(temporary, "part")
        part.mkdir()
        with tarfile.open(archive) as packed:
            for file, name in MERMAID_FILES.items():
                content = packed.extractfile(f"package/{file}")
                if content is None:
                    sys.exit(f"{MERMAID} has no {file}")
                (part / name).write_bytes(content.read())
        part.rename(folder)
    return folder


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
    forget(ROOT / ".cache")
    generator = Path(sys.executable).with_name("zensical")
    command = [str(generator), "build", "--strict", "--config-file", str(settings)]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def forget(cache: Path) -> None:
    """Remove the generator's records; its `--clean` would remove the bench's files, too."""
    for each in cache.glob("*") if cache.is_dir() else ():
        if each.is_file() and (each.name.isdigit() or each.name in _RECORDS):
            each.unlink()


if __name__ == "__main__":
    main()
