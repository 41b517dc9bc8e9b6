"""Outcomes of replies, their counts, and the comparison of two servers question by question."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from bench.demo.leaderboard import published
from enforcer.judging.judge import Fault, judge
from enforcer.judging.rules import IdRule, ReplyRules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from bench.demo.leaderboard.workload import Request
    from enforcer.judging.replies import ChatReply
    from enforcer.vocabulary import Vocabulary

_95_PERCENT = 1.96  # standard deviations of the normal distribution
_SHOWN = 50  # characters


@dataclass(frozen=True, slots=True)
class Outcome:
    """A reply, judged.

    Attributes:
        question: its id.
        choice: `tool_choice`.
        answerable: the leaderboard has an answer; the others are right without a call.
        text: what the model wrote, markers included.
        tokens: how many token ids.
        calls: it has calls and was not cut off.
        valid: it has calls, all of them declared and valid.
        right: by the leaderboard's checker.
        cut_off: `max_tokens` ended it.
        failed: rejected, or ended by an error.

    """

    question: str
    choice: str
    answerable: bool
    text: str
    tokens: int
    calls: bool
    valid: bool
    right: bool
    cut_off: bool
    failed: bool


def outcome(vocabulary: Vocabulary, request: Request, reply: ChatReply) -> Outcome:
    """Judge a reply: by its schemas, and by the leaderboard's checker."""
    verdict = judge(request.body, reply, ReplyRules(IdRule.UNIQUE))
    invalid = verdict.faults & {Fault.UNDECLARED, Fault.SCHEMA}
    calls = reply.calls if verdict.has_calls else ()
    return Outcome(
        question=request.question.id,
        choice=request.choice,
        answerable=not request.question.is_irrelevant,
        text=vocabulary.decode(reply.token_ids).decode(errors="replace"),
        tokens=len(reply.token_ids),
        calls=verdict.has_calls,
        valid=verdict.has_calls and not invalid,
        right=reply.answered and published.is_right(request.question, calls),
        cut_off=reply.answered and not verdict.complete,
        failed=not reply.answered,
    )


def write(file: Path, outcomes: Sequence[Outcome]) -> None:
    """Write outcomes as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [asdict(each) for each in outcomes]
    file.write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> list[Outcome]:
    """Read what `write` has written."""
    return [Outcome(**each) for each in json.loads(file.read_text(encoding="utf-8"))]


def render(rows: Mapping[str, Sequence[Outcome]]) -> Table:
    """Lay out a line per server."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    heads = ("requests", "calls", "valid", "right", "cut\noff", "failed")
    for name in ("", *heads, "irrelevant,\nno call", "tokens"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for name, outcomes in rows.items():
        asked = [each for each in outcomes if each.answerable]
        others = [each for each in outcomes if not each.answerable]
        table.add_row(
            name,
            str(len(outcomes)),
            str(sum(each.calls for each in outcomes)),
            str(sum(each.valid for each in outcomes)),
            str(sum(each.right for each in asked)),
            str(sum(each.cut_off for each in outcomes)),
            str(sum(each.failed for each in outcomes)),
            f"{sum(each.right for each in others)} of {len(others)}",
            f"{sum(each.tokens for each in outcomes):,}",
        )
    return table


@dataclass(frozen=True, slots=True)
class Difference:
    """How often one server is right and another one, the base, is not.

    Attributes:
        questions: distinct ones; one that is asked twice counts once, with the mean.
        won, lost: questions in which the server is right more, less often than the base.
        mean, half: the difference in the share of right answers, and the half of its 95 %
            interval, by the normal approximation for pairs.

    """

    questions: int
    won: int
    lost: int
    mean: float
    half: float

    def __str__(self) -> str:
        low, high = self.mean - self.half, self.mean + self.half
        return (
            f"{self.mean:+.1%} right answers (95 % interval {low:+.1%} to {high:+.1%}) of "
            f"{self.questions} distinct questions; won {self.won}, lost {self.lost}"
        )


def pairs(base: Sequence[Outcome], other: Sequence[Outcome]) -> Iterator[tuple[Outcome, Outcome]]:
    """Yield the outcomes of both servers for each answerable request."""
    for one, another in zip(base, other, strict=True):
        if (one.question, one.choice) != (another.question, another.choice):
            raise ValueError(f"{one.question} and {another.question}: not the same requests")
        if one.answerable:
            yield one, another


def difference(base: Sequence[Outcome], other: Sequence[Outcome]) -> Difference:
    """Compare a server with the base."""
    found: dict[str, list[int]] = defaultdict(list)
    for one, another in pairs(base, other):
        found[one.question].append(another.right - one.right)
    means = [fmean(each) for each in found.values()]
    return Difference(
        len(means),
        sum(mean > 0 for mean in means),
        sum(mean < 0 for mean in means),
        fmean(means),
        _95_PERCENT * stdev(means) / len(means) ** 0.5,
    )


def changed(base: Sequence[Outcome], other: Sequence[Outcome]) -> Iterator[str]:
    """Describe each reply of which one alone is right, from the first character that differs."""
    for one, another in pairs(base, other):
        if one.right != another.right:
            word = "won " if another.right else "lost"
            at = _alike(one.text, another.text)
            common, left, right = (
                json.dumps(text, ensure_ascii=False)
                for text in (
                    one.text[max(0, at - _SHOWN) : at],
                    one.text[at : at + _SHOWN],
                    another.text[at : at + _SHOWN],
                )
            )
            yield f"{word} {one.question} ({one.choice}): {common} then {left} | {right}"


def _alike(one: str, other: str) -> int:
    """Return how many leading characters two texts share."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))
