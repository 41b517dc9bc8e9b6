"""Checks of an installation, a model and a running server.

`installation`, `model`, `template` and `server` have the checks, each a function that looks at one
thing and says what to mend. Must not know: how results are shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a check came out."""

    OK = "ok"
    NOTE = "note"  # nothing is wrong, but something is not there or not known
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        name: what was looked at.
        found: what was found.
        mend: what to do about it; empty where nothing needs to be done.
        caveat: what a note takes from "all is well"; empty where it takes nothing.

    """

    name: str
    status: Status
    found: str
    mend: str = ""
    caveat: str = ""


def ok(name: str, found: str) -> Check:
    """Report that something is as it should be."""
    return Check(name, Status.OK, found)


def note(name: str, found: str, mend: str = "", caveat: str = "") -> Check:
    """Report something that may be meant so."""
    return Check(name, Status.NOTE, found, mend, caveat)


def bad(name: str, found: str, mend: str) -> Check:
    """Report something that must be mended."""
    return Check(name, Status.BAD, found, mend)
