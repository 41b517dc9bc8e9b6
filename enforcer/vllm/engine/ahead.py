"""Slow bitmasks of a step, computed on threads side by side.

vLLM asks for the masks of a step one after the other, up to 128 of them, in the thread that serves
every request. A mask that finds new states of its lexer takes milliseconds. A turn whose last mask
did announces the next one when its tokens have come; once vLLM asks for the first of the announced
masks all are submitted to threads, as the engines release the interpreter's lock. Not before: turns
of one tool share a lexer, and `accept_tokens` would wait for a mask. All other masks cost less than
the way to a thread, and a turn that waits there for its lexer or a processor gains nothing.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

_SLOW = 500_000  # ns
_CROWDED = 1.5  # a mask's wall-clock time as a multiple of its processor time
_MOST = 8  # threads


class Spent(NamedTuple):
    """The time of a mask, in ns.

    Attributes:
        waited: by the clock, of the thread that asked for it.
        worked: of a processor, where it is known that it takes long.

    """

    waited: int
    worked: int


class Ahead:
    """The masks of one turn.

    Call `settle` before anything is done with the turn, and `announce` once the next mask will be
    asked for where it stands.

    Args:
        fill: writes the turn's mask; see `Matcher.fill`. Never called by two threads at once.

    """

    __slots__ = ("__weakref__", "_announced", "_fill", "_gains", "_row")

    def __init__(self, fill: Callable[[Any, int], None]) -> None:
        self._fill = fill
        # Where the next mask may be computed; None unless the last one was slow.
        self._row: npt.NDArray[np.int32] | None = None
        self._gains = True
        self._announced: Future[Spent] | None = None

    def announce(self) -> None:
        """Have the next mask computed on a thread if it may be slow."""
        if self._row is not None:
            self._announced = Future()
            _announced.append((self._announced, ref(self), self._row))

    def settle(self) -> None:
        """Wait until no thread works on the turn; a mask that was begun is void."""
        if self._announced is not None and not self._announced.cancel():
            wait((self._announced,))
        self._announced = None

    def fill(self, bitmask: Any, row: int) -> Spent:
        """Write the mask, here if no other thread has begun it; return the time from here.

        Raises what the turn's `fill` does.
        """
        asked = perf_counter_ns()
        if self._row is None:
            self._fill(bitmask, row)
            waited = perf_counter_ns() - asked
            if waited >= _SLOW and self._gains:
                self._row = np.empty_like(_on_cpu(bitmask[row]))
            return Spent(waited, waited)
        begun, self._announced = self._announced, None
        if begun is not None and begun.cancel():
            begun = None
        _submit()
        if begun is None:
            spent = self.timed(bitmask, row)
        else:
            spent = begun.result()
            np.copyto(_on_cpu(bitmask[row]), self._row)
        if spent.worked < _SLOW:
            self._row = None
        elif spent.waited > _CROWDED * spent.worked:
            self._row, self._gains = None, False
        return Spent(perf_counter_ns() - asked, spent.worked)

    def timed(self, bitmask: Any, row: int) -> Spent:
        """Write the mask; return its time."""
        begun, worked = perf_counter_ns(), thread_time_ns()
        self._fill(bitmask, row)
        return Spent(perf_counter_ns() - begun, thread_time_ns() - worked)


def _on_cpu(target: Any) -> npt.NDArray[np.int32]:
    found: npt.NDArray[np.int32] = target if isinstance(target, np.ndarray) else target.numpy()
    return found


_announced: deque[tuple[Future[Spent], ref[Ahead], npt.NDArray[np.int32]]] = deque()


def _submit() -> None:
    """Submit the announced masks, the last one first.

    vLLM fetches them in the order of their tokens, and computes those that no thread has begun: so
    the two meet in the middle. Without a thread, all are computed where they are asked for.
    """
    with suppress(IndexError, RuntimeError):  # emptied by another thread; no more threads
        while True:
            mask, masks, row = _announced.pop()
            if not mask.cancelled() and (pool := _pool()) is not None:
                pool.submit(_serve, mask, masks, row)


def _serve(mask: Future[Spent], of: ref[Ahead], row: npt.NDArray[np.int32]) -> None:
    """Compute a mask, on a thread, unless it is no longer asked for."""
    masks = of()
    if masks is None or not mask.set_running_or_notify_cancel():
        return
    try:
        mask.set_result(masks.timed(row[np.newaxis], 0))
    except BaseException as error:  # noqa: BLE001 - raised where the mask is asked for
        mask.set_exception(error)


@cache
def _pool() -> ThreadPoolExecutor | None:
    """Return the process's threads; None where it may have none."""
    # A process waits for them as it ends: one that came back from machine code would crash it.
    pool = ThreadPoolExecutor(
        max(1, min(_MOST, len(os.sched_getaffinity(0)) - 1)), "enforcer-masks"
    )
    try:
        pool.submit(int)
    except RuntimeError:
        return None
    return pool


def _forget() -> None:
    """Begin anew in a forked child, which has none of its parent's threads."""
    _announced.clear()
    _pool.cache_clear()


os.register_at_fork(after_in_child=_forget)
