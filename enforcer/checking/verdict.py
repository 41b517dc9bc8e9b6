"""The answer to a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from enforcer.errors import Problem, RequestError


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a check.

    Attributes:
        error: why it is refused, a schema's path from its root; None if it is not.
        relaxed: what will not be enforced, where that was asked for.
        untimed: why nobody can tell how soon such texts can end, where that was asked for.
        seconds: processor time that the check took.
        written: what was written for the engine, where that was asked for.

    """

    error: RequestError | None = None
    relaxed: tuple[Problem, ...] = ()
    seconds: float = 0.0
    written: bytes = b""
    untimed: tuple[Problem, ...] = ()

    @property
    def weight(self) -> int:
        """Bytes that it holds, roughly."""
        problems = self.relaxed + self.untimed
        problems += self.error.problems if self.error is not None else ()
        return 200 + sum(300 + len(p.path) + len(p.reason) for p in problems)
