"""Who goes first when many want something that takes long."""

from __future__ import annotations

import threading

import pytest

from enforcer.vllm.lanes import Lanes


@pytest.fixture
def lanes():
    made = Lanes()
    yield made
    made.close()


def work(name, steps, log, gate=None, fails=None):
    for at in range(steps):
        yield
        if gate is not None:
            gate.wait(30)
        if fails == at:
            raise ValueError(name)
        log.append((name, at))
    return name


def test_what_needs_no_step_does_not_wait_for_what_does(lanes):
    gate, log = threading.Event(), []
    slow = lanes.begin(work("slow", 3, log, gate), lambda: True)
    assert lanes.begin(work("short", 0, log), lambda: True).result(30) == "short"
    done = threading.Event()
    lanes.short(done.set)
    assert done.wait(30)
    assert not slow.done()
    gate.set()
    assert slow.result(30) == "slow"


def test_who_has_used_least_goes_first(lanes):
    gate, log = threading.Event(), []
    held = lanes.begin(work("held", 1, [], (hold := threading.Event())), lambda: True)
    greedy = lanes.begin(work("greedy", 50, log, gate), lambda: True)
    modest = [lanes.begin(work(f"modest {n}", 1, log, gate), lambda: True) for n in range(5)]
    synced = threading.Event()
    lanes.short(synced.set)  # all have come as far as the lane for what takes long
    assert synced.wait(30)
    gate.set()
    for one in modest:
        one.result(30)
    assert sum(name == "greedy" for name, _ in log[:6]) <= 1
    hold.set()
    assert held.result(30) == "held"
    assert greedy.result(30) == "greedy"


def test_a_failure_is_its_own(lanes):
    log = []
    bad = lanes.begin(work("bad", 2, log, fails=1), lambda: True)
    good = lanes.begin(work("good", 2, log), lambda: True)
    with pytest.raises(ValueError, match="bad"):
        bad.result(30)
    assert good.result(30) == "good"
    assert ("bad", 0) in log


def test_nobody_works_for_who_has_gone(lanes):
    gate, log, gone = threading.Event(), [], []
    one = lanes.begin(work("one", 9, log, gate), lambda: not gone)
    gone.append(1)
    gate.set()
    with pytest.raises(BaseException):  # noqa: B017, PT011 - cancelled
        one.result(30)
    assert one.cancelled()
    assert len(log) <= 2
