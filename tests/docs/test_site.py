"""The pages hang together: each is in the navigation, and no link leads nowhere.

`make docs` builds them with the same rules; this needs no generator.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench import site
from tests.support.cases import parametrized

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SITE = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _paths(entry: Any) -> Iterator[str]:
    """Give the pages of an entry of the navigation, in order."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, list):
        for one in entry:
            yield from _paths(one)
    else:
        for one in entry.values():
            yield from _paths(one)


@cache
def _anchors(page: Path) -> frozenset[str]:
    """Give the ids of a page's headings, as Markdown's `toc` makes them, and of the names on it."""
    text = _FENCE.sub("", page.read_text())
    ids = set(re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        kept = re.sub(r"[^\w\s-]", "", plain).strip().lower()
        ids.add(re.sub(r"[-\s]+", "-", kept))
    return frozenset(ids)


def test_the_readme_leads_to_headings_that_are_there() -> None:
    links = _LINK.findall((ROOT / "README.md").read_text())
    inside = [link.removeprefix("docs/") for link in links if link.startswith("docs/")]
    assert len(inside) > 10
    assert not [link for link in inside if _wrong(DOCS / "index.md", link)]


def _wrong(page: Path, link: str) -> bool:
    """Tell whether a link of a page leads out of the site, or nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.is_file() or DOCS not in target.parents:
        return True
    return bool(anchor) and anchor not in _anchors(target)


def test_every_page_is_in_the_navigation_once() -> None:
    listed = list(_paths(SITE["nav"]))
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_the_list_of_decisions_has_each_once() -> None:
    listed = _LINK.findall((DOCS / "decisions/README.md").read_text())
    names = {name for name in listed if "/" not in name}
    assert names >= {page.name for page in (DOCS / "decisions").glob("0*.md")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_no_link_leads_nowhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text())
    links = [link for link in _LINK.findall(text) if "://" not in link]
    assert not [link for link in links if _wrong(page, link)]


@parametrized("docs/cases/site.toml", "links")
def test_links_are_followed(link: str, wrong: bool) -> None:
    assert _wrong(DOCS / "index.md", link) is wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_code_is_fenced_where_tests_find_it(page: Path) -> None:
    """A block that is indented is run by no test."""
    fences = re.findall(r"^( *)```(\w+)", page.read_text(), re.MULTILINE)
    assert not [language for indent, language in fences if indent]


def test_what_the_site_names_is_there() -> None:
    assert all((DOCS / file).is_file() for file in SITE["extra_css"])


def test_the_generator_is_strict() -> None:
    assert "python bench/site.py $(VERSION)" in (ROOT / "Makefile").read_text()
    assert '"build", "--strict"' in (ROOT / "bench/site.py").read_text()
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    assert [one for one in groups["docs"] if one.startswith("zensical==")]


def test_versions_stand_side_by_side_and_the_root_leads_to_the_newest(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.10.0rc1", "assets", "0.2.1"):
        (tmp_path / name).mkdir()
    site.join(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [each["version"] for each in listed] == ["0.10.0", "0.10.0rc1", "0.9.0", "0.2.1"]
    # The selector's script marks as outdated what is not so called.
    newest = SITE["extra"]["version"]["default"]
    assert [each["aliases"] for each in listed] == [[newest], [], [], []]
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text()


def test_a_version_has_a_folder_of_its_own() -> None:
    text = site.configured(site.CONFIGURATION.read_text(), "1.2.3")
    assert tomllib.loads(text)["project"] == {**SITE, "site_dir": "site/1.2.3"}
    assert SITE["extra"]["version"]["provider"] == "mike"


@pytest.mark.parametrize(
    ("version", "place"), [("", "https://docs.test/e/"), ("1.2.3", "https://docs.test/e/1.2.3/")]
)
def test_pages_have_an_address_where_the_site_has_one(version: str, place: str) -> None:
    text = site.CONFIGURATION.read_text()
    for address in ("https://docs.test/e", "https://docs.test/e/"):
        changed = tomllib.loads(site.configured(text, version, address))["project"]
        assert changed["site_url"] == place
    assert site.configured(text, "") == text
    assert "site_url" not in SITE


def test_the_generator_forgets_its_records_and_no_file_of_others(tmp_path: Path) -> None:
    kept = ("npm/tokenizer.json", "leaderboard.json", "17/3")
    for name in (*kept, "10447180387755112809", "objects.inv", "mkdocstrings.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    site.forget(tmp_path)
    left = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if one.is_file()}
    assert left == set(kept)
    site.forget(tmp_path / "nowhere")


def test_diagrams_are_drawn_by_a_script_of_the_site(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name in site.MERMAID_FILES.values():
        (package / name).write_text(name)
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    bundle = scripts / "bundle.1.min.js"
    major = site.MERMAID.split("@")[1].split(".")[0]
    bundle.write_text(f'a("https://unpkg.com/mermaid@{major}/dist/mermaid.min.js");b')
    site.draw_here(scripts, package)
    assert bundle.read_text() == 'a(new URL("assets/javascripts/mermaid.min.js",__md_scope).href);b'
    assert (scripts / "mermaid.min.js").read_text() == "mermaid.min.js"
    with pytest.raises(ValueError, match="0 addresses"):
        site.draw_here(scripts, package)


@parametrized("docs/cases/site.toml", "breakable")
def test_lines_end_between_words(page: str, becomes: str) -> None:
    assert site.breakable(page) == becomes
    # A build beside those of versions meets their pages again.
    assert site.breakable(becomes) == becomes


def test_every_tab_has_a_sidebar_and_pages_lead_on() -> None:
    for tab in SITE["nav"]:
        ((name, pages),) = tab.items()
        assert len(list(_paths(pages))) > 1, name
    assert {"navigation.tabs", "navigation.footer"} <= set(SITE["theme"]["features"])


def test_titles_tell_pages_apart() -> None:
    titles = [title for tab in SITE["nav"] for pages in tab.values() for title in _titles(pages)]
    assert len(titles) == len(list(_paths(SITE["nav"])))
    assert len(set(titles)) == len(titles)


def _titles(entry: Any) -> Iterator[str]:
    """Give the titles of the pages of an entry of the navigation, as browsers show them."""
    if isinstance(entry, str):
        yield re.search(r"^# (.+)$", (DOCS / entry).read_text(), re.MULTILINE)[1]
    elif isinstance(entry, list):
        for one in entry:
            yield from _titles(one)
    else:
        for title, one in entry.items():
            yield from [title] if isinstance(one, str) else _titles(one)


@pytest.mark.parametrize(
    "name", ["ENFORCER_MAX_CALLS", "enforcer_turns_failed_total", "max_tokens"]
)
def test_a_name_is_one_word_of_the_search(name: str) -> None:
    words = re.split(SITE["plugins"]["search"]["separator"], f"`{name}`: more/less")
    assert words == ["", name, "more", "less"]


@parametrized("docs/cases/site.toml", "headings")
def test_what_users_ask_is_a_heading(page: str, heading: str) -> None:
    assert heading in (DOCS / page).read_text().splitlines()
