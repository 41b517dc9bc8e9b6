"""Masks that are computed before they are asked for."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from enforcer.errors import EnforcerError
from enforcer.vllm import ahead
from enforcer.vllm.ahead import Ahead

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
    masks.begin()


def step(masks: Ahead, turn: Turn, bitmask: Any, *, begun: bool = False) -> int:
    advance(masks, turn)
    if begun:
        assert turn.has_begun.wait(PATIENCE)
    spent = masks.fill(bitmask, 1)
    assert bitmask[1].tolist() == [turn.ids] * 4
    assert not bitmask[0].any()
    return spent


def test_after_a_slow_mask_the_next_is_begun_on_another_thread(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn)
    assert step(masks, turn, bitmask) == SLOW
    for _ in range(2):
        assert step(masks, turn, bitmask, begun=True) == SLOW
    assert turn.elsewhere() == [False, True, True]


def test_masks_that_take_little_stay_where_they_are_asked_for(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn)
    step(masks, turn, bitmask)
    turn.spent = ahead._SLOW - 1
    step(masks, turn, bitmask, begun=True)
    for _ in range(3):
        step(masks, turn, bitmask)
    assert turn.elsewhere() == [False, True, False, False, False]


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = ahead.Threads(1)
    monkeypatch.setattr(ahead, "_threads", lambda: threads)


@pytest.mark.usefixtures("one_thread")
def test_a_mask_that_no_thread_has_begun_is_computed_here(
    clock: Clock, turn: Turn, bitmask: Any
) -> None:
    other = Turn(clock, SLOW)
    first, second = Ahead(other), Ahead(turn)
    first.fill(bitmask, 0)
    second.fill(bitmask, 1)
    other.may_go_on.clear()
    advance(first, other)
    assert other.has_begun.wait(PATIENCE)
    step(second, turn, bitmask)
    other.may_go_on.set()
    first.fill(bitmask, 0)
    assert (turn.elsewhere(), other.elsewhere()) == ([False, False], [False, True])
    assert bitmask[0].tolist() == [1] * 4


@pytest.mark.usefixtures("one_thread")
def test_threads_begin_with_the_mask_that_is_fetched_last(clock: Clock) -> None:
    turns = [Turn(clock, SLOW) for _ in range(4)]
    all_masks = [Ahead(turn) for turn in turns]
    bitmask = np.zeros((4, 4), dtype=np.int32)
    for row, masks in enumerate(all_masks):
        masks.fill(bitmask, row)
    first, second, third, last = turns
    for turn in turns:
        turn.may_go_on.clear()
    advance(all_masks[0], first)
    assert first.has_begun.wait(PATIENCE)
    for masks, turn in list(zip(all_masks, turns, strict=True))[1:]:
        advance(masks, turn)
    first.may_go_on.set()
    assert last.has_begun.wait(PATIENCE)
    assert not second.has_begun.is_set()
    assert not third.has_begun.is_set()
    for turn in turns:
        turn.may_go_on.set()
    for row, masks in enumerate(all_masks):
        masks.fill(bitmask, row)
    assert (bitmask == 1).all()


@pytest.mark.usefixtures("one_thread")
def test_what_nobody_will_fetch_keeps_no_turn_alive(clock: Clock, turn: Turn) -> None:
    bitmask = np.zeros((2, 4), dtype=np.int32)
    busy = Ahead(turn)
    busy.fill(bitmask, 0)
    turn.may_go_on.clear()
    advance(busy, turn)
    assert turn.has_begun.wait(PATIENCE)
    given_up = Turn(clock, SLOW)
    masks = Ahead(given_up)
    masks.fill(bitmask, 1)
    advance(masks, given_up)
    alive = weakref.ref(given_up)
    del masks, given_up
    gc.collect()
    assert alive() is None
    turn.may_go_on.set()
    busy.fill(bitmask, 0)


def test_where_no_thread_can_be_started_masks_are_computed_here(
    monkeypatch: pytest.MonkeyPatch, turn: Turn, bitmask: Any
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        threads = ahead.Threads(2)
    monkeypatch.setattr(ahead, "_threads", lambda: threads)
    masks = Ahead(turn)
    for _ in range(3):
        step(masks, turn, bitmask)
    assert turn.elsewhere() == [False] * 3
    assert not threads._asked


def test_a_turn_that_goes_on_waits_for_its_mask_and_forgets_it(turn: Turn, bitmask: Any) -> None:
    masks = Ahead(turn)
    masks.fill(bitmask, 1)
    turn.may_go_on.clear()
    advance(masks, turn)
    assert turn.has_begun.wait(PATIENCE)
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
    masks = Ahead(turn)
    masks.fill(bitmask, 1)
    with pytest.raises(EnforcerError, match="no"):
        step(masks, turn, bitmask, begun=True)
    assert turn.elsewhere() == [False, True]


def test_many_turns_are_masked_at_once(clock: Clock) -> None:
    turns = [Turn(clock, SLOW) for _ in range(40)]
    all_masks = [Ahead(turn) for turn in turns]
    bitmask = np.zeros((40, 4), dtype=np.int32)
    for ids in range(5):
        for row, masks in enumerate(all_masks):
            masks.fill(bitmask, row)
        assert (bitmask == ids).all()
        for masks, turn in zip(all_masks, turns, strict=True):
            advance(masks, turn)
