"""Real workers: their bounds, their ends, and who waits for whom."""

import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from enforcer.checking import pool as pools
from enforcer.checking import worker as workers
from enforcer.checking.pool import Pool
from enforcer.checking.process import Forker, NoProcess, Process, WorkerEnded
from enforcer.checking.work import LEVELS
from enforcer.errors import Busy, ConfigurationError, SchemaLimit
from enforcer.turn import dialects
from enforcer.vocabulary import Vocabulary
from tests.checking_cases import check, quick, slow
from tests.processes import descendants, is_running

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
BYTES = Vocabulary.of_bytes(["<|end|>"])


@pytest.fixture(scope="module")
def pool() -> Pool:
    made = Pool("machine", BYTES)
    made.warm()
    return made


@pytest.fixture
def replaced() -> list[int]:
    """Return the signals, negated, of the processes that the pool of a test has replaced."""
    return []


@pytest.fixture
def lone(replaced: list[int]) -> Pool:
    return Pool("machine", BYTES, replaced=replaced.append)


@pytest.fixture
def worker() -> Iterator[Any]:
    forker = Forker("machine", BYTES)
    yield forker.start()
    forker.end()


def test_a_verdict(pool: Pool) -> None:
    assert pool.check(quick()).error is None
    assert pool.check(check({"type": 3})).error is not None


def test_workers_import_neither_vllm_nor_torch() -> None:
    code = (
        "import sys, enforcer.checking.worker\n"
        "print([m for m in ('vllm', 'torch', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_engine_is_the_operators_error() -> None:
    with pytest.raises(ConfigurationError, match="before it was ready"):
        Pool("no-such-engine", BYTES).check(quick())


def test_a_check_without_end_is_refused_and_others_pass_it_by(pool: Pool) -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(pool.check(slow())))
    thread.start()
    while not _at_last_level(pool):
        time.sleep(0.01)
        assert thread.is_alive()
    for number in range(1, 4):
        assert pool.check(quick(number)).error is None
        assert thread.is_alive()  # they have not waited for it
    thread.join()
    (verdict,) = found
    assert isinstance(verdict.error, SchemaLimit)
    assert "2 seconds" in str(verdict.error)
    assert verdict.error.path == "$"


def _at_last_level(lone: Pool) -> list[Any]:
    """Return the checks that a worker of the last level does."""
    jobs = [*lone._jobs.values()]
    return [job for job in jobs if job.process is not None and job.level == len(LEVELS) - 1]


def test_as_many_are_begun_at_a_time_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    lone = Pool("machine", BYTES, looks=2)
    both, done = threading.Barrier(2, timeout=60), Pool._done
    counts = []

    def watched(self: Any, *asked: Any) -> Any:
        counts.append(threading.get_ident())
        if len(counts) <= 2:
            both.wait()  # for another one; without it it is broken
        return done(self, *asked)

    monkeypatch.setattr(Pool, "_done", watched)

    async def scene() -> None:
        asked = (lone.check_async(quick(number)) for number in range(30, 38))
        for verdict in await asyncio.gather(*asked):
            assert verdict.error is None

    asyncio.run(scene())
    assert len({*counts}) == 2


def test_slow_checks_wait_for_each_other_and_others_pass_them_by(lone: Pool) -> None:
    async def scene() -> None:
        waiting = [asyncio.create_task(lone.check_async(slow(number))) for number in range(3)]
        await _until(lambda: lone._queues[-1].qsize() == 2)
        (first,) = _at_last_level(lone)
        assert (await lone.check_async(quick(20))).error is None
        assert first in _at_last_level(lone)
        given_up = next(at for at in range(3) if lone._jobs[slow(at).key()].process is None)
        waiting.pop(given_up).cancel()
        for verdict in await asyncio.gather(*waiting):
            assert "2 seconds" in str(verdict.error)

    asyncio.run(scene())
    assert not lone._jobs


