"""Worker pool for checks, scheduled by a multilevel feedback queue (Corbató 1962).

It is not known beforehand which check is slow. A check starts at the first of `LEVELS`. When it has
used that level's processor time, the kernel ends its worker, and the check starts again at the
next level, whose workers yield to those of the levels before. So a slow check delays a quick one
behind it by the first level's time, and another slow one by the second's. Each level has its own
threads, and each thread one worker at a time.

A worker that ended while idle is replaced. If a signal from outside ended it during a check (the
kernel for want of memory, an operator), the check is done again, once. If the check itself ended
its worker, by the last level's time or by its memory, the check is refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from enforcer.checking.process import Forker, NoProcess, Process, WorkerEnded
from enforcer.checking.task import TOO_MUCH_MEMORY, Task, TaskVerdict
from enforcer.checking.work import LEVELS, SECONDS, TOO_SLOW
from enforcer.errors import Busy, ConfigurationError, EnforcerError, SchemaLimit

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary

_SHARE = 4  # processors of which one is for the first level; there is one in any case
_MOST_FIRST = 4  # workers of the first level
_CLOCK = 60.0  # seconds after which a check ends, however little processor time it got
_PATIENCE = 90.0  # seconds that a caller waits, in the queue and after
_MOST, _QUEUED = 4096, 64 << 20  # checks, and their bytes, at a time
_LATE = 32  # checks that may wait at the last level: two seconds each, within the patience
_FAT = 256 << 20  # a worker that has kept more than this after a check ends
_STARTS = 3  # times that the fork server is started while signals keep ending it
# Signals that a check cannot bring upon its worker.
_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)
BUSY = "the server is busy checking the schemas of other requests; send this one again"


@dataclass(slots=True, eq=False)
class _PendingTask:
    """A task in the pool: how many callers wait for it, its level, and its worker."""

    key: Hashable
    task: Task
    waiting: int = 0
    level: int = 0
    process: Process | None = None
    future: Future[TaskVerdict] = field(default_factory=Future)


class Pool:
    """Performs tasks in worker processes; safe to use from several threads.

    No process is started before the first task, or `warm`.

    Args:
        engine: the name of the argument engine.
        vocabulary: the vocabulary to check for; an engine's limits depend on it.
        dialect, modules: as `Forker` takes them.
        looks: workers of the first level; each other level has one.
        replaced: called by a thread of the pool with the exit status (or minus the signal's
            number) of each worker that ended by no fault of a check.

    """

    def __init__(
        self,
        engine: str,
        vocabulary: Vocabulary,
        dialect: str = "",
        *,
        modules: tuple[str, ...] = (),
        looks: int | None = None,
        replaced: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._new_forker: Callable[[], Forker] = lambda: Forker(
            engine, vocabulary, dialect, modules=modules
        )
        self._forker: Forker | None = None
        self._forking = threading.Lock()
        self._replaced = replaced
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, _PendingTask] = {}
        self._queues = [SimpleQueue[_PendingTask]() for _ in LEVELS]
        looks = looks or max(1, min(len(os.sched_getaffinity(0)) // _SHARE, _MOST_FIRST))
        self._unstarted = [*range(1, len(LEVELS)), *[0] * looks]  # threads, by their levels

    def warm(self) -> None:
        """Start the threads and the first level's workers, ahead of the first check."""
        with self._lock:
            self._start_threads()

    def check(self, check: Task) -> TaskVerdict:
        """Perform a task and return its verdict; block the thread meanwhile.

        Raises:
            Busy: the queue is full, the task took too long by the clock, a signal from outside
                ended its worker twice, or the system lets no worker be started.
            ConfigurationError: the fork server ends by itself.

        """
        with self._joined(check) as job:
            return job.future.result(_PATIENCE)

    async def check_async(self, check: Task) -> TaskVerdict:
        """Perform a task and return its verdict without blocking the event loop.

        If the asyncio task is cancelled, and no other caller waits, the work is dropped or stopped.

        Raises:
            Busy, ConfigurationError: as `check` does.

        """
        with self._joined(check) as job:
            own = asyncio.wrap_future(job.future)
            own.add_done_callback(_heard)
            # Shielded: others may wait for the same.
            return await asyncio.wait_for(asyncio.shield(own), _PATIENCE)

    @contextmanager
    def _joined(self, check: Task) -> Iterator[_PendingTask]:
        """Join the callers of an equal task, or enqueue it; leave them at the end."""
        job = self._join(check)
        try:
            yield job
        except TimeoutError:
            raise Busy(BUSY) from None
        finally:
            with self._lock:
                job.waiting -= 1
                if not job.waiting:
                    self._forget(job)
                    if job.level and job.process is not None:  # the first level's is done soon
                        job.process.kill()

    def _join(self, check: Task) -> _PendingTask:
        key = check.key()
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                held = sum(one.task.size for one in self._jobs.values())
                if len(self._jobs) >= _MOST or held + check.size > _QUEUED:
                    raise Busy(BUSY)
                try:
                    self._start_threads()
                except ConfigurationError as error:
                    raise Busy(BUSY) from error
                job = self._jobs[key] = _PendingTask(key, check, waiting=1)
                self._queues[0].put(job)
            else:
                job.waiting += 1
            return job

    def _forget(self, job: _PendingTask) -> None:
        """Remove a job, so that later callers do not share it. Called with the lock held."""
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]

    def _start_threads(self) -> None:
        while self._unstarted:
            arguments = (self._unstarted[-1],)
            thread = threading.Thread(
                target=self._serve, args=arguments, name="enforcer-check", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                raise ConfigurationError("no thread can be started to check schemas") from None
            self._unstarted.pop()

    def _serve(self, level: int) -> None:
        """Perform the tasks of one level with one worker at a time; runs in its own thread."""
        process: Process | None = None
        if level == 0:
            with suppress(EnforcerError, OSError):  # the next check raises it
                process = self._fork()
        while True:
            job = self._queues[level].get()
            if not job.waiting:
                continue
            result: TaskVerdict | BaseException | None
            try:
                if process is not None and process.is_gone():
                    self._replaced(process.end())
                    process = None
                process = process or self._fork()
                process, result = self._done(job, process)
            except (OSError, NoProcess) as error:  # usually no handle or memory is left
                text = f"no schema can be checked now ({error}); send this again"
                result = Busy(text, lacks=str(error))
            except BaseException as error:  # noqa: BLE001 - the callers must get it
                result = error
            self._finish(job, result)
            # At a later level each check gets a worker whose memory no other check has used.
            if process is not None and (level or process.kept is None or process.kept > _FAT):
                process.end()
                process = None

    def _done(
        self, job: _PendingTask, process: Process, *, may_lose: bool = True
    ) -> tuple[Process, TaskVerdict | None]:
        """Perform a job's task.

        Args:
            job: the job.
            process: the worker to use.
            may_lose: whether to try once more if a signal from outside ends the worker.

        Returns:
            The worker, and the verdict; None if the task has used up its level's time.

        Raises:
            Busy: the task took too long by the clock, or its worker was ended from outside.

        """
        with self._lock:
            job.process = process
        try:
            verdict = process.ask(LEVELS[job.level], job.task, _CLOCK)
        except WorkerEnded as ended:
            status = ended.status
        else:
            if verdict is None:
                process.end()
                raise Busy(BUSY)
            return process, verdict
        finally:
            with self._lock:
                job.process = None
        if status == -signal.SIGPROF:
            is_last = job.level == len(LEVELS) - 1
            return process, TaskVerdict(_limit(TOO_SLOW), seconds=SECONDS) if is_last else None
        if status not in _BY_OTHERS:
            return process, TaskVerdict(_limit(f"{TOO_MUCH_MEMORY} (status {status})"))
        if not job.waiting:  # cancelled, and so killed by `_joined`
            raise Busy(BUSY)
        self._replaced(status)
        if not may_lose:
            raise Busy(BUSY)
        return self._done(job, self._fork(), may_lose=False)

    def _finish(self, job: _PendingTask, result: TaskVerdict | BaseException | None) -> None:
        if result is None:
            job.level += 1
            later = self._queues[job.level]
            if job.level < len(LEVELS) - 1 or later.qsize() < _LATE:
                later.put(job)
                return
            result = Busy(BUSY)
        with self._lock:
            self._forget(job)
        if isinstance(result, TaskVerdict):
            job.future.set_result(result)
        else:
            job.future.set_exception(result)

    def _fork(self) -> Process:
        """Start a worker, and first the fork server if it does not run.

        Raises:
            NoProcess: the fork server cannot be started, or was ended `_STARTS` times.

        """
        with self._forking:
            started = 0
            while True:
                try:
                    if self._forker is None:
                        started += 1
                        self._forker = self._new_forker()
                    return self._forker.start()
                except NoProcess as error:
                    self._forker = None
                    if not error.status or started == _STARTS:
                        raise
                    if started:  # an idle fork server that ended is noticed by its workers
                        self._replaced(error.status)


def _limit(reason: str) -> SchemaLimit:
    return SchemaLimit.of("$", "", reason)


def _heard(future: asyncio.Future[TaskVerdict]) -> None:
    """Retrieve the exception of a future, lest asyncio log that it was never retrieved."""
    if not future.cancelled():
        future.exception()
