"""The executor of vLLM's masks, for steps of more than 128 structured requests.

vLLM submits such a step in batches of sixteen to as many as eight threads. A mask of ours that is
cached is a copy of 20 KB and some lines of Python around it: eight threads that each want the
interpreter's lock for a few microseconds at a time need six times as long for it as one does. A
mask that has to be computed, for which our engines release that lock, is worth a thread. The
batches before tell which it is.
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
    """Fills batches of cached masks in the calling thread, and has all others filled.

    Args:
        threads: the executor that a `StructuredOutputManager` has for its masks.
        is_ours: returns whether a grammar is enforced by us.

    """

    def __init__(self, threads: Executor, is_ours: Callable[[Any], bool]) -> None:
        self.threads = threads
        self._is_ours = is_ours
        self._are_slow = False

    def submit(self, fill: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Fill a batch of `(grammar, row, ...)`, or have it filled; both are vLLM's own.

        Raises what `fill` does if it fills them here.
        """
        (batch,) = args
        if not all(self._is_ours(each[0]) for each in batch):
            return self.threads.submit(fill, batch, **kwargs)
        if self._are_slow:
            return self.threads.submit(self._timed, fill, batch)
        self._timed(fill, batch)
        done: Future[Any] = Future()
        done.set_result(None)
        return done

    def _timed(self, fill: Callable[..., Any], batch: Sequence[Any]) -> None:
        begun = thread_time_ns()
        fill(batch)
        self._are_slow = thread_time_ns() - begun > _WORTH_A_THREAD * len(batch)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as its base has it
        """End the threads, as an executor's."""
        self.threads.shutdown(wait, cancel_futures=cancel_futures)


def attach(manager: Any, is_ours: Callable[[Any], bool]) -> None:
    """Wrap a manager's executor; an engine for 128 sequences or fewer has none."""
    threads = getattr(manager, _NAME, None)
    if threads is not None:
        setattr(manager, _NAME, FillThreads(threads, is_ours))


def detach(manager: Any) -> None:
    """Undo `attach`."""
    threads = getattr(manager, _NAME, None)
    if isinstance(threads, FillThreads):
        setattr(manager, _NAME, threads.threads)
