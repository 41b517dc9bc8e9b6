"""A walk of one text through one engine, with the processor time of each mask and each accept.

Times are of the thread's processor, less what reading that clock takes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_READINGS = 2000


class Walk:
    """One text: what fills the row of the next token, and what accepts a token."""

    def __init__(self, fill: Callable[[], object], accept: Callable[[int], bool]) -> None:
        self.fill, self.accept = fill, accept


def clock_cost() -> float:
    """Return the microseconds that two readings of the clock take."""
    found = []
    for _ in range(_READINGS):
        begun = time.thread_time_ns()
        found.append(time.thread_time_ns() - begun)
    return float(np.median(found)) / 1e3


def follow(walk: Walk, ids: Sequence[int], clock: float) -> tuple[list[float], list[float]] | None:
    """Return the microseconds of each mask and of each accept; None if a token is refused."""
    masks, accepts = [], []
    for token_id in ids:
        begun = time.thread_time_ns()
        walk.fill()
        filled = time.thread_time_ns()
        taken = walk.accept(token_id)
        accepted = time.thread_time_ns()
        if not taken:
            return None
        masks.append((filled - begun) / 1e3 - clock)
        accepts.append((accepted - filled) / 1e3 - clock)
    return masks, accepts


def statistics(times: Sequence[float]) -> str:
    """Write the mean, the median and the 99th percentile."""
    return f"{np.mean(times):.1f} / {np.median(times):.1f} / {np.percentile(times, 99):.1f}"
