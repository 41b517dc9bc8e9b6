"""`python -m bench.formats.page` writes `docs/formats.md` from the dialect files and the results.

Owns: the results that are kept between runs, and the page. Must not know: how results come about.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.formats.catalogue import FORMATS, ROWS
from bench.formats.notes import NO_TAG, NOTES
from bench.formats.vocabularies import WHOSE
from enforcer.turn import dialects
from tests.formats import deviations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.turn.dialect import Dialect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
TEMPLATE = Path(__file__).with_name("page.md")
RESULTS = Path(__file__).with_name("results.json")
WAYS = ("stock", "strict", "enforced", "drafts")
_WRONG = ("undeclared", "schema", "lost")
_RIGHT = ("calls", "cut off")
_STREAMED = "streamed, "  # how a misreading of streams alone begins
_SPECIAL = re.compile(r"[|<>&*\\`\[\]~!#^+]")  # to a reader of Markdown or of HTML


def kept() -> dict[str, dict[str, Any]]:
    """Give the results of earlier runs: format to server to counts."""
    if not RESULTS.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def keep(name: str, counts: Mapping[str, Any]) -> None:
    """Put the counts of a format's servers beside those that are kept."""
    results = kept()
    results[name] = {**results.get(name, {}), **counts}
    ordered = {
        each: {way: results[each][way] for way in WAYS if way in results[each]}
        for each in FORMATS
        if each in results
    }
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the counts as a table in Markdown."""
    lines = ["| format | vLLM | strict | Enforcer |", "|---|---:|---:|---:|"]
    for name, ways in results.items():
        cells = [
            "/".join(str(ways[way].get(each, 0)) for each in columns) if way in ways else ""
            for way, columns in (("stock", _WRONG), ("strict", _WRONG), ("enforced", _RIGHT))
        ]
        lines.append(_row(f"`{name}`", *cells))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return " ".join(("|", *(f"{cell} |" if cell else "|" for cell in cells)))


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the whole page."""
    known = [dialects.load(name) for name in dict.fromkeys((*FORMATS, *dialects.available()))]
    return TEMPLATE.read_text(encoding="utf-8").format(
        rows="\n".join(map(_format, known)),
        differs="\n".join(_differs()),
        refused="\n".join(_refused()),
        table=table(results),
    )


def _format(dialect: Dialect) -> str:
    parsers = ", ".join(f"`{name}`" for name in dialect.parsers)
    name = f"`{dialect.name}`"
    if dialect.name not in NOTES:
        return _row(name, "not noted", parsers, "", "")
    note = NOTES[dialect.name]
    return _row(name, note.models, parsers, _cell(note.call), _text(note.special))


def _differs() -> Iterator[str]:
    """Write a row for what vLLM leaves open, and for what its parser loses; equal rows are one."""
    rows: dict[tuple[str, str], list[str]] = {}
    for name, note in NOTES.items():
        losses = [note.parser, *(each.why for each in deviations.MISREAD if each.format == name)]
        # What happens to streams alone stands behind the rest.
        streamed = [each.removeprefix(_STREAMED) for each in losses if each.startswith(_STREAMED)]
        told = [each for each in losses if each and not each.startswith(_STREAMED)]
        if streamed:
            told.append(f"streamed: {', '.join(streamed)}")
        if note.tag != NO_TAG or told:
            rows.setdefault((note.tag, "; ".join(told)), []).append(f"`{name}`")
    for (tag, lost), names in rows.items():
        yield _row(", ".join(names), _text(tag), _text(lost))


def _refused() -> Iterator[str]:
    """Write a row for each rule of several formats that vLLM's parsers do not require."""
    rules: dict[str, dict[str, None]] = {}
    for (name, _), why in deviations.REFUSED.items():
        rules.setdefault(why, {})[f"`{name}`"] = None
    for rule, names in sorted(rules.items(), key=lambda each: -len(each[1])):
        if len(names) > 1:
            yield _row(_text(rule), ", ".join(names))


def _text(text: str) -> str:
    """Write code that is part of a text into a table."""
    return re.sub(r"`([^`]+)`", lambda found: _cell(found[1]), text)


def tokenizers(name: str) -> str:
    """Say over whose tokenizers the tests take a format."""
    tried = dict.fromkeys(row.vocabulary for row in ROWS.values() if row.name == name)
    if not tried:
        return "none of its models'; small ones that the tests make"
    whose = [WHOSE[each] for each in tried if each in WHOSE]
    return "; ".join(whose) or (
        "none of its models', which no package has: Qwen3's byte pairs with their control tokens"
    )


def _code(text: str) -> str:
    shown = text.replace("\r", "␍").replace("\n", "⏎").replace("\t", "⇥")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _cell(text: str) -> str:
    """Write code into a table: readers of Markdown differ in what a bar inside of backticks is."""
    if "|" not in text:
        return _code(text)
    plain = _code(text).strip("`")
    return "<code>" + _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", plain) + "</code>"


if __name__ == "__main__":
    PAGE.write_text(page(kept()), encoding="utf-8")
