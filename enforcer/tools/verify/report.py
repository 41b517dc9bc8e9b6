"""The report of a measurement: counts of its runs, a table for people, JSON for machines.

Counts as K2-Vendor-Verifier does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from enforcer.judging.judge import Fault, ReplyVerdict

if TYPE_CHECKING:
    from enforcer.judging.replies import ChatReply
    from enforcer.tools.verify.suites import Case


@dataclass(frozen=True, slots=True)
class Request:
    """A case as it is sent in one run.

    Attributes:
        run: the name of the run.
        id: names it in the server's log.

    """

    case: Case
    run: str
    body: Mapping[str, Any]
    id: str


@dataclass(frozen=True, slots=True)
class Result:
    """One request, its reply, and the verdict on it."""

    request: Request
    reply: ChatReply
    verdict: ReplyVerdict


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The counts of one run, all of requests, as K2-Vendor-Verifier counts.

    Attributes:
        schema_accuracy: the share of the replies with calls whose calls all are declared and valid;
            None where no reply has calls.
        right: replies without a fault, cut off ones included.

    """

    requests: int
    finish_reasons: Mapping[str, int]
    complete: int
    cut_off: int
    empty: int
    with_calls: int
    successful_calls: int
    schema_accuracy: float | None
    faults: Mapping[Fault, int]
    right: int


def count(verdicts: Sequence[ReplyVerdict]) -> RunCounts:
    """Count the verdicts of one run."""
    bad_call = {Fault.UNDECLARED, Fault.SCHEMA}
    unanswered = {Fault.FAILED, Fault.REFUSED}
    with_calls = [verdict for verdict in verdicts if verdict.has_calls]
    successful = sum(not verdict.faults & bad_call for verdict in with_calls)
    return RunCounts(
        requests=len(verdicts),
        finish_reasons=dict(Counter(verdict.finish for verdict in verdicts)),
        complete=sum(verdict.complete for verdict in verdicts),
        cut_off=sum(not v.complete and not v.faults & unanswered for v in verdicts),
        empty=sum(verdict.empty for verdict in verdicts),
        with_calls=len(with_calls),
        successful_calls=successful,
        schema_accuracy=successful / len(with_calls) if with_calls else None,
        faults={each: sum(each in verdict.faults for verdict in verdicts) for each in Fault},
        right=sum(not verdict.findings for verdict in verdicts),
    )


@dataclass(frozen=True, slots=True)
class Similarity:
    """The similarity of two servers in when they call, by finish reasons.

    Attributes:
        f1: harmonic mean of precision and recall, 1.0 if neither ever called; None where nothing
            was compared.
        compared: number of requests that both answered.
        both, ours, theirs, neither: requests that ended in `tool_calls` at both servers, at
            the measured one alone, at the reference alone, at neither.

    """

    f1: float | None
    compared: int
    both: int
    ours: int
    theirs: int
    neither: int


def similarity(pairs: Iterable[tuple[str | None, str | None]]) -> Similarity:
    """Compare finish reasons, ours first; a pair with None (no answer) is left out."""
    known = [pair for pair in pairs if None not in pair]
    counts = Counter((ours == "tool_calls", theirs == "tool_calls") for ours, theirs in known)
    both, ours, theirs = counts[True, True], counts[True, False], counts[False, True]
    mixed = 2 * both + ours + theirs
    f1 = 2 * both / mixed if mixed else 1.0 if known else None
    return Similarity(f1, len(known), both, ours, theirs, counts[False, False])


def percent(share: float | None) -> str:
    """Write a share, rounded down so that only a whole one shows 100 %."""
    return "-" if share is None else f"{int(share * 10_000) / 100:.2f} %"


def table(rows: Mapping[str, RunCounts], found: Similarity | None = None) -> list[str]:
    """Return the lines of a table with a column a run, K2-Vendor-Verifier's measures first."""
    columns = [_column(row) for row in rows.values()]
    lines: list[tuple[str, list[str]]] = [("", list(rows))]
    lines += [(title, [str(column[title]) for column in columns]) for title in columns[0]]
    if found is not None:
        lines.append(("trigger similarity (F1)", [percent(found.f1)]))
    titles = max(len(title) for title, _ in lines)
    widths = [max(len(name), 10) for name in rows]
    return [
        f"{title:<{titles}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
        for title, cells in lines
    ]


def _column(row: RunCounts) -> dict[str, object]:
    reasons = ("stop", "tool_calls", "others")
    return {
        "requests": row.requests,
        **{f"finish_reason {each}": row.finish_reasons.get(each, 0) for each in reasons},
        "cut off by max_tokens": row.cut_off,
        "complete, with calls": row.with_calls,
        "successful calls": row.successful_calls,
        "schema accuracy": percent(row.schema_accuracy),
        "empty replies": row.empty,
        **{fault.value: row.faults[fault] for fault in Fault},
    }


def as_json(
    rows: Mapping[str, RunCounts],
    results: Sequence[Result],
    found: Similarity | None,
    requests: int,
) -> dict[str, Any]:
    """Return the whole measurement as JSON values; `results` may serve as a reference later.

    Args:
        rows: the counts of each run.
        results: the replies of all runs.
        found: the similarity to the reference, if there is one.
        requests: how many were to be sent; after Ctrl-C, more than were measured.

    """
    return {
        "requests": requests,
        "measured": len(results),
        "runs": {
            name: asdict(row) | {"faults": {each.name.lower(): row.faults[each] for each in Fault}}
            for name, row in rows.items()
        },
        "trigger_similarity": None if found is None else asdict(found),
        "results": [_result(result) for result in results],
    }


def _result(result: Result) -> dict[str, Any]:
    request, reply, at = result.request, result.reply, result.request.case.at
    return {
        "case": request.case.name,
        **({} if at is None else {"data_index": at + 1}),
        "request_id": request.id,
        "streamed": bool(request.body.get("stream")),
        "status": reply.status,
        "finish_reason": reply.finish_reason,
        "calls": [asdict(call) for call in reply.calls],
        "findings": [
            {"fault": finding.fault.name.lower(), "message": finding.message}
            for finding in result.verdict.findings
        ],
    }
