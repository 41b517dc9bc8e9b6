"""Checks of an installation, a model and a running server.

`installation`, `model`, `template` and `server` have the checks, each a function that looks at one
thing and says what to mend. Must not know: how results are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CheckStatus(Enum):
    """The outcome of a check."""

    OK = "ok"
    NOTE = "note"  # nothing is wrong, but something is not there or not known
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: the subject of the check.
        found: the finding.
        mend: the cure; empty if none is needed.
        caveat: the restriction that the summary names; empty if there is none.

    """

    name: str
    status: CheckStatus
    found: str
    mend: str = ""
    caveat: str = ""


def ok(name: str, found: str) -> CheckResult:
    """Report that all is well."""
    return CheckResult(name, CheckStatus.OK, found)


def note(name: str, found: str, mend: str = "", caveat: str = "") -> CheckResult:
    """Report a finding that may be intended."""
    return CheckResult(name, CheckStatus.NOTE, found, mend, caveat)


def bad(name: str, found: str, mend: str) -> CheckResult:
    """Report a fault that must be mended."""
    return CheckResult(name, CheckStatus.BAD, found, mend)
