"""A reference: the finish reasons that another server gave to the same recorded requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enforcer import documents
from enforcer.errors import ConfigurationError
from enforcer.judging import replies


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """The answers of another server.

    Attributes:
        reasons: finish reasons by the place of the recorded request, from 0; None where it gave no
            answer.
        interrupted: of a report that Ctrl-C ended, how many requests were measured, and how
            many were to be; None of any other reference.

    """

    reasons: Mapping[int, str | None]
    interrupted: tuple[Any, Any] | None = None


def read(path: Path) -> ReferenceRun:
    """Read a reference.

    Understood: our own reports, and JSON Lines whose lines are finish reasons or objects
    that have one: as `finish_reason`, or in a recorded `response`. Where lines have
    K2-Vendor-Verifier's `data_index` (from 1), that tells their request; otherwise their
    order does.

    Raises:
        ConfigurationError: the file cannot be read, a `data_index` is no number from 1 on, or a
            line has no finish reason.

    """
    lines = documents.read(path)
    first = lines[0].value
    interrupted = None
    if len(lines) == 1 and isinstance(first, dict) and isinstance(first.get("results"), list):
        # What a report has no `data_index` of is no recorded request, but a schema.
        values = [each for each in first["results"] if isinstance(each, dict)]
        entries = [(each, lines[0].where) for each in values if "data_index" in each]
        measured, requests = first.get("measured"), first.get("requests")
        interrupted = (measured, requests) if measured != requests else None
    else:
        entries = [(value, line.where) for line in lines for value in line.values]
    found: dict[int, str | None] = {}
    for at, (entry, where) in enumerate(entries):
        index = entry.get("data_index", at + 1) if isinstance(entry, dict) else at + 1
        if not isinstance(index, int) or index < 1:
            raise ConfigurationError(f"{where}: {index!r} is no data_index (1, 2, …)")
        found[index - 1] = _finish_reason(entry, where)
    return ReferenceRun(found, interrupted)


def _finish_reason(entry: Any, where: str) -> str | None:
    """Find the finish reason of one line; None where the reference had no answer."""
    if isinstance(entry, Mapping) and "finish_reason" not in entry:
        if "response" not in entry:
            raise ConfigurationError(f"{where} has no finish_reason")
        response = entry["response"]
        choices = response.get("choices") if isinstance(response, dict) else None
        entry = choices[0] if isinstance(choices, list) and choices else None
    reason = entry.get("finish_reason", entry) if isinstance(entry, Mapping) else entry
    if reason is None or isinstance(reason, str):
        return None if reason == replies.ABORTED else reason
    raise ConfigurationError(f"{where} has no finish_reason")
