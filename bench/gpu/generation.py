"""The tiny model by transformers' `generate` on a device, without the Enforcer and with it.

Owns: what is generated and counted. Must not know: how a turn is judged.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.demo.tiny_model.judge import BAD_CALL, Failure, failures
from bench.demo.tiny_model.measure import turns
from bench.demo.tiny_model.requests import generate
from bench.demo.tiny_model.train import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

_SEED = 7


@dataclass(frozen=True, slots=True)
class Turns:
    """What came of some requests, sampled at temperature 1.

    Attributes:
        name: of the way.
        total: how many.
        bad: those with a call that is undeclared, invalid or malformed.
        cut_off: those that were too long.
        seconds: for all, the start of the model included.

    """

    name: str
    total: int
    bad: int
    cut_off: int
    seconds: float


def measure(device: str, count: int, *, enforced: bool) -> Turns:
    """Generate, and judge.

    Args:
        device: torch's name of it.
        count: of requests; the same ones in either way.
        enforced: whether the logits processor masks.

    """
    bodies = [request.body for request in generate(count, seed=_SEED)]
    begun = time.perf_counter()
    texts = turns(FOLDER, bodies, 1.0, _SEED, device=device, enforced=enforced)
    seconds = time.perf_counter() - begun
    judged = [failures(body, text) for body, text in zip(bodies, texts, strict=True)]
    return Turns(
        "Enforcer" if enforced else "transformers",
        count,
        sum(bool(found & BAD_CALL) for found in judged),
        sum(Failure.UNFINISHED in found for found in judged),
        seconds,
    )


def table(ways: Iterable[Turns]) -> str:
    """Write the figures as a table of Markdown."""
    lines = ["| by | turns | bad calls | cut off | seconds |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {each.name} | {each.total} | {each.bad} | {each.cut_off} | {each.seconds:.1f} |"
        for each in ways
    ]
    return "\n".join(lines)
