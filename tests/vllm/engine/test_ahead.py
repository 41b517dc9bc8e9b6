"""Masks that are computed before they are asked for."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from enforcer.errors import EnforcerError
from enforcer.vllm.engine import ahead
from enforcer.vllm.engine.ahead import Ahead

ASKED = threading.get_ident()
PATIENCE = 60  # seconds, for a thread that was told to do something


class Clock:
    """Goes on by what masks say that they take."""

    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(ahead, "perf_counter_ns", found)
    monkeypatch.setattr(ahead, "thread_time_ns", found)
    return found


@pytest.fixture
def bitmask() -> Any:
    return np.zeros((2, 4), dtype=np.int32)


class Turn:
    """A turn whose masks say how many ids have come, and take as long as it is told."""

    def __init__(self, clock: Clock, spent: int) -> None:
        self.clock = clock
        self.spent = spent
        self.ids = 0
        self.threads: list[int] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.has_begun = threading.Event()
        self._is_used = threading.Lock()

    def fill(self, bitmask: Any, row: int = 0) -> None:
        assert self._is_used.acquire(blocking=False), "two threads work on one turn"
        self.threads.append(threading.get_ident())
        self.has_begun.set()
        ids = self.ids
        assert self.may_go_on.wait(PATIENCE)
        self.clock.now += self.spent
        assert ids == self.ids, "the turn went on while its mask was computed"
        bitmask[row] = ids
        self._is_used.release()

    def accept(self) -> None:
        assert not self._is_used.locked(), "two threads work on one turn"
        self.ids += 1
        self.has_begun.clear()

    def elsewhere(self) -> list[bool]:
        return [thread != ASKED for thread in self.threads]


SLOW = 2 * ahead._SLOW


@pytest.fixture
def turn(clock: Clock) -> Turn:
    return Turn(clock, SLOW)


def advance(masks: Ahead, turn: Turn) -> None:
    masks.settle()
    turn.accept()
    masks.announce()


def begin(turn: Turn) -> None:
    """Have a thread begin a turn's mask, as it does once that of another is asked for."""
    ahead._submit()
    assert turn.has_begun.wait(PATIENCE)


def step(masks: Ahead, turn: Turn, bitmask: Any, *, begun: bool = False) -> int:
    advance(masks, turn)
    if begun:
        begin(turn)
    spent = masks.fill(bitmask, 1).worked
    assert bitmask[1].tolist() == [turn.ids] * 4
    assert not bitmask[0].any()
    return spent


def test_after_a_slow_mask_the_next_may_be_begun_on_another_thread(
    turn: Turn, bitmask: Any
) -> None:
    masks = Ahead(turn.fill)
    assert step(masks, turn, bitmask) == SLOW
    for _ in range(2):
        assert step(masks, turn, bitmask, begun=True) == SLOW
    assert turn.elsewhere() == [False, True, True]


def test_masks_that_take_little_stay_where_they_are_asked_for(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn.fill)
    step(masks, turn, bitmask)
    turn.spent = ahead._SLOW - 1
    step(masks, turn, bitmask, begun=True)
    for _ in range(3):
        step(masks, turn, bitmask)
    assert turn.elsewhere() == [False, True, False, False, False]


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ThreadPoolExecutor(1)
    monkeypatch.setattr(ahead, "_pool", lambda: pool)


@pytest.mark.usefixtures("one_thread")
def test_a_mask_that_no_thread_has_begun_is_computed_here(
    clock: Clock, turn: Turn, bitmask: Any
) -> None:
    other = Turn(clock, SLOW)
    first, second = Ahead(other.fill), Ahead(turn.fill)
    first.fill(bitmask, 0)
    second.fill(bitmask, 1)
    other.may_go_on.clear()
    advance(first, other)
    begin(other)
    step(second, turn, bitmask)
    other.may_go_on.set()
    first.fill(bitmask, 0)
    assert (turn.elsewhere(), other.elsewhere()) == ([False, False], [False, True])
    assert bitmask[0].tolist() == [1] * 4


