"""The threads to which vLLM gives the masks of a step of more than 128 structured requests.

Owns: which masks go there, and which are filled where they are asked for. Must not know: what a
mask is computed from, what an enforced grammar is.

vLLM hands such a step out in batches of sixteen, to as many as eight threads. A mask of ours that
is there already is a copy of 20 KB and some lines of Python around it: eight threads that each want
the interpreter's lock for a few microseconds at a time need six times as long for it as one does.
A mask that has to be computed, for which our engines leave that lock, is worth a thread. Which it
is, the masks before tell.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NAME = "executor_for_fillmask"  # of vLLM's manager
_WORTH_A_THREAD = 100_000  # ns of work a row, in the mean of a batch


class FillThreads(Executor):
    """In place of the executor that a `StructuredOutputManager` has for its masks.

    Args:
        threads: that executor.
        is_ours: tells whether a grammar is enforced by us; the others' go where they went.

    """

    def __init__(self, threads: Executor, is_ours: Callable[[Any], bool]) -> None:
        self.threads = threads
        self._is_ours = is_ours
        self._are_slow = False

    def submit(self, fill: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Fill a batch, of `(grammar, row, ...)`, or have it filled; both are vLLM's own.

        Raises what `fill` does for those that are filled here, as waiting for the future would.
        """
        (batch,) = args
        if self._are_slow:
            return self.threads.submit(self._timed, fill, batch)
        ours = [each for each in batch if self._is_ours(each[0])]
        others = [each for each in batch if not self._is_ours(each[0])]
        found: Future[Any] = Future()
        if others:
            found = self.threads.submit(fill, others, **kwargs)
        else:
            found.set_result(None)
        if ours:
            self._timed(fill, ours)
        return found

    def _timed(self, fill: Callable[..., Any], batch: Sequence[Any]) -> None:
        begun = thread_time_ns()
        fill(batch)
        self._are_slow = thread_time_ns() - begun > _WORTH_A_THREAD * len(batch)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as its base has it
        """End the threads, as an executor's."""
        self.threads.shutdown(wait, cancel_futures=cancel_futures)


def attach(manager: Any, is_ours: Callable[[Any], bool]) -> None:
    """Put them in place; an engine for 128 sequences or fewer has none, and keeps none."""
    threads = getattr(manager, _NAME, None)
    if threads is not None:
        setattr(manager, _NAME, FillThreads(threads, is_ours))


def detach(manager: Any) -> None:
    """Put back what was there before `attach`."""
    threads = getattr(manager, _NAME, None)
    if isinstance(threads, FillThreads):
        setattr(manager, _NAME, threads.threads)