def test_slow_checks_beyond_the_limit_are_busy(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_LATE", 1)

    async def scene() -> None:
        waiting = [asyncio.create_task(lone.check_async(slow(number))) for number in range(3)]
        await _until(lambda: any(task.done() for task in waiting))
        (told,) = (task for task in waiting if task.done())
        with pytest.raises(Busy, match="send this one again"):
            await told
        assert len(_at_last_level(lone)) == lone._queues[-1].qsize() == 1
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await _until(lambda: not lone._queues[-1].qsize())

    asyncio.run(scene())
    assert not lone._jobs


def test_a_quick_check_waits_for_the_first_level_of_many_slow_ones_alone(lone: Pool) -> None:
    crowd = 24
    lone.warm()

    async def scene() -> None:
        many = [asyncio.create_task(lone.check_async(slow(200 + i))) for i in range(crowd)]
        await asyncio.sleep(0)  # all of them stand in the queue now
        assert (await lone.check_async(quick(30))).error is None
        # Others have come far in this time, on a machine with many processors.
        assert lone._queues[1].qsize() >= crowd // 3
        for task in many:
            task.cancel()
        await asyncio.gather(*many, return_exceptions=True)
        assert not lone._jobs
        await _until(lambda: not lone._queues[1].qsize())

    asyncio.run(scene())


def test_a_slow_check_gets_on_though_others_come(lone: Pool) -> None:
    async def scene() -> None:
        tasks = [asyncio.create_task(lone.check_async(slow(300)))]
        while not _at_last_level(lone):
            if lone._queues[0].qsize() < 20:
                tasks.append(asyncio.create_task(lone.check_async(quick(len(tasks)))))
            await asyncio.sleep(0)
        assert lone._queues[0].qsize()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scene())


