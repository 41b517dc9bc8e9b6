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
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
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

    __slots__ = ("_row", "_threads", "_turn", "_under_way")

    def __init__(self, turn: Masking) -> None:
        self._turn = turn
        # Where the next mask may be computed; None unless the last one was slow.
        self._row: npt.NDArray[np.int32] | None = None
        self._threads: Threads | None = None
        self._under_way: Future[int] | None = None

    def begin(self) -> None:
        """Have the next mask computed on another thread if it may take long."""
        if self._row is not None:
            self._threads = _threads()
            self._under_way = self._threads.submit(self._turn, self._row)

    def settle(self) -> None:
        """Wait until nobody else works on the turn; a mask that was under way is void."""
        under_way = self._begun()
        if under_way is not None:
            wait((under_way,))

    def fill(self, bitmask: Any, row: int) -> int:
        """Write the mask, here if no other thread has begun; give the ns it took, wherever it did.

        Raises what `Masking.fill` does.
        """
        under_way = self._begun()
        if under_way is None or self._row is None:
            spent = _timed(self._turn, bitmask, row)
        else:
            spent = under_way.result()
            np.copyto(_on_cpu(bitmask[row]), self._row)
        if spent < _SLOW:
            self._row = None
        elif self._row is None:
            self._row = np.empty_like(_on_cpu(bitmask[row]))
        return spent

    def _begun(self) -> Future[int] | None:
        """Give the mask that a thread has begun; one that none has is taken back."""
        under_way, self._under_way = self._under_way, None
        if under_way is None or self._threads is None or self._threads.take_back(under_way):
            return None
        return under_way

    def __del__(self) -> None:
        # A turn that is given up is not kept alive by what nobody will fetch.
        self._begun()


def _timed(turn: Masking, bitmask: Any, row: int) -> int:
    begun = perf_counter_ns()
    turn.fill(bitmask, row)
    return perf_counter_ns() - begun


def _on_cpu(target: Any) -> npt.NDArray[np.int32]:
    found: npt.NDArray[np.int32] = target if isinstance(target, np.ndarray) else target.numpy()
    return found


class Threads:
    """Computes masks, the last that was asked for first.

    vLLM fetches them in the order in which ids have come, and computes what no thread has begun: so
    the two meet in the middle, and nobody waits where there is something to do.

    Args:
        count: how many threads there are. Where a process may have no more of them, there are
            fewer, or none, and masks are computed where they are asked for.

    """

    def __init__(self, count: int) -> None:
        self._asked: dict[Future[int], tuple[Masking, npt.NDArray[np.int32]]] = {}
        # Its lock may be taken again: garbage may be collected, and turns with it, at any line.
        self._changed = threading.Condition(threading.RLock())
        with suppress(RuntimeError):
            for _ in range(count):
                threading.Thread(target=self._serve, name="enforcer-masks", daemon=True).start()

    def submit(self, turn: Masking, row: npt.NDArray[np.int32]) -> Future[int]:
        """Have a mask written into a row; gives the ns that it takes, or raises what it does."""
        found: Future[int] = Future()
        with self._changed:
            self._asked[found] = (turn, row)
            self._changed.notify()
        return found

    def take_back(self, asked: Future[int]) -> bool:
        """Ask for a mask no longer; False if a thread has begun it."""
        with self._changed:
            return self._asked.pop(asked, None) is not None

    def _serve(self) -> None:
        while True:
            self._answer()  # nothing here keeps a turn alive that has ended

    def _answer(self) -> None:
        with self._changed:
            while not self._asked:
                self._changed.wait()
            found, (turn, row) = self._asked.popitem()
        try:
            found.set_result(_timed(turn, row[np.newaxis], 0))
        except BaseException as error:  # noqa: BLE001 - theirs, whatever it is
            found.set_exception(error)


@cache
def _threads() -> Threads:
    """Give the process's threads; the one that asks for masks computes too."""
    return Threads(max(1, min(_MOST, (os.cpu_count() or 1) - 1)))