@pytest.mark.usefixtures("one_thread")
def test_threads_begin_with_the_mask_that_is_fetched_last(clock: Clock) -> None:
    turns = [Turn(clock, SLOW) for _ in range(4)]
    all_masks = [Ahead(turn.fill) for turn in turns]
    bitmask = np.zeros((4, 4), dtype=np.int32)
    for row, masks in enumerate(all_masks):
        masks.fill(bitmask, row)
    first, second, third, last = turns
    for turn in turns:
        turn.may_go_on.clear()
    advance(all_masks[0], first)
    begin(first)
    for masks, turn in list(zip(all_masks, turns, strict=True))[1:]:
        advance(masks, turn)
    ahead._submit()
    first.may_go_on.set()
    assert last.has_begun.wait(PATIENCE)
    assert not second.has_begun.is_set()
    assert not third.has_begun.is_set()
    for turn in turns:
        turn.may_go_on.set()
    for row, masks in enumerate(all_masks):
        masks.fill(bitmask, row)
    assert (bitmask == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("shared_out", [False, True])
@pytest.mark.usefixtures("one_thread")
def test_what_nobody_will_fetch_keeps_no_turn_alive(
    clock: Clock, turn: Turn, *, shared_out: bool
) -> None:
    bitmask = np.zeros((2, 4), dtype=np.int32)
    busy = Ahead(turn.fill)
    busy.fill(bitmask, 0)
    turn.may_go_on.clear()
    advance(busy, turn)
    begin(turn)
    given_up = Turn(clock, SLOW)
    masks = Ahead(given_up.fill)
    masks.fill(bitmask, 1)
    advance(masks, given_up)
    if shared_out:
        ahead._submit()
    alive = weakref.ref(given_up)
    del masks, given_up
    gc.collect()
    assert alive() is None
    turn.may_go_on.set()
    busy.fill(bitmask, 0)


def test_nothing_is_begun_while_ids_are_taken(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn.fill)
    masks.fill(bitmask, 1)
    advance(masks, turn)
    assert not turn.has_begun.wait(0.05)


def test_masks_are_shared_out_when_the_first_is_asked_for(clock: Clock, bitmask: Any) -> None:
    class WaitsForOther(Turn):
        def fill(self, bitmask: Any, row: int = 0) -> None:
            assert not self.ids or other.has_begun.wait(PATIENCE)
            super().fill(bitmask, row)

    first, other = WaitsForOther(clock, SLOW), Turn(clock, SLOW)
    both = [Ahead(first.fill), Ahead(other.fill)]
    for ids in range(3):
        for row, masks in enumerate(both):
            masks.fill(bitmask, row)
        assert (bitmask == ids).all()
        for masks, turn in zip(both, (first, other), strict=True):
            advance(masks, turn)
    assert first.elsewhere() == [False] * 3
    assert other.elsewhere() == [False, True, True]


def test_what_was_waited_is_told_apart_from_what_was_worked(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, turn: Turn, bitmask: Any
) -> None:
    masks = Ahead(turn.fill)
    assert masks.fill(bitmask, 1) == (SLOW, SLOW)
    wall = iter([0, 7])

    def now() -> int:
        return next(wall) if threading.get_ident() == ASKED else clock()

    monkeypatch.setattr(ahead, "perf_counter_ns", now)
    advance(masks, turn)
    begin(turn)
    assert masks.fill(bitmask, 1) == (7, SLOW)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_turn_that_waits_for_others_stays_where_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, turn: Turn, bitmask: Any, *, elsewhere: bool
) -> None:
    masks = Ahead(turn.fill)
    step(masks, turn, bitmask, begun=False)
    monkeypatch.setattr(ahead, "perf_counter_ns", lambda: 3 * clock.now)
    step(masks, turn, bitmask, begun=elsewhere)
    for _ in range(3):
        advance(masks, turn)
        ahead._submit()
        assert not turn.has_begun.wait(0.02)
        masks.fill(bitmask, 1)
    assert turn.elsewhere() == [False, elsewhere, False, False, False]


