"""The part of `docs/results.md` on peers: `python -m bench.peers.page` writes it anew.

Owns: the tables, the sentences that follow from figures, where they stand. Must not know: how
results come about.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.peers import plots, summary
from bench.peers.engines import ROWS
from bench.peers.judge import Verdict
from bench.plots import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TEXT = Path(__file__).with_name("page.md")
HEADING = "## Beside other engines\n"
OURS = "enforcer"
_FIRST, _MASK, _MEMORY = "first mask, ms", "mask, us", "memory, MiB"
# Rows of times: what is timed, and which figure of it.
_TIMES = {
    "first mask, ms": (_FIRST, "p50"),
    "first mask, p99": (_FIRST, "p99"),
    "a mask, µs": (_MASK, "mean"),
    "a mask, p99": (_MASK, "p99"),
    "a mask, p99.9": (_MASK, "p99.9"),
}
_LEGEND = {
    "refused": "to compile",
    "wrongly rejected": "a call that fits",
    "wrongly accepted": "a call that does not fit; a schema with both counts here",
    "timed out": "more than {seconds:g} s of processor time for a schema and all its calls",
    "crashed": "an exception that is no refusal, or the process died",
    "right in any order": "right also where each object's members come in another order, which "
    "JSON leaves free",
    "first mask": "from the schema as a Python object to the first mask; the median",
    "a mask": "any further one along a call that fits, with accepting the id before it; the mean",
    "memory": "at most, Python and the vocabulary included",
}
# What the Enforcer is compared in: figure, unit, whether less is better.
_CONTESTS: dict[str, tuple[Callable[[Mapping[str, Any]], float], str, bool]] = {
    "right of more schemas": (lambda each: each["verdicts"]["right"], "", False),
    "refuses fewer": (lambda each: each["verdicts"]["refused"], "", True),
    "sooner at the first mask, p50": (lambda each: each[_FIRST]["p50"], " ms", True),
    "sooner at the first mask, p99": (lambda each: each[_FIRST]["p99"], " ms", True),
    "shorter masks, on average": (lambda each: each[_MASK]["mean"], " µs", True),
    "shorter masks, p99": (lambda each: each[_MASK]["p99"], " µs", True),
    "shorter masks, p99.9": (lambda each: each[_MASK]["p99.9"], " µs", True),
    "less memory": (lambda each: each[_MEMORY]["peak"], " MiB", True),
}


def figure(value: float) -> str:
    """Write a figure with three digits or so."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.1f}"


def table(results: Mapping[str, Any]) -> str:
    """Write the table, a column for each engine."""
    columns = {name: _column(name, each) for name, each in results["engines"].items()}
    return _rows(f"of {results['schemas']} schemas", columns)


def shared(results: Mapping[str, Any]) -> str:
    """Write the times on the schemas that all engines take."""
    common = results["walked by all"]
    columns = {name: _column_of_times(each) for name, each in common["engines"].items()}
    return _rows(f"the {common['schemas']} that all take", columns)


def _column(name: str, each: Mapping[str, Any]) -> dict[str, str]:
    """Give the cells of an engine by the names of their rows."""
    if "missing" in each:
        return {"version": f"not installed: {each['missing']}"}
    return {
        **{verdict.value: str(each["verdicts"][verdict.value]) for verdict in Verdict},
        "right in any order": str(each["right in any order"]),
        **_column_of_times(each),
        "memory, MiB": figure(each[_MEMORY]["peak"]),
        "version": each["versions"][ROWS[name].packages[0]],
    }


def _column_of_times(each: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: figure(each[what][which])
        for name, (what, which) in _TIMES.items()
        if each[what]["count"]
    }


def _rows(first: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    lines = [
        _line((first, *(ROWS[name].label for name in columns))),
        f"|---|{'--:|' * len(columns)}",
        *(
            _line((row, *(column.get(row, "-") for column in columns.values())))
            for row in max(columns.values(), key=len)
        ),
    ]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def ahead(results: Mapping[str, Any]) -> str:
    """Say in what which peer is ahead of the Enforcer; of times, by their own schemas."""
    engines = {
        name: each for name, each in results["engines"].items() if each.get(_MASK, {}).get("count")
    }
    ours = engines.pop(OURS, None)
    if ours is None:
        return ""
    said = []
    for what, (of, unit, less) in _CONTESTS.items():
        mine = of(ours)
        better = {
            ROWS[name].label: of(each)
            for name, each in engines.items()
            if (of(each) < mine if less else of(each) > mine)
        }
        if better:
            found = ", ".join(f"{label} ({figure(value)}{unit})" for label, value in better.items())
            said.append(f"- {what}: {found}; the Enforcer {figure(mine)}{unit}")
    if not said:
        return "No peer is ahead of the Enforcer in anything that is measured here."
    return "\n".join(["Where a peer is ahead of the Enforcer:", "", *said])


def _named(results: Mapping[str, Any]) -> str:
    """Say which wrongly accepting engine names what it does not enforce."""
    found = [
        f" It says of some schemas what it does not enforce: so it did of {named} of the "
        f"{each['verdicts'][Verdict.WRONG_ACCEPT.value]} that it wrongly accepts calls of."
        for each in [results["engines"].get("grid", {})]
        if (named := each.get("wrongly accepted, but named"))
    ]
    return "".join(found)


def section(results: Mapping[str, Any]) -> str:
    """Write the whole part of the page."""
    seconds = results["time-out, s"]
    legend = "\n".join(f"- **{what}**: {text}" for what, text in _LEGEND.items())
    settings = "\n".join(
        f"- **{ROWS[name].label}**: {_versions(each)}{ROWS[name].settings}."
        + (_named(results) if name == "grid" else "")
        for name, each in results["engines"].items()
    )
    return TEXT.read_text(encoding="utf-8").format(
        schemas=results["schemas"],
        unjudged=results["unjudged schemas"],
        **results["calls"],
        machine=results["machine"],
        vocabulary={"kimi": "Kimi's own"}.get(
            results["vocabulary"]["name"], "one that comes with an installed package"
        ),
        ids=f"{results['vocabulary']['ids']:,}",
        table=table(results),
        legend=legend.format(seconds=seconds),
        ahead=ahead(results),
        shared=shared(results),
        shared_schemas=results["walked by all"]["schemas"],
        settings=settings,
    )


def _versions(each: Mapping[str, Any]) -> str:
    listed = each.get("versions", {})
    return "".join(f"`{name}` {version}, " for name, version in listed.items())


def replaced(text: str, part: str) -> str:
    """Put a part of the page in the place of the one with its heading, or at the end.

    Raises:
        ValueError: the page has several such headings.

    """
    pattern = rf"^{re.escape(HEADING)}.*?(?=^## |\Z)"
    found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    if not found:
        return f"{text.rstrip()}\n\n{part}"
    if len(found) > 1:
        raise ValueError(f"the page has {len(found)} parts {HEADING.strip()!r}, not one")
    after = "" if text.endswith(found[0]) else "\n"
    return text.replace(found[0], part.rstrip("\n") + "\n" + after)


def write(results: Mapping[str, Any]) -> None:
    """Write the part of the page, and the plots."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(text, section(results)), encoding="utf-8")
    plots.write(results)


if __name__ == "__main__":
    write(summary.kept())
