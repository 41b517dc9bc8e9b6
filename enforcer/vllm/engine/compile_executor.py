"""Thread pools of the engine process that make turns ready: the scheduler's thread never compiles.

Slow work (a schema that has not been seen, and is not small and plain) is done in steps on threads
of its own, a step of each request by turn: one with a hundred large schemas delays one that has a
single schema by a step. All other work is done in the order of arrival. The scheduler's thread has
precedence over these threads, which soon release the interpreter, needed at every step, and the
processor, where there are few.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

_LONG = 2  # threads: while one works very long, the other serves the rest
# Niceness above the scheduler's: with more of it the scheduler's thread waits longer for one that
# has the interpreter and no processor; with none, a neighbour's gaps are longer (decision 0026).
_LESS_URGENT = 5
# Seconds after which a thread releases the interpreter where another waits for it. Python's 5 ms
# are waited for whenever the scheduler's thread has released it (decision 0026).
_INTERVAL = 1e-4


class _SteppedWork(NamedTuple):
    """Work in steps.

    Attributes:
        steps: a generator whose result is the future's; one step each time it is resumed.
        wanted: whether the result is still wanted.
        future: where the result goes.

    """

    steps: Generator[None, None, Any]
    wanted: Callable[[], bool]
    future: Future[Any]


class CompileExecutor:
    """A thread for fast work, and others for slow work."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(1, "enforcer-short")
        self._long = ThreadPoolExecutor(_LONG, "enforcer-long", _make_way)
        self._lock = threading.Lock()
        self._working = 0  # threads
        self._interval = sys.getswitchinterval()
        # Start the threads now: a process may be allowed no more when a request comes.
        for pool in (self._short, self._long):
            pool.submit(int)

    def short(self, work: Callable[[], object]) -> None:
        """Submit fast work; its exceptions are left to the user of its result."""
        self._short.submit(self._give_way, work)

    def begin(
        self, steps: Generator[None, None, Any], wanted: Callable[[], bool], *, here: bool = False
    ) -> Future[Any]:
        """Submit work in steps; the future has its result.

        Args:
            steps: what comes before the first `yield` is fast, the rest may be slow.
            wanted: asked before each step; once it is false, the future is cancelled.
            here: whether the first step costs less than waking a thread for it.

        """
        job = _SteppedWork(steps, wanted, Future())
        if here:
            self._step(job)
        else:
            self.short(partial(self._step, job))
        return job.future

    def _step(self, job: _SteppedWork) -> None:
        """Do one step of slow work; submit the next one, or set the result or exception."""
        if not job.wanted():
            job.steps.close()
            job.future.cancel()
            return
        try:
            next(job.steps)
        except StopIteration as end:
            job.future.set_result(end.value)
        except BaseException as error:  # noqa: BLE001 - the request's own, whatever it is
            job.future.set_exception(error)
        else:
            with suppress(RuntimeError):  # no second thread: the first one will come to it
                self._long.submit(self._give_way, partial(self._step, job))

    def _give_way(self, work: Callable[[], object]) -> None:
        """Work on a thread of ours; meanwhile, all threads release the interpreter sooner."""
        with self._lock:
            self._working += 1
            sys.setswitchinterval(min(self._interval, _INTERVAL))
        try:
            work()
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    sys.setswitchinterval(self._interval)


def _make_way() -> None:
    """Have the kernel prefer the process's other threads to this one."""
    if sys.platform != "linux":  # only there threads have their own niceness
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # forbidden by a sandbox: then it competes as it would without
        own = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, own + _LESS_URGENT)


def fill_in_one_thread(executor: Executor | None, is_ours: Callable[[Any], bool]) -> None:
    """Have vLLM's executor fill batches of our masks in the calling thread.

    vLLM hands a step of more than 128 structured requests to as many as eight threads, in batches
    of sixteen. A mask of ours takes a microsecond or two of Python: eight threads that pass the
    interpreter's lock to each other for it need up to five times as long as one.

    Args:
        executor: that of a `StructuredOutputManager` for its masks; an engine for 128 sequences or
            fewer has none.
        is_ours: returns whether a grammar is enforced by us.

    """
    if executor is None:
        return
    submit = executor.submit

    def _submit(fill: Callable[..., Any], batch: Sequence[Any]) -> Future[Any]:
        if not all(is_ours(each[0]) for each in batch):
            return submit(fill, batch)
        done: Future[Any] = Future()
        done.set_result(fill(batch))  # raises what waiting for the future would
        return done

    vars(executor)["submit"] = _submit
