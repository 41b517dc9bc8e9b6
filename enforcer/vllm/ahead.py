"""Masks that are computed before they are asked for, so that one turn's do not wait for another's.

Owns: which masks, the threads that compute them, and that nobody else works on a turn meanwhile.
Must not know: what a mask is computed from, requests.

vLLM asks for the masks of a step one after the other, up to 128 of them, in the thread that serves
every request; a mask that finds new states of its lexer takes milliseconds there. A turn whose last
mask did has the next one begun on another thread as soon as its ids have come, beside the model's
own step and the masks of other turns: engines that mask in machine code do so without the
interpreter's lock. All other masks cost less than the way to a thread.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Future

    import numpy.typing as npt

_SLOW = 500_000  # ns
_MOST = 8  # threads


class Masking(Protocol):
    """What `Ahead` asks of a turn: its `fill`, which is not for several threads at once."""

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`."""
        ...


class Ahead:
    """The masks of one turn.

    Whoever works on the turn says `settle` before, and `begin` once it stands where the next mask
    will be asked for.
    """

    __slots__ = ("_row", "_turn", "_under_way")

    def __init__(self, turn: Masking) -> None:
        self._turn = turn
        # Where the next mask may be computed; None unless the last one was slow.
        self._row: npt.NDArray[np.int32] | None = None
        self._under_way: Future[int] | None = None

    def begin(self) -> None:
        """Have the next mask computed on another thread if it may take long."""
        if self._row is not None:
            self._under_way = _threads().submit(_timed, self._turn, self._row[np.newaxis], 0)

    def settle(self) -> None:
        """Wait until nobody else works on the turn; a mask that was under way is void."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None and not under_way.cancel():
            wait((under_way,))

    def fill(self, bitmask: Any, row: int) -> int:
        """Write the mask, here if no other thread has begun; give the ns it took, wherever it did.

        Raises what `Masking.fill` does.
        """
        under_way, self._under_way = self._under_way, None
        if under_way is None or self._row is None or under_way.cancel():
            spent = _timed(self._turn, bitmask, row)
        else:
            spent = under_way.result()
            np.copyto(_on_cpu(bitmask[row]), self._row)
        if spent < _SLOW:
            self._row = None
        elif self._row is None:
            self._row = np.empty_like(_on_cpu(bitmask[row]))
        return spent


def _timed(turn: Masking, bitmask: Any, row: int) -> int:
    begun = perf_counter_ns()
    turn.fill(bitmask, row)
    return perf_counter_ns() - begun


def _on_cpu(target: Any) -> npt.NDArray[np.int32]:
    found: npt.NDArray[np.int32] = target if isinstance(target, np.ndarray) else target.numpy()
    return found


@cache
def _threads() -> ThreadPoolExecutor:
    """Give the process's threads; the one that asks for masks computes what they have not begun."""
    others = (os.cpu_count() or 1) - 1
    return ThreadPoolExecutor(max(1, min(_MOST, others)), "enforcer-masks")
