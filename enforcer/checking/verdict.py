"""What a worker answers, as data.

Owns: the form and its JSON. Must not know: what was asked, processes, pipes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from enforcer.errors import (
    BudgetTooSmall,
    IllegalPrefix,
    InvalidSchema,
    InvalidTools,
    Problem,
    RequestError,
    SchemaLimit,
    UnsatisfiableSchema,
    UnsupportedSchema,
)

_OF_SCHEMAS = {
    kind.__name__: kind
    for kind in (InvalidSchema, UnsupportedSchema, UnsatisfiableSchema, SchemaLimit)
}
_OF_TURNS = {kind.__name__: kind for kind in (IllegalPrefix, BudgetTooSmall, InvalidTools)}


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
    written: str = ""
    untimed: tuple[Problem, ...] = ()

    @property
    def weight(self) -> int:
        """Bytes that it holds, roughly."""
        problems = self.relaxed + self.untimed
        problems += self.error.problems if self.error is not None else ()
        return 200 + sum(300 + len(p.path) + len(p.reason) for p in problems)

    def to_json(self) -> bytes:
        """Write it for whoever asked."""
        error = self.error
        written = {
            "error": None if error is None else type(error).__name__,
            "problems": [] if error is None else [asdict(p) for p in error.problems],
            "relaxed": [asdict(p) for p in self.relaxed],
            "seconds": self.seconds,
            "written": self.written,
            "untimed": [asdict(p) for p in self.untimed],
        }
        return json.dumps(written).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Verdict:
        """Read what `to_json` has written."""
        written: dict[str, Any] = json.loads(data)
        name = written["error"]
        problems = tuple(Problem(**p) for p in written["problems"])
        return cls(
            None if name is None else _error(name, problems),
            tuple(Problem(**p) for p in written["relaxed"]),
            written["seconds"],
            written["written"],
            tuple(Problem(**p) for p in written["untimed"]),
        )


def _error(name: str, problems: tuple[Problem, ...]) -> RequestError:
    if name in _OF_SCHEMAS:
        return _OF_SCHEMAS[name](problems)
    return _OF_TURNS[name](problems[0].path, problems[0].reason)
