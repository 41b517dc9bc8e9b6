"""Checks of an installation, a model and a running server.

`installation`, `model`, `template` and `server` have the checks, each a function that looks at one
thing and says what to mend. Must not know: how results are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CheckStatus(Enum):
    """How a check came out."""

    OK = "ok"
    NOTE = "note"  # nothing is wrong, but something is not there or not known
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: what was looked at.
        found: what was found.
        mend: what to do about it; empty where nothing needs to be done.
        caveat: what a note takes from "all is well"; empty where it takes nothing.

    """

    name: str
    status: CheckStatus
    found: str
    mend: str = ""
    caveat: str = ""


def ok(name: str, found: str) -> CheckResult:
    """Report that something is as it should be."""
    return CheckResult(name, CheckStatus.OK, found)


def note(name: str, found: str, mend: str = "", caveat: str = "") -> CheckResult:
    """Report something that may be meant so."""
    return CheckResult(name, CheckStatus.NOTE, found, mend, caveat)


def bad(name: str, found: str, mend: str) -> CheckResult:
    """Report something that must be mended."""
    return CheckResult(name, CheckStatus.BAD, found, mend)
