"""Which tools slow masks are of, in the log.

Owns: from when on a mask is slow, and that a line a minute tells of all of them. Must not know: how
masks are computed, how a line is written.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_SLOW = 5_000_000  # ns
_SECONDS = 60.0  # between two lines
_MOST = 100  # tools between them; what others take goes untold


class Told(NamedTuple):
    """What a line says: of all tools since the last line, the one whose slow masks took most.

    Attributes:
        tool: its name; empty for text that has a format.
        request: the id of the request with the longest of its masks.
        longest: ns of that mask.
        masks: how many of it were slow.
        spent: ns that they took together.

    """

    tool: str
    request: str
    longest: int
    masks: int
    spent: int


class SlowMasks:
    """The slow masks of a process; safe to use from several threads at once.

    Args:
        tell: writes a line.
        clock: gives seconds.

    """

    def __init__(
        self, tell: Callable[[Told], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._next = clock()
        self._seen: dict[str, Told] = {}
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Have a lock of one's own in a forked child, where whoever held it is not."""
        self._lock = threading.Lock()
        self._seen = {}

    def see(self, spent: int, tool: Callable[[], str], request: str) -> None:
        """Take a mask into account.

        Args:
            spent: ns that it took, of a processor or by the wall clock.
            tool: gives the name of the tool whose arguments it is in.
            request: id of its request.

        """
        if spent < _SLOW:
            return
        now = self._clock()
        with self._lock:
            if now >= self._next + _SECONDS:  # nothing was slow for so long
                self._seen.clear()
            name = tool()
            known = self._seen.get(name)
            if known is not None:
                longest = max((spent, request), (known.longest, known.request))
                masks, total = known.masks + 1, known.spent + spent
                self._seen[name] = Told(name, longest[1], longest[0], masks, total)
            elif len(self._seen) < _MOST:
                self._seen[name] = Told(name, request, spent, 1, spent)
            if now < self._next:
                return
            self._next = now + _SECONDS
            told = max(self._seen.values(), key=lambda each: each.spent)
            self._seen.clear()
        self._tell(told)
