"""Sets of requests: the first questions of each category, and others that are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.demo.leaderboard import published
from bench.demo.real_model.workload import MODEL_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.demo.leaderboard.published import Question

MAX_TOKENS = 256
# Category, first and last question, `tool_choice`.
SETS: Mapping[str, tuple[tuple[str, int, int, str], ...]] = {
    "reference": (
        ("simple_python", 0, 90, "auto"),
        ("live_simple", 0, 60, "auto"),
        ("multiple", 0, 40, "auto"),
        ("parallel", 0, 30, "auto"),
        ("irrelevance", 0, 30, "auto"),
        ("live_multiple", 0, 20, "auto"),
        ("simple_python", 0, 90, "required"),
        ("live_simple", 0, 60, "required"),
    ),
    "held-out": (
        ("simple_python", 90, 400, "auto"),
        ("multiple", 40, 200, "auto"),
        ("live_simple", 60, 258, "auto"),
    ),
}


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and the `tool_choice` that it is asked with."""

    question: Question
    choice: str

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of the HTTP request."""
        return {
            "model": MODEL_NAME,
            "messages": self.question.messages,
            "tools": self.question.tools,
            "tool_choice": self.choice,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.0,
            "return_token_ids": True,
        }


def requests(name: str, limit: int | None = None) -> list[Request]:
    """Return the requests of a set, at most `limit` of each of its rows.

    Raises:
        NotInstalledError: the package with the questions is not installed.

    """
    return [
        Request(question, choice)
        for category, begin, end, choice in SETS[name]
        for question in published.questions(category)[begin:end][:limit]
    ]
