"""Running the matrix, and judging its cells.

Owns: which cells there are, and what a cell's verdict is. Must not know: how a server
is started, how results are shown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from bench.matrix import modes
from bench.matrix.routes import Client, Route
from enforcer.judging.judge import Fault, Finding, judge
from enforcer.judging.rules import KIMI_K2, IdRule, ReplyRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.judging.replies import ChatReply

# The Responses API and Anthropic's give the model's id as it is, but the judge of theirs
# does not know how the history was counted there: unique is what their clients rely on.
_ANY_ID = frozenset({Route.RESPONSES, Route.MESSAGES})


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: the route, mode, thinking and way of answering."""

    route: Route
    mode: str
    thinking: str
    stream: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a cell: its replies, and what is wrong with them."""

    cell: Cell
    calls: int
    cut_off: int
    findings: tuple[Finding, ...]


def cells() -> list[Cell]:
    """List the cells that vLLM has."""
    crossed = product(Route, modes.MODES, modes.THINKING, (False, True))
    return [Cell(*cell) for cell in crossed if modes.has(cell[0], cell[1])]


async def run(
    client: Client,
    *,
    repeats: int,
    max_tokens: int,
    temperature: float,
    concurrency: int,
    wanted: Sequence[Cell] | None = None,
    expected: ReplyRules = KIMI_K2,
) -> list[Result]:
    """Send every cell's request `repeats` times, and judge what comes back.

    By `expected`, what replies of the model's format must look like.
    """
    chosen = list(wanted if wanted is not None else cells())
    jobs: list[tuple[Route, dict[str, Any]]] = []
    for cell in chosen:
        for _ in range(repeats):
            request = modes.body(cell.mode, cell.thinking, stream=cell.stream)
            jobs.append(
                (cell.route, request | {"max_tokens": max_tokens, "temperature": temperature})
            )
    replies = await client.send_all(jobs, concurrency)
    results = []
    for at, cell in enumerate(chosen):
        mine = list(zip(jobs, replies, strict=True))[at * repeats : (at + 1) * repeats]
        findings = [
            finding for (_, body), reply in mine for finding in assess(cell, body, reply, expected)
        ]
        results.append(
            Result(
                cell,
                sum(len(reply.calls) for _, reply in mine),
                sum(reply.finish_reason == "length" for _, reply in mine),
                tuple(findings),
            )
        )
    return results


def assess(
    cell: Cell, body: dict[str, Any], reply: ChatReply, expected: ReplyRules = KIMI_K2
) -> list[Finding]:
    """Judge one reply; text beside a response format must fit it or be empty."""
    # What these routes stream is put together by the client, which leaves out what was cut.
    assembled = cell.route in (Route.MESSAGES, Route.COMPLETIONS)
    seen = body | {"stream": False} if assembled else body
    if cell.route in _ANY_ID:
        expected = replace(expected, ids=IdRule.UNIQUE)
    findings = list(judge(seen, reply, expected).findings)
    if cell.mode == "response_format" and reply.finish_reason == "stop" and not reply.calls:
        try:
            fits = json.loads(reply.content) in (1, 2)
        except ValueError:
            fits = False
        if not fits:
            findings.append(Finding(Fault.SCHEMA, f"the text is off format: {reply.content!r}"))
    return findings
