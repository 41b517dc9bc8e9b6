"""Who goes first when many want something that takes long, and which masks go to threads."""

import os
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from enforcer.vllm.engine.compile_executor import CompileExecutor, fill_in_one_thread

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


def needed() -> bool:
    """Tell that the request is still there."""
    return True


def passed(executor: CompileExecutor) -> bool:
    """Wait until what is short has been done, and with it what was begun before."""
    done = threading.Event()
    executor.short(done.set)
    return done.wait(30)


def test_what_needs_no_step_does_not_wait_for_what_does(executor: CompileExecutor) -> None:
    gate = threading.Event()
    log: Log = []
    slow = executor.begin(work("slow", 3, log, gate), needed)
    assert executor.begin(work("short", 0, log), needed).result(30) == "short"
    assert passed(executor)
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
    assert executor.begin(steps(), needed).result(30) == [own, min(own + 5, 19)]
    assert niceness() == own


def test_a_thread_that_may_not_be_less_urgent_works_all_the_same(monkeypatch: Any) -> None:
    monkeypatch.setattr(os, "setpriority", forbidden := Mock(side_effect=PermissionError))
    made = CompileExecutor()
    assert made.begin(work("long", 2, []), needed).result(30) == "long"
    close(made)
    assert forbidden.called or sys.platform != "linux"


def test_steps_are_done_by_turn(executor: CompileExecutor) -> None:
    gate = threading.Event()
    log: Log = []
    held = executor.begin(work("held", 1, [], (hold := threading.Event())), needed)
    greedy = executor.begin(work("greedy", 50, log, gate), needed)
    modest = [executor.begin(work(f"modest {n}", 1, log, gate), needed) for n in range(5)]
    assert passed(executor)  # all have come as far as the threads for what takes long
    gate.set()
    for one in modest:
        one.result(30)
    assert sum(name == "greedy" for name, _ in log[:6]) <= 1
    hold.set()
    assert held.result(30) == "held"
    assert greedy.result(30) == "greedy"


def test_a_failure_is_its_own(executor: CompileExecutor) -> None:
    log: list[Any] = []
    bad = executor.begin(work("bad", 2, log, fails=1), needed)
    good = executor.begin(work("good", 2, log), needed)
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
    made = [executor.begin(work(str(at), 3, []), needed) for at in range(5)]
    assert [one.result(30) for one in made] == list("01234")


def test_threads_switch_sooner_while_any_is_at_work(executor: CompileExecutor) -> None:
    usual = sys.getswitchinterval()
    begun, go_on = threading.Event(), threading.Event()

    def steps() -> Generator[None, None, float]:
        yield
        begun.set()
        go_on.wait(30)
        return sys.getswitchinterval()

    job = executor.begin(steps(), needed)
    assert begun.wait(30)
    assert passed(executor)  # ends while the other goes on
    go_on.set()
    assert job.result(30) < usual / 10
    for pool in (executor._short, executor._long):
        pool.shutdown()  # waits for what is under way
    assert sys.getswitchinterval() == usual


HERE = threading.get_ident()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as found:
        fill_in_one_thread(found, lambda grammar: grammar == "ours")
        yield found


class Fill:
    """Fills batches; keeps which rows were filled, and where."""

    def __init__(self) -> None:
        self.here: list[int | str] = []
        self.elsewhere: list[int | str] = []

    def __call__(self, batch: Sequence[tuple[str, int | str]]) -> None:
        if "bad" in [row for _, row in batch]:
            raise ValueError("a row is bad")
        rows = self.here if threading.get_ident() == HERE else self.elsewhere
        rows.extend(row for _, row in batch)


def test_ours_are_filled_where_they_are_asked_for(threads: ThreadPoolExecutor) -> None:
    fill = Fill()
    assert threads.submit(fill, [("ours", 0), ("ours", 1)]).done()
    assert (fill.here, fill.elsewhere) == ([0, 1], [])


def test_others_go_where_they_went(threads: ThreadPoolExecutor) -> None:
    fill = Fill()
    threads.submit(fill, [("theirs", 0), ("ours", 1), ("theirs", 2)]).result(60)
    assert (fill.here, fill.elsewhere) == ([], [0, 1, 2])


@pytest.mark.parametrize("whose", ["ours", "theirs"])
def test_an_error_reaches_the_caller(threads: ThreadPoolExecutor, whose: str) -> None:
    with pytest.raises(ValueError, match="bad"):
        threads.submit(Fill(), [(whose, "bad")]).result(60)


def test_a_small_engine_has_no_executor_to_replace() -> None:
    fill_in_one_thread(None, lambda _: True)
