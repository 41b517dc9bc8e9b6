"""The counts of a run, and how alike two servers are.

Owns: what is counted of the verdicts on replies, as K2-Vendor-Verifier counts it. Must not know:
how a reply is judged (`measure`), how counts are shown (`report`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.verify.measure import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from enforcer.verify.measure import Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one run; all of them count requests, as K2-Vendor-Verifier does.

    Attributes:
        right: those with nothing wrong, the ones that were cut off included.

    """

    requests: int
    finish: Mapping[str, int]
    faults: Mapping[Fault, int]
    complete: int
    cut_off: int
    with_calls: int
    successful: int
    empty: int
    right: int

    @property
    def accuracy(self) -> float:
        """Return the share of the replies with calls whose calls all are declared and valid."""
        return self.successful / self.with_calls if self.with_calls else 1.0

    @property
    def perfect(self) -> bool:
        """Tell whether nothing was wrong with any reply, and some had calls."""
        return self.with_calls > 0 and self.right == self.requests


def count(verdicts: Sequence[Verdict]) -> Row:
    """Count the verdicts of one run."""
    bad_call = {Fault.UNDECLARED, Fault.SCHEMA}
    unanswered = {Fault.FAILED, Fault.REFUSED}
    with_calls = [verdict for verdict in verdicts if verdict.has_calls]
    return Row(
        requests=len(verdicts),
        finish=Counter(verdict.finish for verdict in verdicts),
        faults=Counter(fault for verdict in verdicts for fault in verdict.faults),
        complete=sum(verdict.complete for verdict in verdicts),
        cut_off=sum(not v.complete and not v.faults & unanswered for v in verdicts),
        with_calls=len(with_calls),
        successful=sum(not verdict.faults & bad_call for verdict in with_calls),
        empty=sum(verdict.empty for verdict in verdicts),
        right=sum(not verdict.findings for verdict in verdicts),
    )


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike two servers are in when they call, by finish reasons.

    Attributes:
        both, ours, theirs, neither: requests that ended in `tool_calls` at both servers, at
            the measured one alone, at the reference alone, at neither.

    """

    both: int
    ours: int
    theirs: int
    neither: int

    @property
    def compared(self) -> int:
        """Number of requests that both answered."""
        return self.both + self.ours + self.theirs + self.neither

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1.0 if neither ever called."""
        mixed = 2 * self.both + self.ours + self.theirs
        return 2 * self.both / mixed if mixed else 1.0


def similarity(pairs: Iterable[tuple[str | None, str | None]]) -> Similarity:
    """Compare finish reasons, ours first; a pair with None (no answer) is left out."""
    counts = Counter(
        (ours == "tool_calls", theirs == "tool_calls")
        for ours, theirs in pairs
        if ours is not None and theirs is not None
    )
    return Similarity(
        both=counts[True, True],
        ours=counts[True, False],
        theirs=counts[False, True],
        neither=counts[False, False],
    )
