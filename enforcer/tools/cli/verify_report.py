"""Output of `enforcer verify`: the table, the findings, the report's file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from enforcer.errors import ConfigurationError
from enforcer.judging.judge import Fault, ReplyVerdict
from enforcer.tools.cli.output import say, write_file
from enforcer.tools.verify import report

if TYPE_CHECKING:
    from enforcer.tools.verify.reference import ReferenceRun
    from enforcer.tools.verify.report import Result, RunCounts

_SHOWN = 5  # findings of one kind
_HOW_ALIKE = (
    "The similarity compares which requests were answered by a call. Sampled, at a temperature",
    "above 0, a server is not like itself either: send the same requests to the reference twice,",
    "and compare with that.",
)
_NOTHING_ALIKE = (
    "Nothing could be compared: the reference has an answer to none of the requests that were",
    "answered. Are they the same --requests?",
)


def show(
    results: Sequence[Result], requests: int, theirs: ReferenceRun | None, file: Path | None
) -> RunCounts:
    """Print the table and the findings, and write the report; return the counts of all runs.

    Args:
        results: the replies of all runs.
        requests: how many were to be sent.
        theirs: the reference.
        file: where the report goes.

    """
    runs: dict[str, list[ReplyVerdict]] = {}
    for result in results:
        runs.setdefault(result.request.run, []).append(result.verdict)
    rows = {name: report.count(verdicts) for name, verdicts in runs.items()}
    whole = report.count([result.verdict for result in results])
    if len(rows) > 1:
        rows["all"] = whole
    found = None if theirs is None else _similarity(results, theirs)
    say(*report.table(rows, found))
    if found is not None and theirs is not None:
        say("", *_HOW_ALIKE, *(() if found.compared else _NOTHING_ALIKE))
        if theirs.interrupted:
            measured, planned = theirs.interrupted
            say(
                f"The reference was interrupted: {measured} of its {planned} requests were "
                "measured, and no others are compared."
            )
    _print_findings(results)
    if file:
        values = report.as_json(rows, results, found, requests)
        write_file(file, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    return whole


def summary(row: RunCounts) -> str:
    """Return the line of counts; requests that were rejected or failed have no reply."""
    refused, failed = row.faults[Fault.REFUSED], row.faults[Fault.FAILED]
    replies = row.requests - refused - failed
    violated = replies - row.right
    said = f"{violated} of {replies} replies violate" if violated else "no reply violates"
    line = f"{said} what the requests demand; {row.with_calls} have calls"
    if refused:
        line += f"; the server refused {refused} of {row.requests} requests"
    if failed:
        line += f"; {failed} of {row.requests} requests failed"
    return line


def _similarity(results: Sequence[Result], theirs: ReferenceRun) -> report.Similarity:
    """Compare the answers to recorded requests with the reference."""
    return report.similarity(
        (
            each.reply.finish_reason if each.reply.answered else None,
            theirs.reasons.get(each.request.case.at),
        )
        for each in results
        if each.request.case.at is not None
    )


def _print_findings(results: Sequence[Result]) -> None:
    """Print the first findings of every kind; the report has them all."""
    for fault in Fault:
        lines = Counter(
            f"{result.request.case.name}: {finding.message}"
            for result in results
            for finding in result.verdict.findings
            if finding.fault is fault
        )
        # A schema that is refused whole and streamed is refused for one reason.
        told = [line + (f" ({count} times)" if count > 1 else "") for line, count in lines.items()]
        if told:
            say("", f"{fault.value}:")
        say(*(f"  {line}" for line in told[:_SHOWN]))
        if len(told) > _SHOWN:
            say(f"  {len(told) - _SHOWN} more, which --report has")


def refuse_unwritable(path: Path) -> None:
    """Raise if the report cannot be written, before anything is sent.

    Raises:
        ConfigurationError: it cannot.

    """
    is_new = not path.exists()
    try:
        with path.open("a", encoding="utf-8"):
            pass
        if is_new:
            path.unlink()  # there is no report yet
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot write {path}: {error}") from error
