"""Counts, times and tables of what the engines made of the same cases.

Owns: what is counted, means and percentiles, the tables. Must not know: processes.
"""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.peers.engines import ROWS
from bench.peers.judge import Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from bench.peers.pool import Measured

# Engines that took a schema and every call that fits it have walked the same texts.
_WALKED = {Verdict.RIGHT.value, Verdict.WRONG_ACCEPT.value}
_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value that a share of the values, which are in order, does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def times(
    outcomes: Sequence[Mapping[str, Any]], among: Container[str] | None = None
) -> dict[str, str]:
    """Return the rows of times of an engine: of all schemas that it compiled, or of some.

    The first mask has no time where a schema was refused, crashed or timed out.
    """
    taken = [
        each
        for each in outcomes
        if each.get("first_mask") and (among is None or each["case"] in among)
    ]
    masks = [seconds for each in taken for seconds in each["masks"]]
    first = _spread([each["first_mask"] * 1e3 for each in taken], "p50", "p99")
    rest = _spread([seconds * 1e6 for seconds in masks], "mean", "p99", "p99.9")
    return {f"first mask, ms, {name}": value for name, value in first.items()} | {
        f"a mask, µs, {name}": value for name, value in rest.items()
    }


def _spread(values: Sequence[float], *names: str) -> dict[str, str]:
    if not values:
        return {}
    ordered = sorted(values)
    found = {name: quantile(ordered, share) for name, share in _PERCENTILES.items()}
    found["mean"] = statistics.fmean(ordered)
    return {name: figure(found[name]) for name in names}


def figure(value: float) -> str:
    """Write a number with two to four digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.1f}"


def column(measured: Measured | str) -> dict[str, str]:
    """Return the cells of an engine by the names of their rows; a text says why it has none."""
    if isinstance(measured, str):
        return {"version": f"not installed: {measured}"}
    counts = Counter(each["verdict"] for each in measured.outcomes)
    ordered = [
        each
        for each in measured.outcomes
        if each["verdict"] == Verdict.RIGHT.value and each["in_any_order"]
    ]
    return {
        **{verdict.value: str(counts[verdict.value]) for verdict in Verdict},
        "right in any order": str(len(ordered)),
        **times(measured.outcomes),
        "memory, MiB": figure(measured.peak),
        "version": measured.ready["version"],
    }


def walked(measured: Mapping[str, Measured | str]) -> set[str]:
    """Return the cases that all engines take with every call that fits."""
    return set.intersection(
        *(
            {each["case"] for each in one.outcomes if each["verdict"] in _WALKED}
            for one in measured.values()
            if not isinstance(one, str)
        )
    )


def tables(schemas: int, measured: Mapping[str, Measured | str]) -> str:
    """Write the table of all schemas, and the times of those that all engines take."""
    common = walked(measured)
    shared = {
        name: times(one.outcomes, common)
        for name, one in measured.items()
        if not isinstance(one, str)
    }
    whole = _table(f"of {schemas} schemas", {name: column(one) for name, one in measured.items()})
    return f"{whole}\n\n{_table(f'the {len(common)} that all take', shared)}"


def _table(first: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    rows = [
        (name, *(column.get(name, "-") for column in columns.values()))
        for name in max(columns.values(), key=len)
    ]
    head = (first, *(ROWS[name].label for name in columns))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|---|{'--:|' * len(columns)}", *lines[1:]])
