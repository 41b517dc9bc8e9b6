"""What `enforcer verify` tells of what it measured: the table, the findings, the report.

Owns: what is printed of them and in which order, and the report's file. Must not know: how it was
measured, or what the command exits with.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from enforcer.cli.output import say, write_file
from enforcer.errors import ConfigurationError
from enforcer.verify import counts, reference, report
from enforcer.verify.measure import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from enforcer.verify.report import Result

_SHOWN = 5  # findings of one kind
_HOW_ALIKE = (
    "The similarity compares which requests were answered by a call. Sampled (at a temperature "
    "above 0), a\nserver is not like itself either: send the same requests to the reference twice, "
    "and compare with that."
)


def show(
    results: Mapping[str, Sequence[Result]],
    requests: int,
    compared: Path | None,
    file: Path | None,
) -> None:
    """Print the table and the findings, and write the report.

    Args:
        results: those of each run.
        requests: how many were to be sent.
        compared: the reference.
        file: where the report goes.

    """
    every = [result for run in results.values() for result in run]
    rows = {name: counts.count([r.verdict for r in run]) for name, run in results.items()}
    if len(rows) > 1:
        rows["all"] = counts.count([result.verdict for result in every])
    theirs = reference.read(compared, _recorded(every)) if compared else None
    similarity = _similarity(results, theirs.reasons) if theirs else None
    say(*report.table(rows, similarity).split("\n"))
    if theirs:
        say("", *_HOW_ALIKE.split("\n"))
        if similarity is not None and not similarity.compared:
            say(
                "Nothing could be compared: the reference has an answer to none of the requests "
                "that were",
                "answered. Are they the same --requests?",
            )
        if theirs.interrupted:
            measured, planned = theirs.interrupted
            say(
                f"The reference was interrupted: {measured} of its {planned} requests were "
                "measured, and no others are compared."
            )
    _print_findings(every)
    if file:
        found = report.as_json(rows, every, similarity, requests)
        write_file(file, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def summary(results: Sequence[Result]) -> str:
    """Tell what replies violate apart from what was refused or failed, which are no replies."""
    row = counts.count([result.verdict for result in results])
    refused, failed = (row.faults.get(fault, 0) for fault in (Fault.REFUSED, Fault.FAILED))
    replies = row.requests - refused - failed
    violated = replies - row.right
    said = f"{violated} of {replies} replies violate" if violated else "no reply violates"
    line = f"{said} what the requests demand; {row.with_calls} have calls"
    if refused:
        line += f"; the server refused {refused} of {row.requests} requests"
    if failed:
        line += f"; {failed} of {row.requests} requests failed"
    return line


def _recorded(results: Sequence[Result]) -> int:
    """Tell how many records a reference has to tell of."""
    return max((1 + one.case.at for one in results if one.case.at is not None), default=0)


def _similarity(
    results: Mapping[str, Sequence[Result]], theirs: Sequence[str | None]
) -> counts.Similarity:
    """Compare each run of the recorded requests with the reference."""
    pairs: list[tuple[str | None, str | None]] = []
    for name, run in results.items():
        if name.startswith("requests"):
            ours = {r.case.at: r.reply for r in run if r.case.at is not None}
            pairs += [
                (reply.finish_reason if reply.answered else None, theirs[at])
                for at, reply in ours.items()
            ]
    return counts.similarity(pairs)


def _print_findings(results: Sequence[Result]) -> None:
    """Print the first findings of every kind; the report has them all."""
    for fault in Fault:
        lines = Counter(
            f"{result.case.name}: {finding.message}"
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
    """Find out before anything is sent whether the report can be written.

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
