"""The demo's table.

Owns: its columns and their headings. Must not know: where the counts come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from bench.demo.measuring import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.demo.measuring import Row

# K2-Vendor-Verifier's columns, then the ones that it does not have.
COLUMNS = (
    "",
    "requests",
    "stop",
    "tool\ncalls",
    "others",
    "undeclared\ncalls",
    "schema\nerrors",
    "successful\ncalls",
    "schema\naccuracy",
    "wrong\nids",
    "leaked\nmarkers",
    "empty\nreplies",
    "other\nerrors",
)


def render(rows: Mapping[str, Row]) -> Table:
    """Lay out one line per server."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in COLUMNS:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name, row in rows.items():
        table.add_row(name, *cells(row))
    return table


def cells(row: Row) -> tuple[str, ...]:
    """Write a row's counts, in the order of `COLUMNS` without the first."""
    counts = (
        row.requests,
        *(row.finish.get(reason, 0) for reason in ("stop", "tool_calls", "others")),
        *(row.faults.get(fault, 0) for fault in (Fault.UNDECLARED, Fault.SCHEMA)),
        row.successful,
    )
    rest = (Fault.ID, Fault.LEAK, Fault.EMPTY)
    return (
        *map(str, counts),
        # Rounded down, so that only a run without a bad call shows 100 %.
        f"{int(row.accuracy * 10_000) / 100:.2f} %",
        *(str(row.faults.get(fault, 0)) for fault in rest),
        str(sum(row.faults.get(fault, 0) for fault in (Fault.CHOICE, Fault.HTTP))),
    )
