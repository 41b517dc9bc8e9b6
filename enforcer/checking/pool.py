"""A few worker processes, and who is served by them next.

Owns: the queue, that a check which several wait for is done once, that slow checks leave room
for others, and what a worker's end means. Must not know: what is checked, what verdicts are
used for.

Nobody can tell beforehand which check is slow. So each begins at once on a free worker, and
after a first look (a quarter of a second of processor time) it counts as slow: only one slow
check at a time goes on, the others are paused. The last worker is never left to a slow check:
it is stopped there, and whoever waits is told to come again.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcer.checking.process import Ended, Forker, Process
from enforcer.checking.work import SECONDS, TOO_MUCH_MEMORY, Verdict
from enforcer.errors import Busy, ConfigurationError, Problem, SchemaLimit

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.checking.work import Check

_LOOK = 0.25  # seconds of processor time until a check counts as slow
_CLOCK = 20.0  # seconds after which a slow check is given up, however little time it got
_PATIENCE = 30.0  # seconds that anybody waits, in the queue and after
_IDLE = 60.0  # seconds after which a worker that is not needed ends
_SPARE = 2  # workers that are kept: one may be at a slow check
_FAT = 256 << 20  # a worker that has kept more than this after a check ends
_TOO_SLOW = (
    f"checking this schema takes over {SECONDS:g} seconds of processor time; give it fewer "
    "alternatives, overlapping patterns or nested counts"
)
_BUSY = "the server is busy checking the schemas of other requests; send this one again"


@dataclass(slots=True, eq=False)
class _Job:
    key: Hashable
    data: bytes
    waiting: int = 0
    begun: bool = False
    future: Future[Verdict] = field(default_factory=Future)


class Pool:
    """Checks schemas in worker processes of an engine; safe to use from several threads.

    No process is started before the first check, or `warm`.

    Args:
        engine: the name of the argument engine.
        workers: how many processes there may be; at least two.
        queue: how many checks may wait for one.

    """

    def __init__(self, engine: str, *, workers: int = 6, queue: int = 64) -> None:
        self._engine = engine
        self._workers = workers
        self._most = queue
        self._changed = threading.Condition()
        self._queue: deque[_Job] = deque()
        self._jobs: dict[Hashable, _Job] = {}
        self._threads = 0
        self._idle = 0
        self._slow = 0
        self._forking = threading.Lock()
        self._forker: Forker | None = None
        self._turn = threading.Lock()  # held by the slow check that goes on

    def warm(self) -> None:
        """Start the workers that are kept, so that the first checks need not wait for them."""
        with self._changed:
            while self._threads < _SPARE:
                self._start_thread()

    def check(self, check: Check) -> Verdict:
        """Wait for a verdict; blocks the thread.

        Raises:
            Busy: there is no room now, or it took too long by the clock.
            ConfigurationError: no worker can be started.

        """
        job = self._join(check)
        try:
            return job.future.result(_PATIENCE)
        except TimeoutError:
            raise Busy(_BUSY) from None
        finally:
            self._leave(job)

    async def check_async(self, check: Check) -> Verdict:
        """Wait for a verdict without blocking the event loop; raises as `check` does.

        If the task is cancelled, and nobody else waits for that check, it is dropped unless it
        has begun.
        """
        job = self._join(check)
        try:
            # Shielded: others may wait for the same.
            shared = asyncio.shield(asyncio.wrap_future(job.future))
            return await asyncio.wait_for(shared, _PATIENCE)
        except TimeoutError:
            raise Busy(_BUSY) from None
        finally:
            self._leave(job)

    def _join(self, check: Check) -> _Job:
        key = check.key()
        with self._changed:
            job = self._jobs.get(key)
            if job is None:
                if len(self._queue) >= self._most:
                    raise Busy(_BUSY)
                job = self._jobs[key] = _Job(key, check.to_json())
                self._queue.append(job)
                if len(self._queue) > self._idle and self._threads < self._workers:
                    self._start_thread()
                self._changed.notify()
            job.waiting += 1
            return job

    def _leave(self, job: _Job) -> None:
        with self._changed:
            job.waiting -= 1
            if not job.waiting and not job.begun:
                self._queue.remove(job)
                del self._jobs[job.key]

    def _start_thread(self) -> None:
        keeps = self._threads < _SPARE
        self._threads += 1
        thread = threading.Thread(
            target=self._serve, args=(keeps,), name="enforcer-check", daemon=True
        )
        thread.start()

    def _serve(self, keeps: bool) -> None:  # noqa: FBT001 - a thread's argument
        """Serve with one worker at a time; a thread of its own, which may be one that stays."""
        process: Process | None = None
        if keeps:
            with suppress(ConfigurationError):  # the next who asks hears of it
                process = self._fork(starts=True)
        while (job := self._next(keeps)) is not None:
            try:
                process = process or self._fork(starts=keeps)
                verdict = self._done(job, process)
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                self._finish(job, error)
                fit = False
            else:
                self._finish(job, verdict)
                fit = not process.ended and process.memory() < _FAT
            if process is not None and not fit:
                _end(process)
                process = None
        if process is not None:
            _end(process)

    def _fork(self, *, starts: bool) -> Process:
        """Start a worker; what forks it is started by a thread that stays, as it must be."""
        with self._forking:
            if self._forker is not None:
                try:
                    return self._forker.start()
                except ConfigurationError:
                    self._forker = None
            if not starts:
                raise Busy(_BUSY)
            self._forker = Forker(self._engine)
            return self._forker.start()

    def _next(self, keeps: bool) -> _Job | None:  # noqa: FBT001
        """Wait for a job; None where this thread is not needed any more."""
        with self._changed:
            self._idle += 1
            try:
                while not self._queue:
                    if not self._changed.wait(_IDLE) and not keeps and not self._queue:
                        self._threads -= 1
                        return None
                job = self._queue.popleft()
                job.begun = True
                return job
            finally:
                self._idle -= 1

    def _finish(self, job: _Job, result: Verdict | BaseException) -> None:
        with self._changed:
            del self._jobs[job.key]
        if isinstance(result, Verdict):
            job.future.set_result(result)
        else:
            job.future.set_exception(result)

    def _done(self, job: _Job, process: Process) -> Verdict:
        try:
            before = process.seconds()
            process.send(job.data)
            reply = process.receive(_LOOK)
            while reply is None and process.seconds() < before + _LOOK:
                reply = process.receive(_LOOK)  # it has had to wait for a processor
            if reply is None:
                reply = self._slowly(process)
        except Ended as ended:
            return _explained(ended)
        return Verdict.from_json(reply)

    def _slowly(self, process: Process) -> bytes:
        """Wait for a check that is slow."""
        with self._changed:
            if self._slow >= self._workers - 1:
                raise Busy(_BUSY)
            self._slow += 1
        try:
            if not self._turn.acquire(blocking=False):
                process.pause()
                self._turn.acquire()
                process.resume()
            try:
                reply = process.receive(_CLOCK)
            finally:
                self._turn.release()
        finally:
            with self._changed:
                self._slow -= 1
        if reply is None:
            raise Busy(_BUSY)
        return reply


def _end(process: Process) -> None:
    if not process.ended:
        with suppress(ConfigurationError):  # then it has ended with what forked it
            process.end()


def _explained(ended: Ended) -> Verdict:
    """Say what a worker's end means for the schema that it was checking."""
    if ended.status == -signal.SIGPROF:
        return Verdict(SchemaLimit((Problem("$", "", _TOO_SLOW),)), seconds=SECONDS)
    return Verdict(SchemaLimit((Problem("$", "", f"{TOO_MUCH_MEMORY} ({ended})"),)))
