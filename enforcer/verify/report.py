"""A measurement, written down: a table for people, JSON for machines.

Owns: what is printed and in which order, and the report's form. Must not know: how
requests are made, sent or judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enforcer.verify.measure import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.verify.counts import Row, Similarity
    from enforcer.verify.measure import Verdict
    from enforcer.verify.replies import Reply
    from enforcer.verify.suites import Case

_FAULTS = {
    Fault.UNDECLARED: "undeclared calls",
    Fault.SCHEMA: "schema errors",
    Fault.ID: "id errors",
    Fault.CHOICE: "ignored tool choice",
    Fault.FINISH: "wrong finish reason",
    Fault.LEAK: "leaked markers",
    Fault.REFUSED: "refused (HTTP 400)",
    Fault.FAILED: "failed",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One request of a run: what was asked, what came, what is wrong with it, its id."""

    case: Case
    streamed: bool
    reply: Reply
    verdict: Verdict
    request_id: str


def percent(share: float) -> str:
    """Write a share, rounded down so that only a whole one shows 100 %."""
    return f"{int(share * 10_000) / 100:.2f} %"


def table(rows: Mapping[str, Row], similarity: Similarity | None = None) -> str:
    """Lay out one column per run, K2-Vendor-Verifier's measures first."""
    lines: list[tuple[str, list[str]]] = [("", list(rows))]

    def line(title: str, cells: Sequence[object]) -> None:
        lines.append((title, [str(cell) for cell in cells]))

    runs = list(rows.values())
    line("requests", [row.requests for row in runs])
    for reason in ("stop", "tool_calls", "others"):
        line(f"finish_reason {reason}", [row.finish.get(reason, 0) for row in runs])
    line("cut off by max_tokens", [row.cut_off for row in runs])
    line("complete, with calls", [row.with_calls for row in runs])
    line("successful calls", [row.successful for row in runs])
    line("schema accuracy", [_accuracy(row) for row in runs])
    line("empty replies", [row.empty for row in runs])
    for fault, title in _FAULTS.items():
        line(title, [row.faults.get(fault, 0) for row in runs])
    if similarity is not None:
        line("trigger similarity (F1)", [_similarity(similarity)])
    titles = max(len(title) for title, _ in lines)
    widths = [max(len(name), 10) for name in rows]
    return "\n".join(
        f"{title:<{titles}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
        for title, cells in lines
    )


def _accuracy(row: Row) -> str:
    return percent(row.accuracy) if row.with_calls else "-"


def _similarity(found: Similarity) -> str:
    return percent(found.f1) if found.compared else "-"


def as_json(
    rows: Mapping[str, Row],
    results: Sequence[Result],
    similarity: Similarity | None,
    requests: int,
) -> dict[str, Any]:
    """Give the whole measurement as JSON values; `results` may serve as a reference later.

    Args:
        rows: the counts of each run.
        results: those of all runs.
        similarity: to the reference, if there is one.
        requests: how many were to be sent; after Ctrl-C, more than were measured.

    """
    return {
        "requests": requests,
        "measured": len(results),
        "runs": {name: _row(row) for name, row in rows.items()},
        "trigger_similarity": None if similarity is None else _similarity_values(similarity),
        "results": [_result(result) for result in results],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "requests": row.requests,
        "finish_reasons": dict(row.finish),
        "complete": row.complete,
        "cut_off": row.cut_off,
        "empty": row.empty,
        "with_calls": row.with_calls,
        "successful_calls": row.successful,
        "schema_accuracy": row.accuracy if row.with_calls else None,
        "faults": {fault.name.lower(): row.faults.get(fault, 0) for fault in Fault},
    }


def _similarity_values(found: Similarity) -> dict[str, Any]:
    return {
        "f1": found.f1 if found.compared else None,
        "compared": found.compared,
        "both": found.both,
        "ours": found.ours,
        "theirs": found.theirs,
        "neither": found.neither,
    }


def _result(result: Result) -> dict[str, Any]:
    reply, at = result.reply, result.case.at
    return {
        "case": result.case.name,
        **({} if at is None else {"data_index": at + 1}),
        "request_id": result.request_id,
        "streamed": result.streamed,
        "status": reply.status,
        "finish_reason": reply.finish_reason,
        "calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls
        ],
        "findings": [
            {"fault": finding.fault.name.lower(), "message": finding.message}
            for finding in result.verdict.findings
        ],
    }
