"""`python -m bench.formats.page` writes `docs/formats.md`, of the dialect files and the results.

Owns: the results that are kept between runs, and the page. Must not know: how results come about.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.formats import deviations
from bench.formats.catalogue import FORMATS, ROWS
from bench.formats.count import COLUMNS
from bench.formats.notes import NOTES
from bench.formats.tolerances import TEXTS
from bench.formats.vocabularies import WHOSE
from enforcer.layouts import LayoutKind, Trim, Types, WhiteSpace
from enforcer.turn import dialects
from enforcer.turn.dialect import Dialect, Ids, Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
INTRODUCTION = Path(__file__).with_name("page.md")
RESULTS = Path(__file__).with_name("results.json")
MASKS = Path(__file__).with_name("masks.json")
WAYS = {
    "stock": "vLLM",
    "strict": "vLLM, strict",
    "enforced": "Enforcer",
    "drafts": "Enforcer, drafts",
}
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
    """Print the counts as a table of Markdown."""
    lines = [
        f"| format | served by | requests | {' | '.join(COLUMNS)} |",
        f"|---|---|---:|{'---:|' * len(COLUMNS)}",
    ]
    for name, ways in results.items():
        for way, counts in ways.items():
            cells = (str(counts.get(column, 0)) for column in ("requests", *COLUMNS))
            lines.append(f"| `{name}` | {WAYS[way]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def masks(measured: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Print what masks cost as a table of Markdown; K2 stands first, and others beside it."""
    lines = [
        "| format | text | header | new tools | mean beside K2 | new tools | start | new tools |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    base = _means(measured["kimi_k2"])
    for name, kinds in measured.items():
        of_name = _means(kinds)
        cells = (
            *(f"{kinds['known'][each]:.1f}" for each in ("text", "header")),
            f"{kinds['new']['header']:.1f}",
            *(f"{own / k2:.1f}" for own, k2 in zip(of_name, base, strict=True)),
            *(f"{kinds[each]['start']:.0f}" for each in ("known", "new")),
        )
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _means(kinds: Mapping[str, Mapping[str, float]]) -> tuple[float, float]:
    """Give the mean of text and header, with tools that are known and with new ones."""
    known, new = ((kinds[each]["text"] + kinds[each]["header"]) / 2 for each in ("known", "new"))
    return known, new


_IDS = {
    Ids.WRITTEN: "the model writes it; the index counts the dialog's calls",
    Ids.MESSAGE: "none in the text; the index counts the message's calls",
    Ids.RANDOM: "none in the text; the server makes one up",
    Ids.RANDOM9: "made up, nine letters and digits, as its templates demand of the history",
}
_LAID_OUT = {
    LayoutKind.JSON: "a JSON object",
    LayoutKind.PYTHON: "keyword arguments, their values Python's literals",
    LayoutKind.PAIRS: (
        "pairs of a key and a value, in any order: strings as they are, other values JSON"
    ),
}


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Write the whole page."""
    known = [dialects.load(name) for name in dict.fromkeys((*FORMATS, *dialects.available()))]
    rows = "\n".join(
        f"| [{each.name}](#{each.name}) | {_models(each.name)} | {_parsers(each)} |"
        for each in known
    )
    legend = "\n".join(f"- **{column}**: replies {what}" for column, what in COLUMNS.items())
    measured = json.loads(MASKS.read_text(encoding="utf-8"))
    introduction = INTRODUCTION.read_text(encoding="utf-8").format(
        rows=rows,
        legend=legend,
        table=table(results).rstrip(),
        machine=measured["machine"],
        masks=masks(measured["masks"]),
    )
    return introduction + "".join(
        _section(each, is_measured=each.name in results) for each in known
    )


def _models(name: str) -> str:
    return NOTES[name].models if name in NOTES else "not noted"


def _parsers(dialect: Dialect) -> str:
    return ", ".join(f"`{name}_enforced`" for name in dialect.parsers)


def _section(dialect: Dialect, *, is_measured: bool) -> str:
    known = f"{NOTES[dialect.name].models}. " if dialect.name in NOTES else ""
    lines = [
        f"\n## {dialect.name}\n",
        *_example(dialect, known),
        f"```mermaid\n{dialect.diagram()}\n```\n",
        "Enforced:\n",
        *(f"- {each}" for each in _enforced(dialect)),
        "\nWhat differs from stock vLLM:\n",
        *(f"- {each}" for each in _stock(dialect.name, is_measured=is_measured)),
        *(f"- {each}" for each in _differs(dialect.name)),
        *_refused(dialect.name),
    ]
    return "\n".join(lines) + "\n"


def _example(dialect: Dialect, known: str) -> Iterator[str]:
    if dialect.examples:
        example = max(dialect.examples, key=lambda each: len(each.get("calls", ())))
        yield f"{known}A turn:\n"
        yield f"```text\n{example['text']}\n```\n"
    elif known:
        yield f"{known}\n"


def _stock(name: str, *, is_measured: bool) -> Iterator[str]:
    """Say what stock leaves open, as far as it is known."""
    if name in NOTES:
        yield NOTES[name].stock
    if not is_measured:
        yield "Not measured: the table above has no row of it."


def _enforced(dialect: Dialect) -> Iterator[str]:
    markers = [text for texts in dialect.markers.values() for text in texts]
    yield f"Markers: {', '.join(map(_code, markers))}"
    yield f"Header: {_code(dialect.header)}"
    yield f"Id of a call: {_IDS[dialect.ids]}"
    if dialect.names is Names.IDENTIFIER:
        yield "Names and keys are identifiers of Python, no keywords, no underscore first"
    layout = dialect.arguments
    said = _LAID_OUT[layout.kind]
    if layout.kind is LayoutKind.PAIRS:
        said += f", each {_code(layout.pair)}"
        if layout.types is Types.DECLARED:
            said += "; a string that would be read as another type's value cannot be written"
        if layout.trim is Trim.NEWLINE:
            said += "; a line break at each end of a value is framing"
    elif layout.white_space is not WhiteSpace.USUAL:
        said += f", with {layout.white_space.value}"
    yield f"Arguments: {said}"
    yield f"Tokenizers that it was tried with: {tokenizers(dialect.name)}"


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


def _differs(name: str) -> Iterator[str]:
    """List what is read, and what is refused, otherwise than stock does."""
    for misread in deviations.MISREAD:
        if misread.format == name:
            yield f"Stock misreads {_code(misread.example)}: {misread.why}"
    texts = {text.what: text.text for text in TEXTS.get(name, ())}
    for (format_name, what), (_, why) in deviations.OTHERWISE.items():
        if format_name == name:
            yield f"Read otherwise, {what}: {_code(texts[what])}: {why}"


def _refused(name: str) -> Iterator[str]:
    """List what stock takes for right, and is masked."""
    texts = {text.what: text.text for text in TEXTS.get(name, ())}
    rows = [
        f"| {what} | {_cell(texts[what])} | {why} |"
        for (format_name, what), why in deviations.REFUSED.items()
        if format_name == name
    ]
    if rows:
        yield "\nStock reads these as calls, and no mask permits them:\n"
        yield from ("| | for example | because |", "|---|---|---|", *rows)


if __name__ == "__main__":
    PAGE.write_text(page(kept()), encoding="utf-8")
