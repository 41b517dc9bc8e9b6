"""Masks of a step of very many requests: which of them go to vLLM's threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)

from enforcer.vllm.engine.compile_executor import fill_in_one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
