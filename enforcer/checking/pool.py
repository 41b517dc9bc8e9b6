"""A few worker processes, and the threads that have them do checks.

Owns: that a check which several wait for is done once, how long a look is, and what a worker's end
means. Must not know: what is checked, whose turn it is (that is `line`), what verdicts are used
for.

Nobody can tell beforehand which check is slow. So each gets a look, one after the other, on a
machine of many processors a few at a time; one that has not come to an end after a quarter of a
second of processor time counts as slow. Where others wait that have not been looked at, a look
makes way after two hundredths for each that there may be at a time, to be begun anew behind them:
one client's slow checks cost another's quick one two hundredths each, and no more. Slow checks go
on one at a time, behind every other process; the others are paused. So all checks together take
one processor more than there may be looks. As many workers are never left to slow checks: one too
many is stopped and waits until it can be begun anew. More than can be done while they wait are told
to come again. One that nobody waits for any more is stopped as well.

A worker that has ended while it was idle is replaced when the next check is handed to it. One that
somebody else has ended in the middle of a check (the kernel for want of memory, an operator) was at
no fault of the check, which is done again, once and by a fresh worker. One that the check has
ended, by its bound on time or memory, is what the check is refused for: it is never done again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from enforcer.checking.line import BUSY, Line, MadeWay
from enforcer.checking.process import Ended, Forker, NoProcess, Process
from enforcer.checking.verdict import Verdict
from enforcer.checking.work import LOOK, SECONDS, TOO_MUCH_MEMORY, TOO_SLOW
from enforcer.errors import Busy, ConfigurationError, EnforcerError, Problem, SchemaLimit

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.checking.beginning import Beginning
    from enforcer.checking.line import Job
    from enforcer.checking.work import Check
    from enforcer.vocabulary import Vocabulary

_GLANCE = 0.02  # seconds of processor time after which a lone first look makes way for others'
_SHARE = 4  # processors of which one is for looks; there is one in any case
_MOST_LOOKS = 4  # at a time; the other workers are for slow checks
_CLOCK = 60.0  # seconds after which a look ends, or a slow check, however little time it got
_PATIENCE = 90.0  # seconds that anybody waits, in the queue and after
_IDLE = 60.0  # seconds after which a worker that is not needed ends
_SPARE = 1  # worker that is kept beside those for looks: one may be at a slow check
_FAT = 256 << 20  # a worker that has kept more than this after a check ends
# Signals that a check cannot bring upon its worker.
_BY_OTHERS = (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP)
_STARTS = 3  # times that what forks workers is started while somebody else keeps ending it


class _Lost(Exception):  # noqa: N818 - named for what happened
    """A worker was ended by somebody else, and the check is to be done again."""


class Pool:
    """Checks schemas in worker processes of an engine; safe to use from several threads.

    No process is started before the first check, or `warm`.

    Args:
        engine: the name of the argument engine.
        vocabulary: what it is to be checked for: what is too much for an engine depends on it.
        dialect, in_time: as `Forker` takes them.
        workers: how many processes there may be; at least two.
        looks: how many checks are looked at at a time, fewer than `workers`.
        queue: how many checks may wait for one.
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
        workers: int = 6,
        looks: int | None = None,
        queue: int = 4096,
        replaced: Callable[[int], None] | None = None,
    ) -> None:
        self._engine = engine
        self._dialect = dialect
        self._in_time = in_time
        self._vocabulary = vocabulary
        looks = looks or max(1, min(len(os.sched_getaffinity(0)) // _SHARE, _MOST_LOOKS))
        self._workers = workers
        self._most_looks = min(looks, workers - 1)
        self._replaced = replaced or _unheard
        self._changed = threading.Condition()
        # Slow checks never have the last worker.
        self._line = Line(self._most_looks, workers - self._most_looks, queue)
        self._threads = 0
        self._idle = 0
        self._forking = threading.Lock()
        self._forker: Forker | None = None
        self._turn = threading.Lock()  # held by the slow check that goes on

    def warm(self) -> None:
        """Start the workers that are kept, so that the first checks need not wait for them."""
        with self._changed:
            for _ in range(self._threads, self._most_looks + _SPARE):
                self._start_thread()

    def check(self, check: Check | Beginning) -> Verdict:
        """Wait for a verdict; blocks the thread.

        Raises:
            Busy: there is no room now, it took too long by the clock, somebody else has ended its
                worker twice, or the system lets no worker be started.
            ConfigurationError: what is to fork workers ends by itself.

        """
        job = self._join(check)
        try:
            return job.future.result(_PATIENCE)
        except TimeoutError:
            raise Busy(BUSY) from None
        finally:
            self._leave(job)

    async def check_async(self, check: Check | Beginning) -> Verdict:
        """Wait for a verdict without blocking the event loop; raises as `check` does.

        If the task is cancelled, and nobody else waits for that check, it is dropped unless it
        has begun.
        """
        job = self._join(check)
        try:
            own = asyncio.wrap_future(job.future)
            own.add_done_callback(_heard)
            # Shielded: others may wait for the same.
            return await asyncio.wait_for(asyncio.shield(own), _PATIENCE)
        except TimeoutError:
            raise Busy(BUSY) from None
        finally:
            self._leave(job)

    def _join(self, check: Check | Beginning) -> Job:
        key = check.key()
        with self._changed:
            job = self._line.jobs.get(key)
            if job is None:
                job = self._line.add(key, check.to_message())
                try:
                    self._call_a_thread()
                except ConfigurationError:
                    self._line.leave(job)
                    raise Busy(BUSY) from None
            job.waiting += 1
            return job

    def _leave(self, job: Job) -> None:
        with self._changed:
            job.waiting -= 1
            if job.waiting or (job.begun and not job.slow_pid):
                return  # others wait; or it will soon be done
            if job.begun:
                job.stopped = True
                with suppress(ProcessLookupError):
                    os.kill(job.slow_pid, signal.SIGKILL)
            self._line.leave(job)

    def _call_a_thread(self) -> None:
        """See that somebody takes what may be begun. Called with the lock held."""
        if self._line.may_begin:
            if not self._idle and self._threads < self._workers:
                self._start_thread()
            self._changed.notify_all()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name="enforcer-check", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process may have no more; those that are there do it
            if not self._threads:
                raise ConfigurationError("no thread can be started to check schemas") from None
        else:
            self._threads += 1

    def _serve(self) -> None:
        """Serve with one worker at a time; a thread of its own."""
        process: Process | None = None
        with suppress(EnforcerError, OSError):  # the next who asks hears of it
            process = self._fork()
        while (job := self._next()) is not None:
            try:
                process = self._alive(job, process)
                verdict = self._done(job, process)
            except MadeWay:
                self._put_back(job)
                fit = False
            except _Lost:
                job.lost = True
                self._put_back(job)
                fit = False
            except (OSError, NoProcess) as error:  # as a rule, no handle or no memory is left
                text = f"no schema can be checked now ({error}); send this again"
                self._finish(job, Busy(text, lacks=str(error)))
                fit = False
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                self._finish(job, error)
                fit = False
            else:
                self._finish(job, verdict)
                fit = process.is_fit and process.kept() < _FAT
            if process is not None and not fit:
                process.end()
                process = None
        if process is not None:
            process.end()

    def _alive(self, job: Job, process: Process | None) -> Process:
        """Give a worker that has not ended; a fresh one to a check that has lost its own."""
        if process is not None and process.is_gone():
            self._replaced(process.end())
            process = None
        elif process is not None and job.lost:  # whoever ended that one may be at this one now
            process.end()
            process = None
        return process or self._fork()

    def _fork(self) -> Process:
        """Start a worker, and first what forks it, if that has not been or has ended."""
        with self._forking:
            started = 0
            while True:
                try:
                    if self._forker is None:
                        started += 1
                        self._forker = Forker(
                            self._engine, self._vocabulary, self._dialect, in_time=self._in_time
                        )
                    return self._forker.start()
                except NoProcess as error:
                    self._forker = None
                    if not error.status or started == _STARTS:
                        raise
                    if started:  # of an idle one, those whom it has forked tell
                        self._replaced(error.status)

    def _next(self) -> Job | None:
        """Wait for a job; None where this thread is not needed any more."""
        with self._changed:
            self._idle += 1
            try:
                while not self._line.may_begin:
                    waited = self._changed.wait(_IDLE)
                    is_spare = self._threads > self._most_looks + _SPARE
                    if not waited and self._line.is_empty and is_spare:
                        self._threads -= 1
                        return None
                job = self._line.begin()
            finally:
                self._idle -= 1
            self._call_a_thread()
            return job

    def _put_back(self, job: Job) -> None:
        """Let a job that has made way, or whose worker has gone, wait to be begun anew."""
        with self._changed:
            self._line.put_back(job)
            self._call_a_thread()

    def _finish(self, job: Job, result: Verdict | BaseException) -> None:
        with self._changed:
            self._line.end(job)
            self._line.forget(job)
            self._call_a_thread()
        if isinstance(result, Verdict):
            job.future.set_result(result)
        else:
            job.future.set_exception(result)

    def _done(self, job: Job, process: Process) -> Verdict:
        try:
            reply = None if job.is_slow else self._look(job, process)
            if reply is None:
                reply = self._slowly(job, process)
        except Ended as ended:
            if ended.status in _BY_OTHERS and not job.stopped:
                self._replaced(ended.status)
                if not job.lost:
                    raise _Lost from None
            return _explained(ended)
        return Verdict.from_json(reply)

    def _look(self, job: Job, process: Process) -> bytes | None:
        """Begin a check; None where it turns out to be slow."""
        before, until = process.seconds(), time.monotonic() + _CLOCK
        process.send(job.data)
        glance = _GLANCE * self._most_looks
        reply = process.receive(glance)
        # It may have had to wait for a processor.
        while reply is None and time.monotonic() < until:
            spent = process.seconds() - before
            if spent >= LOOK:
                break
            if spent >= glance and self._line.first and not job.glanced:
                job.glanced = True
                raise MadeWay
            reply = process.receive(glance)
        return reply

    def _slowly(self, job: Job, process: Process) -> bytes:
        """Wait for a check that is slow; its worker is of no use to others afterwards."""
        process.yield_to_others()
        has_begun = not job.is_slow
        with self._changed:
            if not job.waiting:
                raise Busy(BUSY)
            if has_begun:
                self._line.make_room(job)
            job.slow_pid = process.pid
            self._line.looking.discard(job)
            self._call_a_thread()  # there is room for another look
        try:
            reply = self._in_turn(process, b"" if has_begun else job.data)
        finally:
            with self._changed:
                job.slow_pid = 0
        if reply is None:
            raise Busy(BUSY)
        return reply

    def _in_turn(self, process: Process, data: bytes) -> bytes | None:
        """Let one slow check go on at a time; it is sent first where it has not begun."""
        if not self._turn.acquire(blocking=False):
            process.pause()
            self._turn.acquire()
            process.resume()
        try:
            if data:
                process.send(data)
            return process.receive(_CLOCK)
        finally:
            self._turn.release()


def _unheard(status: int) -> None:
    """Tell nobody of a worker that was replaced."""


def _heard(future: asyncio.Future[Verdict]) -> None:
    """Look at what came of a check, lest asyncio complain that nobody has."""
    if not future.cancelled():
        future.exception()


def _explained(ended: Ended) -> Verdict:
    """Say what a worker's end means for the schema that it was checking."""
    if ended.status == -signal.SIGPROF:
        return Verdict(SchemaLimit((Problem("$", "", TOO_SLOW),)), seconds=SECONDS)
    if ended.status in _BY_OTHERS:  # or by us, as nobody waits
        raise Busy(BUSY)
    return Verdict(SchemaLimit((Problem("$", "", f"{TOO_MUCH_MEMORY} ({ended})"),)))
