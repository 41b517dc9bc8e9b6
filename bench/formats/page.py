"""The results of the table, kept between runs, and the table of `docs/formats.md`.

Owns: the file of the results, and how they are printed. Must not know: how they come about.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.formats.catalogue import FORMATS
from bench.formats.count import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS = Path(__file__).with_name("results.json")
WAYS = {"stock": "vLLM", "strict": "vLLM, strict", "enforced": "Enforcer"}


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