def test_where_no_thread_can_be_started_masks_are_computed_here(
    monkeypatch: pytest.MonkeyPatch, turn: Turn, bitmask: Any
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ahead._forget()
    monkeypatch.setattr(threading.Thread, "start", start)
    masks = Ahead(turn.fill)
    for _ in range(3):
        step(masks, turn, bitmask)
    assert turn.elsewhere() == [False] * 3
    assert not ahead._announced
    ahead._forget()


def test_a_turn_that_goes_on_waits_for_its_mask_and_forgets_it(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn.fill)
    masks.fill(bitmask, 1)
    turn.may_go_on.clear()
    advance(masks, turn)
    begin(turn)
    threading.Timer(0.1, turn.may_go_on.set).start()
    for _ in range(5):
        advance(masks, turn)
    step(masks, turn, bitmask)
    assert turn.ids == 7


def test_what_a_mask_raises_elsewhere_is_raised_here(clock: Clock, bitmask: Any) -> None:
    class Fails(Turn):
        def fill(self, bitmask: Any, row: int = 0) -> None:
            super().fill(bitmask, row)
            if self.ids:
                raise EnforcerError("no")

    turn = Fails(clock, SLOW)
    masks = Ahead(turn.fill)
    masks.fill(bitmask, 1)
    with pytest.raises(EnforcerError, match="no"):
        step(masks, turn, bitmask, begun=True)
    assert turn.elsewhere() == [False, True]


def test_many_turns_are_masked_at_once(clock: Clock) -> None:
    turns = [Turn(clock, SLOW) for _ in range(40)]
    all_masks = [Ahead(turn.fill) for turn in turns]
    bitmask = np.zeros((40, 4), dtype=np.int32)
    for ids in range(5):
        for row, masks in enumerate(all_masks):
            masks.fill(bitmask, row)
        assert (bitmask == ids).all()
        for masks, turn in zip(all_masks, turns, strict=True):
            advance(masks, turn)


def _prints(script: str) -> str:
    """Run a script in a process of its own, to its end."""
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_process_ends_after_the_masks_that_are_under_way() -> None:
    # In machine code, a thread would come back into an interpreter that is no more.
    printed = _prints("""
        import time
        import numpy as np
        from enforcer.vllm.engine import ahead

        def fill(bitmask, row=0):
            begun.append(row)
            time.sleep(0.5)
            print("masked", flush=True)

        begun = []
        masks = ahead.Ahead(fill)
        masks._row = np.zeros(1, dtype=np.int32)
        masks.announce()
        ahead._submit()
        while not begun:
            time.sleep(0.01)
        print("ends", flush=True)
    """)
    assert printed == "ends\nmasked\n"


def test_a_fork_has_threads_of_its_own() -> None:
    printed = _prints("""
        import os
        from enforcer.vllm.engine import ahead

        pool = ahead._pool()
        if not os.fork():
            own = ahead._pool()
            print(own is not pool and own.submit(lambda: 7).result(20), flush=True)
            os._exit(0)
        os.wait()
    """)
    assert printed == "7\n"


def test_a_fork_throws_turns_away_whose_masks_are_under_way() -> None:
    printed = _prints("""
        import os
        import signal
        import threading
        import numpy as np
        from enforcer.vllm.engine import ahead

        def fill(bitmask, row=0):
            begun.set()
            assert may_end.wait(60)

        may_end, begun = threading.Event(), threading.Event()
        masks, other = ahead.Ahead(fill), ahead.Ahead(fill)
        for each in (masks, other):
            each._row = np.zeros(1, dtype=np.int32)
        masks.announce()
        ahead._submit()
        begun.wait(60)
        other.announce()
        if not os.fork():
            signal.alarm(20)
            del masks, other
            print("thrown away", len(ahead._announced), flush=True)
            os._exit(0)
        os.wait()
        may_end.set()
    """)
    assert printed == "thrown away 0\n"
