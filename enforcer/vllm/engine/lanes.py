"""The threads on which turns are made ready, so that the scheduler's never compiles.

Owns: who goes first. What takes long (a schema that has not been seen, and is not small and
plain) is done in steps on a thread of its own, and the request that has used least of it
goes first: one that brings a hundred large schemas delays nobody who brings one. All else
is done in the order it comes. And that the scheduler's thread comes first: how soon these let go
of the interpreter, which it needs at every step, and of a processor, where there are too few.
Must not know: what is compiled.
"""

from __future__ import annotations

import heapq
import itertools
import os
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


_LONG = 2  # threads: one that takes very long leaves the other to the rest
# Niceness above the scheduler's: a quarter of a processor that both want. With more of it the
# scheduler's thread waits longer for one that has the interpreter and no processor; with none, two
# large schemas take most of a machine that has two (`python -m bench.neighbours`).
_LESS_URGENT = 5
# Seconds after which a thread lets go of the interpreter where another waits for it. Python's 5 ms
# are waited for whenever the scheduler's thread has let go of it: `python -m bench.giving_way`.
_INTERVAL = 1e-4


@dataclass(order=True, slots=True)
class _Job:
    """Work in steps.

    Attributes:
        spent: nanoseconds that its steps have taken.
        at: place in the order of coming.
        steps: a generator whose result is the future's; one step each time it is resumed.
        wanted: whether the result is still wanted.
        future: where the result goes.

    """

    spent: int
    at: int
    steps: Generator[None, None, Any] = field(compare=False)
    wanted: Callable[[], bool] = field(compare=False)
    future: Future[Any] = field(compare=False)


class _GivingWay:
    """Has all threads let go of the interpreter sooner while any of ours is at work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._usual = sys.getswitchinterval()

    def __enter__(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _INTERVAL))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)

    def forget(self) -> None:
        """Begin anew in a forked child, where nobody is at work."""
        self._lock = threading.Lock()
        if self._working:
            self._working = 0
            sys.setswitchinterval(self._usual)


giving_way = _GivingWay()
os.register_at_fork(after_in_child=giving_way.forget)


class Lanes:
    """A thread for what is short, and others for what may take long."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(1, "enforcer-short")
        self._long = ThreadPoolExecutor(_LONG, "enforcer-long", _make_way)
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        self._counter = itertools.count()
        # There from the start: a process that may have no more threads when a request comes
        # does with these.
        for lane in (self._short, self._long):
            lane.submit(_nothing)

    def short(self, what: Callable[[], object]) -> None:
        """Have something done soon; what it raises is left to whoever needs its result."""
        self._short.submit(_beside, what)

    def begin(self, steps: Generator[None, None, Any], wanted: Callable[[], bool]) -> Future[Any]:
        """Take steps until the last one has given a result.

        Args:
            steps: what comes before the first `yield` is short, the rest may take long.
            wanted: asked before each step; once it says no, the future is cancelled.

        """
        job = _Job(0, next(self._counter), steps, wanted, Future())
        self._short.submit(self._step, job)
        return job.future

    def close(self) -> None:
        """Let the steps under way end, and take no more."""
        for lane in (self._short, self._long):
            lane.shutdown(wait=False, cancel_futures=True)

    def _step(self, job: _Job) -> None:
        if not job.wanted():
            job.steps.close()
            job.future.cancel()
            return
        begun = perf_counter_ns()
        try:
            with giving_way:
                next(job.steps)
        except StopIteration as end:
            job.future.set_result(end.value)
        except BaseException as error:  # noqa: BLE001 - the request's own, whatever it is
            job.future.set_exception(error)
        else:
            job.spent += perf_counter_ns() - begun
            with self._lock:
                heapq.heappush(self._waiting, job)
            with suppress(RuntimeError):  # no second thread: the first one will come to it
                self._long.submit(self._next)

    def _next(self) -> None:
        with self._lock:
            job = heapq.heappop(self._waiting)
        self._step(job)


def _make_way() -> None:
    """Have the kernel prefer the process's other threads to this one."""
    if sys.platform != "linux":  # where a thread has a niceness of its own
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # forbidden by a sandbox: then it competes as it would without
        own = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, own + _LESS_URGENT)


def _beside(what: Callable[[], object]) -> None:
    with giving_way:
        what()


def _nothing() -> None:
    """Take a thread."""