def test_an_abandoned_check_is_not_done(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    lone._unstarted.clear()  # so that none begins: as if all workers were busy
    done: list[Any] = []
    finish = lone._finish

    def watched(*finished: Any) -> None:
        done.append(finished)
        finish(*finished)

    async def scene() -> None:
        first = asyncio.create_task(lone.check_async(quick(1)))
        same = asyncio.create_task(lone.check_async(quick(1)))
        other = asyncio.create_task(lone.check_async(quick(2)))
        await asyncio.sleep(0)
        assert lone._queues[0].qsize() == 2  # what two wait for is done once
        first.cancel()
        other.cancel()
        await asyncio.gather(first, other, return_exceptions=True)
        assert [job.waiting for job in lone._jobs.values()] == [1]
        lone._unstarted.append(0)
        monkeypatch.setattr(lone, "_finish", watched)
        assert (await lone.check_async(quick(3))).error is None
        assert (await same).error is None

    asyncio.run(scene())
    assert len(done) == 2
    assert not lone._jobs


def test_a_slow_check_that_nobody_waits_for_is_stopped(pool: Pool) -> None:
    async def scene() -> None:
        asked = asyncio.create_task(pool.check_async(slow(100)))
        await _until(lambda: bool(_at_last_level(pool)))
        (job,) = _at_last_level(pool)
        pid = job.process.pid
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await _until(lambda: not is_running(pid))

    asyncio.run(scene())
    assert pool.check(quick(30)).error is None


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - of threads and processes, which set no event
        await asyncio.sleep(0.01)


def test_a_full_queue_is_said_at_once(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_MOST", 2)
    lone._unstarted.clear()  # so that none begins
    for number in (1, 2):
        lone._join(quick(number))
    with pytest.raises(Busy, match="send this one again"):
        lone.check(quick(3))


@pytest.mark.parametrize("whose", ["workers", "parent", "all"])
def test_idle_workers_that_were_killed_are_replaced(whose: str) -> None:
    """And what forks them; nobody who asks next notices, however soon."""
    replaced: list[int] = []
    lone = Pool("machine", BYTES, looks=2, replaced=replaced.append)
    lone.warm()
    while lone._forker is None or len(forked := descendants(lone._forker._process.pid)) < 2:
        time.sleep(0.01)
    before = lone._forker
    for pid in [before._process.pid] * (whose != "workers") + forked * (whose != "parent"):
        with suppress(ProcessLookupError):  # with its parent
            os.kill(pid, signal.SIGKILL)
    for number in range(40, 46):
        assert lone.check(quick(number)).error is None
    assert replaced
    assert set(replaced) == {-signal.SIGKILL}
    assert len(replaced) <= 2
    assert (lone._forker is before) == (whose == "workers")
    assert not lone._jobs


@pytest.mark.parametrize(("times", "is_served"), [(2, True), (3, False)])
def test_what_forks_workers_is_started_again_where_somebody_ends_it_as_it_starts(
    lone: Pool, replaced: list[int], times: int, is_served: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel, for want of memory, ends the largest: that is no fault of a request's."""
    started: list[int] = []

    def start(*args: Any, **options: Any) -> Any:
        process = popen(*args, **options)
        started.append(process.pid)
        if len(started) <= times:
            process.kill()
        return process

    popen = subprocess.Popen
    expected = nullcontext() if is_served else pytest.raises(NoProcess)
    with monkeypatch.context() as patch, expected:
        patch.setattr(subprocess, "Popen", start)
        lone._fork().end()
    assert len(started) == 3
    assert replaced == [-signal.SIGKILL] * 2
    assert lone.check(quick()).error is None


def test_a_check_during_shutdown_is_told_busy(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object, **__: object) -> Forker:
        raise NoProcess("the checking process ended with status -9 before it was ready", -9)

    with monkeypatch.context() as patch:
        patch.setattr(pools, "Forker", ended)
        with pytest.raises(Busy, match=r"status -9.*send this again") as busy:
            lone.check(quick())
    assert "status -9" in busy.value.lacks
    assert lone.check(quick()).error is None


def test_workers_need_no_room_on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("TemporaryFile", "NamedTemporaryFile", "mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, full)
    assert Pool("machine", BYTES).check(quick()).error is None


def test_a_worker_that_cannot_be_forked_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a container may have no more processes."""

    def no_more() -> int:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    reader, writer = os.pipe()
    orders, other = Pipe()
    with monkeypatch.context() as patch, orders, other:
        patch.setattr(os, "fork", no_more)
        assert workers._fork(orders, reader, None) == -errno.EAGAIN
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(reader)
    os.close(writer)
    forker = Forker("machine", BYTES)
    with monkeypatch.context() as patch:
        patch.setattr(forker, "ask", lambda *_, **__: -errno.EAGAIN)
        with pytest.raises(OSError, match="Resource temporarily unavailable"):
            forker.start()
    forker.start().end()
    forker.end()


class _Killer:
    """Ends the workers of the first checks that are sent, before they have begun.

    Every level has the last one's time: on a slow machine, a check would be sent to the next one.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int, number: int) -> None:
        self.sent = 0
        monkeypatch.setattr(pools, "LEVELS", LEVELS[-1:] * len(LEVELS))

        def send(process: Process, message: object) -> None:
            self.sent += 1
            if self.sent > times:
                real(process, message)
                return
            os.kill(process.pid, signal.SIGSTOP)
            real(process, message)
            os.kill(process.pid, number)
            os.kill(process.pid, signal.SIGCONT)

        real = Process.send
        monkeypatch.setattr(Process, "send", send)


@pytest.mark.parametrize(
    "ended",  # by which signal, how often; how many checks are sent, and what the error says
    [
        (signal.SIGKILL, 1, 2, ""),  # by the kernel, for want of memory: it is done again
        *((number, 1, 1, "") for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        (signal.SIGPROF, 1000, len(LEVELS), "2 seconds"),  # what the kernel's timer sends
        # An allocation that failed in an engine's code, a stack.
        *((number, 1000, 1, "memory") for number in (signal.SIGABRT, signal.SIGSEGV)),
    ],
)
def test_a_check_is_done_again_or_refused_by_what_ends_its_worker(
    lone: Pool,
    replaced: list[int],
    monkeypatch: pytest.MonkeyPatch,
    ended: tuple[Any, int, int, str],
) -> None:
    number, times, sent, says = ended
    killer = _Killer(monkeypatch, times, number)
    verdict = lone.check(quick())
    assert isinstance(verdict.error, SchemaLimit if says else type(None))
    assert says in str(verdict.error)
    assert killer.sent == sent
    assert replaced == [-signal.SIGKILL] * (number == signal.SIGKILL)
    assert (verdict.seconds == 2) == (number == signal.SIGPROF)
    assert not lone._jobs


def test_a_killed_slow_check_is_redone_and_refused_by_time(lone: Pool, replaced: list[int]) -> None:

    async def scene() -> None:
        asked = asyncio.create_task(lone.check_async(slow(400)))
        await _until(lambda: bool(_at_last_level(lone)))
        (job,) = _at_last_level(lone)
        os.kill(job.process.pid, signal.SIGKILL)
        assert "2 seconds" in str((await asked).error)

    asyncio.run(scene())
    assert replaced == [-signal.SIGKILL]
    assert not lone._jobs


def test_a_check_whose_workers_are_always_killed_ends(
    lone: Pool, replaced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = _Killer(monkeypatch, 1000, signal.SIGKILL)
    with pytest.raises(Busy, match="send this one again"):
        lone.check(quick())
    assert killer.sent == 2
    assert replaced == [-signal.SIGKILL] * 2
    monkeypatch.undo()
    assert lone.check(quick()).error is None
    assert not lone._jobs


def test_the_kernel_ends_a_worker_that_has_had_its_time(worker: Any) -> None:
    with pytest.raises(WorkerEnded) as ended:
        worker.ask((0.05, 0), slow(), 60)
    assert ended.value.status == -signal.SIGPROF
    assert worker.kept is None


def test_a_worker_yields_as_its_level_says(worker: Any) -> None:
    own = os.nice(0)
    for level in LEVELS:
        worker.ask(level, quick(), 60)
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(own + level[1], 19)


def test_memory_is_bounded(worker: Any) -> None:
    assert worker.ask(LEVELS[-1], quick(), 60)
    lines = Path(f"/proc/{worker.pid}/limits").read_text().splitlines()
    (line,) = [each for each in lines if each.startswith("Max address space")]
    assert 1 << 30 < int(line.split()[3]) < 3 << 30


def test_a_starved_worker_is_timed_by_a_clock(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_CLOCK", 0.2)
    killer = _Killer(monkeypatch, 1, signal.SIGSTOP)
    monkeypatch.setattr(signal, "SIGCONT", signal.SIGSTOP)
    with pytest.raises(Busy, match="send this one again"):
        lone.check(quick())
    assert killer.sent == 1
    assert lone.check(quick()).error is None


def test_a_worker_ends_for_its_own_memory_only(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Process] = []

    def fork() -> Process:
        begun.append(Pool._fork(lone))
        return begun[-1]

    monkeypatch.setattr(lone, "_fork", fork)
    # On a busy machine a check may use up the first level's time, which ends a worker too.
    monkeypatch.setattr(pools, "LEVELS", LEVELS[-1:] * len(LEVELS))
    monkeypatch.setattr(pools, "_FAT", 16 << 20)
    for number in range(6):
        assert lone.check(quick(number)).error is None
    assert len(begun) == 1
    assert 0 < begun[0].kept < 16 << 20
    monkeypatch.setattr(pools, "_FAT", 0)
    for number in range(6, 12):
        assert lone.check(quick(number)).error is None
    assert len(begun) >= 6


PARENT = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from tests.checking_cases import quick, slow
from enforcer.checking.pool import Pool
from enforcer.vocabulary import Vocabulary
pool = Pool("machine", Vocabulary.of_bytes(["<|end|>"]))
pool.check(quick())
threading.Thread(target=pool.check, args=(slow(),), daemon=True).start()
while not any(job.level == 2 and job.process for job in [*pool._jobs.values()]):
    time.sleep(0.01)
print("ready", flush=True)
time.sleep(600)
"""


def test_workers_end_with_whoever_has_started_them_however_it_ends() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(TESTS)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout.readline() == "ready\n"
    below = descendants(parent.pid)
    assert len(below) >= 2
    parent.kill()
    parent.wait()
    while any(is_running(pid) for pid in below):
        time.sleep(0.05)


def test_a_worker_is_ready_for_the_layout_of_the_dialect() -> None:
    """Half a second of a vocabulary like Kimi's, of the two seconds that a check may take."""
    lone = Pool("machine", BYTES, "kimi_k3")
    asked = replace(quick(), dialect="kimi_k3")
    assert lone.check(asked).error is None
    assert Pool("outlines-core", BYTES, "kimi_k3").check(asked).error is not None


@pytest.mark.parametrize("dialect", dialects.available())
def test_workers_start_where_the_vocabulary_lacks_the_dialects_markers(dialect: str) -> None:
    """A process that has met no tokenizer yet checks for single bytes."""
    lone = Pool("machine", BYTES, dialect)
    assert lone.check(quick()).error is None
    lone._forker.end()


@pytest.mark.parametrize("engine", ["outlines-core", "xgrammar"])
def test_every_engine_has_workers(engine: str) -> None:
    closed = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    asked = check({**closed, "additionalProperties": False})
    assert Pool(engine, BYTES).check(asked).error is None


def test_handles_that_run_out_end_no_thread(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socketpair", none_left)
        lone.warm()
        with pytest.raises(Busy, match=r"no checking process can be started.*Too many") as busy:
            lone.check(quick())
        assert "Too many open files" in busy.value.lacks
    assert lone.check(quick()).error is None
    kept = lone._forker
    with monkeypatch.context() as patch:
        patch.setattr(socket, "socketpair", none_left)
        patch.setattr(Process, "is_gone", lambda _: True)  # so that another one is started
        with pytest.raises(Busy, match="Too many open files"):
            lone.check(quick(2))
    assert lone.check(quick(2)).error is None
    assert lone._forker is kept  # which others' workers end with


def test_threads_that_run_out_are_told_as_busy(lone: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none_left)
        for _ in range(3):
            with pytest.raises(Busy):
                lone.check(quick())
        with pytest.raises(ConfigurationError, match="no thread"):
            lone.warm()
    assert not lone._jobs
    assert lone.check(quick()).error is None
