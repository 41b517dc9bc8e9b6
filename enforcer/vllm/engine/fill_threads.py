"""Masks of a step of more than 128 structured requests, where they are cached.

vLLM submits such a step in batches of sixteen to as many as eight threads. A mask of ours that is
cached is a copy of 20 KB and some lines of Python around it: eight threads that each want the
interpreter's lock for a few microseconds at a time need six times as long for it as one does. A
mask that has to be computed, for which our engines release that lock, is worth a thread. The
batches before tell which it is.
"""

from __future__ import annotations

from concurrent.futures import Future
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

_WORTH_A_THREAD = 100_000  # ns of work a row, in the mean of a batch


def attach(executor: Executor | None, is_ours: Callable[[Any], bool]) -> None:
    """Have an executor fill batches of our grammars in the calling thread while they are cached.

    Args:
        executor: that of a `StructuredOutputManager` for its masks; an engine for 128 sequences or
            fewer has none.
        is_ours: returns whether a grammar is enforced by us.

    """
    if executor is None:
        return
    submit, are_slow = executor.submit, False

    def timed(fill: Callable[..., Any], batch: Sequence[Any]) -> None:
        nonlocal are_slow
        begun = thread_time_ns()
        fill(batch)
        are_slow = thread_time_ns() - begun > _WORTH_A_THREAD * len(batch)

    def _submit(fill: Callable[..., Any], batch: Sequence[Any]) -> Future[Any]:
        if not all(is_ours(each[0]) for each in batch):
            return submit(fill, batch)
        if are_slow:
            return submit(timed, fill, batch)
        timed(fill, batch)  # raises what waiting for the future would
        done: Future[Any] = Future()
        done.set_result(None)
        return done

    vars(executor)["submit"] = _submit


def detach(executor: Executor | None) -> None:
    """Undo `attach`."""
    if executor is not None:
        vars(executor).pop("submit", None)
