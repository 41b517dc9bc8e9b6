"""Worker processes in which checks are done, and the threads that wait for them.

Nobody can tell beforehand which check is slow, so processor time is shared out by a multilevel
feedback queue (Corbató's). A check begins at the first of `LEVELS`. The kernel ends its worker when
it has had that level's time, and it is begun anew at the next level, whose workers yield to those
of the levels before. So a slow check costs a quick one behind it the first level's time, and
another slow one the second's. Each level has its own threads, and each thread one worker at a time.

A worker that has ended while it was idle is replaced. If somebody else has ended it in the middle
of a check (the kernel for want of memory, an operator), the check is done again, once. If a check
has ended its worker, by the last level's time or by its memory, the check is refused.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from enforcer.checking.process import Ended, Forker, NoProcess
from enforcer.checking.verdict import Verdict
from enforcer.checking.work import LEVELS, SECONDS, TOO_MUCH_MEMORY, TOO_SLOW
from enforcer.errors import Busy, ConfigurationError, EnforcerError, SchemaLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from enforcer.checking.beginning import Asked
    from enforcer.checking.process import Process
    from enforcer.vocabulary import Vocabulary

_SHARE = 4  # processors of which one is for the first level; there is one in any case
_MOST_FIRST = 4  # workers of the first level
_CLOCK = 60.0  # seconds after which a check ends, however little processor time it got
_PATIENCE = 90.0  # seconds that anybody waits, in the queue and after
_MOST, _QUEUED = 4096, 64 << 20  # checks, and their bytes, at a time
_LATE = 32  # checks that may wait at the last level: two seconds each, within the patience
_FAT = 256 << 20  # a worker that has kept more than this after a check ends
_STARTS = 3  # times that what forks workers is started while somebody else keeps ending it
# Signals that a check cannot bring upon its worker.
_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)
BUSY = "the server is busy checking the schemas of other requests; send this one again"


@dataclass(slots=True, eq=False)
class _Job:
    """A check, how many wait for it, and what is doing it."""

    key: Hashable
    asked: Asked
    waiting: int = 0
    level: int = 0
    process: Process | None = None
    future: Future[Verdict] = field(default_factory=Future)


class Pool:
    """Checks schemas in worker processes of an engine; safe to use from several threads.

    No process is started before the first check, or `warm`.

    Args:
        engine: the name of the argument engine.
        vocabulary: what it is to be checked for: what is too much for an engine depends on it.
        dialect, in_time, modules: as `Forker` takes them.
        looks: workers of the first level; each other level has one.
        replaced: called, by a thread of the pool, with the exit status (less than zero: minus the
            signal's) of each worker that has ended by no fault of a check.

    """

    def __init__(
        self,
        engine: str,
        vocabulary: Vocabulary,
        dialect: str = "",
        *,
        in_time: bool = False,
        modules: tuple[str, ...] = (),
        looks: int | None = None,
        replaced: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._new_forker: Callable[[], Forker] = lambda: Forker(
            engine, vocabulary, dialect, in_time=in_time, modules=modules
        )
        self._forker: Forker | None = None
        self._forking = threading.Lock()
        self._replaced = replaced
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, _Job] = {}
        self._queues = [SimpleQueue[_Job]() for _ in LEVELS]
        looks = looks or max(1, min(len(os.sched_getaffinity(0)) // _SHARE, _MOST_FIRST))
        self._unstarted = [*range(1, len(LEVELS)), *[0] * looks]  # threads, by their levels

    def warm(self) -> None:
        """Start the first level's workers, so that the first checks need not wait for them."""
        with self._lock:
            self._start_threads()

    def check(self, check: Asked) -> Verdict:
        """Wait for a verdict; blocks the thread.

        Raises:
            Busy: there is no room now, it took too long by the clock, somebody else has ended its
                worker twice, or the system lets no worker be started.
            ConfigurationError: what is to fork workers ends by itself.

        """
        with self._joined(check) as job:
            return job.future.result(_PATIENCE)

    async def check_async(self, check: Asked) -> Verdict:
        """Wait for a verdict without blocking the event loop; raises as `check` does.

        If the task is cancelled, and nobody else waits for that check, it is dropped or stopped.
        """
        with self._joined(check) as job:
            own = asyncio.wrap_future(job.future)
            own.add_done_callback(_heard)
            # Shielded: others may wait for the same.
            return await asyncio.wait_for(asyncio.shield(own), _PATIENCE)

    @contextmanager
    def _joined(self, check: Asked) -> Iterator[_Job]:
        """Wait for a check, with those who wait for the same."""
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

    def _join(self, check: Asked) -> _Job:
        key = check.key()
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                held = sum(one.asked.size for one in self._jobs.values())
                if len(self._jobs) >= _MOST or held + check.size > _QUEUED:
                    raise Busy(BUSY)
                try:
                    self._start_threads()
                except ConfigurationError as error:
                    raise Busy(BUSY) from error
                job = self._jobs[key] = _Job(key, check, waiting=1)
                self._queues[0].put(job)
            else:
                job.waiting += 1
            return job

    def _forget(self, job: _Job) -> None:
        """Let whoever asks the same from now on not share it. Called with the lock held."""
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
        """Do the checks of one level with one worker at a time; a thread of its own."""
        process: Process | None = None
        if level == 0:
            with suppress(EnforcerError, OSError):  # the next who asks hears of it
                process = self._fork()
        while True:
            job = self._queues[level].get()
            if not job.waiting:
                continue
            result: Verdict | BaseException | None
            try:
                if process is not None and process.is_gone():
                    self._replaced(process.end())
                    process = None
                process = process or self._fork()
                process, result = self._done(job, process)
            except (OSError, NoProcess) as error:  # as a rule, no handle or no memory is left
                text = f"no schema can be checked now ({error}); send this again"
                result = Busy(text, lacks=str(error))
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                result = error
            self._finish(job, result)
            # The next one of a later level is to have a worker that others' checks have not fed.
            if process is not None and (level or process.kept is None or process.kept > _FAT):
                process.end()
                process = None

    def _done(
        self, job: _Job, process: Process, *, may_lose: bool = True
    ) -> tuple[Process, Verdict | None]:
        """Have a check done; None where it has used up its level's time."""
        with self._lock:
            job.process = process
        try:
            verdict = process.ask(LEVELS[job.level], job.asked, _CLOCK)
        except Ended as ended:
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
            return process, Verdict(_limit(TOO_SLOW), seconds=SECONDS) if is_last else None
        if status not in _BY_OTHERS:
            return process, Verdict(_limit(f"{TOO_MUCH_MEMORY} (status {status})"))
        if not job.waiting:  # and so ended here
            raise Busy(BUSY)
        self._replaced(status)
        if not may_lose:
            raise Busy(BUSY)
        return self._done(job, self._fork(), may_lose=False)

    def _finish(self, job: _Job, result: Verdict | BaseException | None) -> None:
        if result is None:
            job.level += 1
            later = self._queues[job.level]
            if job.level < len(LEVELS) - 1 or later.qsize() < _LATE:
                later.put(job)
                return
            result = Busy(BUSY)
        with self._lock:
            self._forget(job)
        if isinstance(result, Verdict):
            job.future.set_result(result)
        else:
            job.future.set_exception(result)

    def _fork(self) -> Process:
        """Start a worker, and first what forks it, if that has not been or has ended."""
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
                    if started:  # of an idle one, those whom it has forked tell
                        self._replaced(error.status)


def _limit(reason: str) -> SchemaLimit:
    return SchemaLimit.of("$", "", reason)


def _heard(future: asyncio.Future[Verdict]) -> None:
    """Look at what came of a check, lest asyncio complain that nobody has."""
    if not future.cancelled():
        future.exception()
