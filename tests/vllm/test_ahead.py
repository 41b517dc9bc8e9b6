"""Masks that are computed before they are asked for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from enforcer.errors import EnforcerError
from enforcer.vllm import ahead
from enforcer.vllm.ahead import Ahead

ASKED = threading.get_ident()


class Turn:
    """A turn whose masks say how many ids have come, and take as long as they are told to."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ids = 0
        self.threads: list[int] = []
        self._is_used = threading.Lock()

    def fill(self, bitmask: Any, row: int = 0) -> None:
        assert self._is_used.acquire(blocking=False), "two threads work on one turn"
        ids = self.ids
        time.sleep(self.seconds)
        assert ids == self.ids, "the turn went on while its mask was computed"
        bitmask[row] = ids
        self.threads.append(threading.get_ident())
        self._is_used.release()

    def accept(self) -> None:
        assert not self._is_used.locked(), "two threads work on one turn"
        self.ids += 1


def elsewhere(turn: Turn) -> list[bool]:
    return [thread != ASKED for thread in turn.threads]


def step(masks: Ahead, turn: Turn, bitmask: Any, pause: float = 0.0) -> None:
    masks.settle()
    turn.accept()
    masks.begin()
    time.sleep(pause)
    masks.fill(bitmask, 1)
    assert bitmask[1].tolist() == [turn.ids] * 4
    assert not bitmask[0].any()


def test_after_a_slow_mask_the_next_is_begun_on_another_thread() -> None:
    turn, bitmask = Turn(0.01), np.zeros((2, 4), dtype=np.int32)
    masks = Ahead(turn)
    for _ in range(3):
        step(masks, turn, bitmask, pause=0.05)
    assert elsewhere(turn) == [False, True, True]


def test_masks_that_take_little_stay_where_they_are_asked_for() -> None:
    turn, bitmask = Turn(0), np.zeros((2, 4), dtype=np.int32)
    masks = Ahead(turn)
    turn.seconds = 0.01
    step(masks, turn, bitmask)
    turn.seconds = 0
    for _ in range(3):
        step(masks, turn, bitmask, pause=0.02)
    assert elsewhere(turn) == [False, True, False, False]


def test_a_mask_that_no_thread_has_begun_is_computed_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(ahead, "_threads", lambda: pool)
        slow, turn = Turn(0.2), Turn(0.01)
        bitmask, other = (np.zeros((2, 4), dtype=np.int32) for _ in range(2))
        first, second = Ahead(slow), Ahead(turn)
        first.fill(other, 1)
        second.fill(bitmask, 1)
        first.begin()
        time.sleep(0.05)
        step(second, turn, bitmask)
        step(first, slow, other)
    assert elsewhere(turn) == [False, False]


def test_a_turn_that_goes_on_waits_for_its_mask_and_forgets_it() -> None:
    turn, bitmask = Turn(0.02), np.zeros((2, 4), dtype=np.int32)
    masks = Ahead(turn)
    masks.fill(bitmask, 1)
    for _ in range(5):
        masks.settle()
        turn.accept()
        masks.begin()
        time.sleep(0.005)
    step(masks, turn, bitmask, pause=0.05)
    assert turn.ids == 6


def test_a_mask_takes_as_long_as_it_took_wherever_it_did() -> None:
    turn, bitmask = Turn(0.01), np.zeros((2, 4), dtype=np.int32)
    masks = Ahead(turn)
    assert masks.fill(bitmask, 1) >= 10_000_000
    masks.begin()
    time.sleep(0.05)
    assert masks.fill(bitmask, 1) >= 10_000_000
    assert elsewhere(turn) == [False, True]


def test_what_a_mask_raises_elsewhere_is_raised_here() -> None:
    class Fails(Turn):
        def fill(self, bitmask: Any, row: int = 0) -> None:
            super().fill(bitmask, row)
            if self.ids:
                raise EnforcerError("no")

    turn, bitmask = Fails(0.01), np.zeros((2, 4), dtype=np.int32)
    masks = Ahead(turn)
    masks.fill(bitmask, 1)
    with pytest.raises(EnforcerError, match="no"):
        step(masks, turn, bitmask, pause=0.05)
    assert elsewhere(turn) == [False, True]


def test_many_turns_are_masked_at_once() -> None:
    turns = [Turn(0.002) for _ in range(40)]
    all_masks = [Ahead(turn) for turn in turns]
    bitmask = np.zeros((40, 4), dtype=np.int32)
    for ids in range(5):
        for row, masks in enumerate(all_masks):
            masks.fill(bitmask, row)
        assert (bitmask == ids).all()
        for masks, turn in zip(all_masks, turns, strict=True):
            masks.settle()
            turn.accept()
            masks.begin()
