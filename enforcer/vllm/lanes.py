"""The threads on which turns are made ready, so that the scheduler's never compiles.

Owns: who goes first. What takes long (a schema that has not been seen, and is not small and
plain) is done in steps on a thread of its own, and the request that has used least of it
goes first: one that brings a hundred large schemas delays nobody who brings one. All else
is done in the order it comes. Must not know: what is compiled.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


_LONG = 2  # threads: one that takes very long leaves the other to the rest


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


class Lanes:
    """A thread for what is short, and others for what may take long."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(1, "enforcer-short")
        self._long = ThreadPoolExecutor(_LONG, "enforcer-long")
        self._lock = threading.Lock()
        self._waiting: list[_Job] = []
        self._counter = itertools.count()

    def short(self, what: Callable[[], object]) -> None:
        """Have something done soon; what it raises is left to whoever needs its result."""
        self._short.submit(what)

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
            next(job.steps)
        except StopIteration as end:
            job.future.set_result(end.value)
        except BaseException as error:  # noqa: BLE001 - the request's own, whatever it is
            job.future.set_exception(error)
        else:
            job.spent += perf_counter_ns() - begun
            with self._lock:
                heapq.heappush(self._waiting, job)
            self._long.submit(self._next)

    def _next(self) -> None:
        with self._lock:
            job = heapq.heappop(self._waiting)
        self._step(job)
