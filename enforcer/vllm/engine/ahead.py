"""Masks that are computed before they are asked for, so that one turn's do not wait for another's.

Owns: which masks, the threads that compute them, and that nobody else works on a turn meanwhile.
Must not know: what a mask is computed from, requests.

vLLM asks for the masks of a step one after the other, up to 128 of them, in the thread that serves
every request; a mask that finds new states of its lexer takes milliseconds there. Those of turns
whose last mask did are announced when their ids have come, and once vLLM asks for the first of them
all are shared out among threads: engines that mask in machine code do so without the interpreter's
lock. Not before: turns of one tool share a lexer, and whoever takes ids would wait for a mask. All
other masks cost less than the way to a thread; and a turn that waits for others there, for their
lexer or for a processor, gains nothing by it and stays where it is asked for its masks.
"""

from __future__ import annotations

import atexit
import os
import threading
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import cache
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_SLOW = 500_000  # ns
_CROWDED = 1.5  # times what a mask works, it waits
_MOST = 8  # threads
_PATIENCE = 5.0  # seconds for a mask that is under way when the process ends


class Masking(Protocol):
    """What `Ahead` asks of a turn: its `fill`, which is not for several threads at once."""

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`."""
        ...


class Spent(NamedTuple):
    """What a mask took, in ns.

    Attributes:
        waited: until it was there.
        worked: of a processor, where it is known that it takes long.

    """

    waited: int
    worked: int


class Ahead:
    """The masks of one turn.

    Whoever works on the turn says `settle` before, and `announce` once it stands where the next
    mask will be asked for. Whoever only looks at it, and leaves it where it stands, says `pause`
    and `announce` instead.
    """

    __slots__ = ("_announced", "_gains", "_row", "_threads", "_turn")

    def __init__(self, turn: Masking) -> None:
        self._turn = turn
        # Where the next mask may be computed; None unless the last one was slow.
        self._row: npt.NDArray[np.int32] | None = None
        self._gains = True
        self._threads: Threads | None = None
        self._announced: Future[Spent] | None = None

    def announce(self) -> None:
        """Have the next mask computed on another thread, in its time, if it may take long.

        One that is there already, from before a `pause`, stays.
        """
        if self._row is not None and self._announced is None:
            self._threads = _threads()
            self._announced = self._threads.announce(self._turn, self._row)

    def settle(self) -> None:
        """Wait until nobody else works on the turn; a mask that was under way is void."""
        under_way = self._begun()
        if under_way is not None:
            wait((under_way,))

    def pause(self) -> None:
        """Wait until nobody else works on the turn; a mask that was under way is kept."""
        under_way = self._begun()
        if under_way is not None:
            wait((under_way,))
            self._announced = under_way

    def fill(self, bitmask: Any, row: int) -> Spent:
        """Write the mask, here if no other thread has begun it; say what it took from here.

        Raises what `Masking.fill` does.
        """
        asked = perf_counter_ns()
        if self._row is None:
            self._turn.fill(bitmask, row)
            waited = perf_counter_ns() - asked
            if waited >= _SLOW and self._gains:
                self._row = np.empty_like(_on_cpu(bitmask[row]))
            return Spent(waited, waited)
        under_way = self._begun()
        if self._threads is not None:
            self._threads.share_out()
        if under_way is None:
            spent = _timed(self._turn, bitmask, row)
        else:
            spent = under_way.result()
            np.copyto(_on_cpu(bitmask[row]), self._row)
        if spent.worked < _SLOW:
            self._row = None
        elif spent.waited > _CROWDED * spent.worked:
            self._row, self._gains = None, False
        return Spent(perf_counter_ns() - asked, spent.worked)

    def _begun(self) -> Future[Spent] | None:
        """Give the mask that a thread has begun; one that none has is taken back."""
        announced, self._announced = self._announced, None
        if announced is None or self._threads is None or self._threads.take_back(announced):
            return None
        return announced

    def __del__(self) -> None:
        # A turn that is given up is not kept alive by what nobody will fetch.
        self._begun()


def _timed(turn: Masking, bitmask: Any, row: int) -> Spent:
    begun, worked = perf_counter_ns(), thread_time_ns()
    turn.fill(bitmask, row)
    return Spent(perf_counter_ns() - begun, thread_time_ns() - worked)


def _on_cpu(target: Any) -> npt.NDArray[np.int32]:
    found: npt.NDArray[np.int32] = target if isinstance(target, np.ndarray) else target.numpy()
    return found


class Threads:
    """Computes masks that are shared out, the last that was announced first.

    vLLM fetches them in the order in which ids have come, and computes what no thread has begun: so
    the two meet in the middle, and nobody waits where there is something to do.

    Args:
        count: how many threads there are. Where a process may have no more of them, there are
            fewer, or none, and masks are computed where they are asked for.

    """

    def __init__(self, count: int) -> None:
        self._announced: dict[Future[Spent], tuple[Masking, npt.NDArray[np.int32]]] = {}
        self._shared_out: dict[Future[Spent], tuple[Masking, npt.NDArray[np.int32]]] = {}
        self._changed = _lock()
        self._ended = False
        self._forked = False
        self._running: list[threading.Thread] = []
        with suppress(RuntimeError):
            for _ in range(count):
                thread = threading.Thread(target=self._serve, name="enforcer-masks", daemon=True)
                thread.start()
                self._running.append(thread)

    def announce(self, turn: Masking, row: npt.NDArray[np.int32]) -> Future[Spent]:
        """Announce a mask that is to be written into a row; its future raises what it does."""
        found: Future[Spent] = Future()
        with self._changed:
            self._announced[found] = (turn, row)
        return found

    def share_out(self) -> None:
        """Have all masks that were announced computed."""
        if self._announced:
            with self._changed:
                self._changed.notify(len(self._announced))
                self._shared_out.update(self._announced)
                self._announced.clear()

    def take_back(self, mask: Future[Spent]) -> bool:
        """Ask for a mask no longer; False if a thread has begun it."""
        with self._changed:
            found = self._announced.pop(mask, None) or self._shared_out.pop(mask, None)
            return found is not None or self._forked

    def forget(self) -> None:
        """Know, in a forked child, that no thread came along, nor whoever held the lock."""
        self._changed = _lock()
        self._forked = True

    def end(self) -> None:
        """End the threads, after the masks that they are at; what is asked of them stays undone."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._running:
            thread.join(_PATIENCE)

    def _serve(self) -> None:
        while not self._ended:
            self._answer()  # nothing here keeps a turn alive that has ended

    def _answer(self) -> None:
        with self._changed:
            while not self._shared_out:
                if self._ended:
                    return
                self._changed.wait()
            mask, (turn, row) = self._shared_out.popitem()
        try:
            mask.set_result(_timed(turn, row[np.newaxis], 0))
        except BaseException as error:  # noqa: BLE001 - theirs, whatever it is
            mask.set_exception(error)


def _lock() -> threading.Condition:
    # It may be taken again: garbage may be collected, and turns with it, at any line.
    return threading.Condition(threading.RLock())


@cache
def _threads() -> Threads:
    """Give the process's threads; the one that asks for masks computes too."""
    threads = Threads(max(1, min(_MOST, len(os.sched_getaffinity(0)) - 1)))
    # A thread that comes back from machine code into an interpreter that has ended crashes it.
    atexit.register(threads.end)
    return threads


def _forget() -> None:
    """Begin anew in a forked child: turns of its parent's that it throws away still ask these."""
    if _threads.cache_info().currsize:
        _threads().forget()
    _threads.cache_clear()


os.register_at_fork(after_in_child=_forget)
