"""Masks of a step of more than 128 structured requests, filled in one thread.

vLLM hands such a step to as many as eight threads, in batches of sixteen. A mask of ours takes a
microsecond or two of Python: eight threads that pass the interpreter's lock to each other for it
need up to five times as long as one.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor


def attach(executor: Executor | None, is_ours: Callable[[Any], bool]) -> None:
    """Have an executor fill batches of our grammars in the calling thread.

    Args:
        executor: that of a `StructuredOutputManager` for its masks; an engine for 128 sequences or
            fewer has none.
        is_ours: returns whether a grammar is enforced by us.

    """
    if executor is None:
        return
    submit = executor.submit

    def _submit(fill: Callable[..., Any], batch: Sequence[Any]) -> Future[Any]:
        if not all(is_ours(each[0]) for each in batch):
            return submit(fill, batch)
        done: Future[Any] = Future()
        done.set_result(fill(batch))  # raises what waiting for the future would
        return done

    vars(executor)["submit"] = _submit
