"""The demo's table.

Owns: its columns and their headings. Must not know: where the counts come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from enforcer.judging.judge import Fault
from enforcer.tools.verify.report import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from enforcer.tools.verify.report import RunCounts

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


def render(rows: Mapping[str, RunCounts]) -> Table:
    """Lay out one line per server."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in COLUMNS:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name, row in rows.items():
        table.add_row(name, *cells(row))
    return table


def cells(row: RunCounts) -> tuple[str, ...]:
    """Write a row's counts, in the order of `COLUMNS` without the first."""
    counts = (
        row.requests,
        *(row.finish_reasons.get(reason, 0) for reason in ("stop", "tool_calls", "others")),
        *(row.faults.get(fault, 0) for fault in (Fault.UNDECLARED, Fault.SCHEMA)),
        row.successful_calls,
    )
    others = (Fault.CHOICE, Fault.FINISH, Fault.REFUSED, Fault.FAILED)
    return (
        *map(str, counts),
        percent(row.schema_accuracy),
        *(str(row.faults.get(fault, 0)) for fault in (Fault.ID, Fault.LEAK)),
        str(row.empty),
        str(sum(row.faults.get(fault, 0) for fault in others)),
    )
