"""Masks of a step of very many requests: which of them go to vLLM's threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from enforcer.vllm.engine import fill_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = threading.get_ident()
SLOW = 10 * fill_threads._WORTH_A_THREAD  # ns a row


class Clock:
    """Goes on by what a filled row is said to take."""

    now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(fill_threads, "thread_time_ns", found)
    return found


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as found:
        fill_threads.attach(found, lambda grammar: grammar == "ours")
        yield found


class Fill:
    """Fills batches; keeps which rows were filled, and where."""

    def __init__(self, clock: Clock, spent: int = 0) -> None:
        self.clock = clock
        self.spent = spent
        self.here: list[int] = []
        self.elsewhere: list[int] = []

    def __call__(self, batch: Sequence[tuple[str, int]]) -> None:
        rows = [row for _, row in batch]
        if "bad" in [grammar for grammar, _ in batch]:
            raise ValueError("a grammar is bad")
        (self.here if threading.get_ident() == HERE else self.elsewhere).extend(rows)
        self.clock.now += self.spent * len(rows)


def ours(*rows: int) -> list[tuple[str, int]]:
    return [("ours", row) for row in rows]


def test_ours_are_filled_where_they_are_asked_for(
    threads: ThreadPoolExecutor, clock: Clock
) -> None:
    fill = Fill(clock)
    assert threads.submit(fill, ours(0, 1, 2)).done()
    assert (fill.here, fill.elsewhere) == ([0, 1, 2], [])


def test_others_go_where_they_went(threads: ThreadPoolExecutor, clock: Clock) -> None:
    fill = Fill(clock)
    threads.submit(fill, [("theirs", 0), ("ours", 1), ("theirs", 2)]).result(60)
    assert (fill.here, fill.elsewhere) == ([], [0, 1, 2])


def test_after_slow_masks_threads_are_used_until_masks_are_quick(
    threads: ThreadPoolExecutor, clock: Clock
) -> None:
    fill = Fill(clock, SLOW)
    threads.submit(fill, ours(0, 1)).result(60)
    threads.submit(fill, ours(2, 3)).result(60)
    threads.submit(fill, ours(4, 5)).result(60)
    assert (fill.here, fill.elsewhere) == ([0, 1], [2, 3, 4, 5])
    fill.spent = 1
    threads.submit(fill, ours(6)).result(60)
    threads.submit(fill, ours(7)).result(60)
    assert (fill.here, fill.elsewhere) == ([0, 1, 7], [2, 3, 4, 5, 6])


def test_a_mask_that_cost_what_a_thread_costs_is_not_slow(
    threads: ThreadPoolExecutor, clock: Clock
) -> None:
    fill = Fill(clock, fill_threads._WORTH_A_THREAD)
    threads.submit(fill, ours(0)).result(60)
    threads.submit(fill, ours(1)).result(60)
    assert fill.here == [0, 1]


def test_an_error_reaches_whoever_waits(threads: ThreadPoolExecutor, clock: Clock) -> None:
    waiting = threads.submit(Fill(clock), [("bad", 0)])
    with pytest.raises(ValueError, match="bad"):
        waiting.result(60)


def test_an_executor_gets_back_what_it_had(threads: ThreadPoolExecutor, clock: Clock) -> None:
    for _ in range(2):
        fill_threads.detach(threads)
        fill = Fill(clock)
        threads.submit(fill, ours(0)).result(60)
        assert (fill.here, fill.elsewhere) == ([], [0])


def test_a_small_engine_has_no_executor_to_replace() -> None:
    fill_threads.attach(None, lambda _: True)
    fill_threads.detach(None)
