"""Who goes first when many want something that takes long."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from enforcer.vllm.engine.compile_executor import CompileExecutor

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from threading import Event


Log = list[tuple[str, int]]


@pytest.fixture
def executor() -> Iterator[CompileExecutor]:
    made = CompileExecutor()
    yield made
    close(made)


def close(made: CompileExecutor) -> None:
    """Let the steps under way end, and take no more."""
    for pool in (made._short, made._long):
        pool.shutdown(wait=False, cancel_futures=True)


def work(
    name: str, steps: int, log: Log, gate: Event | None = None, fails: int | None = None
) -> Generator[None, None, str]:
    for at in range(steps):
        yield
        if gate is not None:
            gate.wait(30)
        if fails == at:
            raise ValueError(name)
        log.append((name, at))
    return name


def test_what_needs_no_step_does_not_wait_for_what_does(executor: CompileExecutor) -> None:
    gate = threading.Event()
    log: Log = []
    slow = executor.begin(work("slow", 3, log, gate), lambda: True)
    assert executor.begin(work("short", 0, log), lambda: True).result(30) == "short"
    done = threading.Event()
    executor.short(done.set)
    assert done.wait(30)
    assert not slow.done()
    gate.set()
    assert slow.result(30) == "slow"


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no niceness of its own")
def test_what_takes_long_leaves_processors_to_the_scheduler(executor: CompileExecutor) -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def steps() -> Generator[None, None, list[int]]:
        found = [niceness()]
        yield
        return [*found, niceness()]

    own = niceness()
    assert executor.begin(steps(), lambda: True).result(30) == [own, min(own + 5, 19)]
    assert niceness() == own


def test_a_thread_that_may_not_be_less_urgent_works_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def forbidden(*_: int) -> None:
        asked.append(threading.get_native_id())
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", forbidden)
    made = CompileExecutor()
    assert made.begin(work("long", 2, []), lambda: True).result(30) == "long"
    close(made)
    assert asked or sys.platform != "linux"


def test_steps_are_done_by_turn(executor: CompileExecutor) -> None:
    gate = threading.Event()
    log: Log = []
    held = executor.begin(work("held", 1, [], (hold := threading.Event())), lambda: True)
    greedy = executor.begin(work("greedy", 50, log, gate), lambda: True)
    modest = [executor.begin(work(f"modest {n}", 1, log, gate), lambda: True) for n in range(5)]
    synced = threading.Event()
    executor.short(synced.set)  # all have come as far as the threads for what takes long
    assert synced.wait(30)
    gate.set()
    for one in modest:
        one.result(30)
    assert sum(name == "greedy" for name, _ in log[:6]) <= 1
    hold.set()
    assert held.result(30) == "held"
    assert greedy.result(30) == "greedy"


def test_a_failure_is_its_own(executor: CompileExecutor) -> None:
    log: list[Any] = []
    bad = executor.begin(work("bad", 2, log, fails=1), lambda: True)
    good = executor.begin(work("good", 2, log), lambda: True)
    with pytest.raises(ValueError, match="bad"):
        bad.result(30)
    assert good.result(30) == "good"
    assert ("bad", 0) in log


def test_nobody_works_for_who_has_gone(executor: CompileExecutor) -> None:
    gate = threading.Event()
    log: Log = []
    gone: list[bool] = []
    one = executor.begin(work("one", 9, log, gate), lambda: not gone)
    gone.append(True)
    gate.set()
    with pytest.raises(BaseException):  # noqa: B017, PT011 - cancelled
        one.result(30)
    assert one.cancelled()
    assert len(log) <= 2


def test_where_no_more_threads_can_be_started_those_that_are_there_do_it(
    executor: CompileExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    made = [executor.begin(work(str(at), 3, []), lambda: True) for at in range(5)]
    assert [one.result(30) for one in made] == list("01234")


def test_threads_let_go_of_the_interpreter_sooner_while_any_is_at_work(
    executor: CompileExecutor,
) -> None:
    usual = sys.getswitchinterval()
    begun, go_on = threading.Event(), threading.Event()

    def steps() -> Generator[None, None, float]:
        yield
        begun.set()
        go_on.wait(30)
        return sys.getswitchinterval()

    job = executor.begin(steps(), lambda: True)
    assert begun.wait(30)
    during = threading.Event()
    executor.short(during.set)  # ends while the other goes on
    assert during.wait(30)
    go_on.set()
    assert job.result(30) < usual / 10
    for pool in (executor._short, executor._long):
        pool.shutdown()  # waits for what is under way
    assert sys.getswitchinterval() == usual
