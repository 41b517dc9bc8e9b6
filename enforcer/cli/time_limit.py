"""A limit on the processor time of work that a person waits for.

Owns: the timer of this process. Must not know: what is done meanwhile.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class TooLong(BaseException):  # no `Exception`, lest what is ended take it for an error of its own
    """Work was ended."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End what is done inside after so much processor time of this process.

    Between two steps of Python: what a library does in one is not cut short. Only in the main
    thread, which alone is told of signals.

    Raises:
        TooLong: it was ended.

    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, end)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
