"""A log line a minute on the slow masks of an engine, which names the tool that took most."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SLOW = 5_000_000  # ns
_SECONDS = 60.0  # between two lines


class SlowMasks:
    """The slow masks of a process; safe to use from several threads at once.

    Args:
        log: writes a line of fields.

    """

    def __init__(self, log: Callable[..., object]) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._next = time.monotonic()
        # Nanoseconds and request of each since the last line, by tool: few, being slow.
        self._seen: dict[str, list[tuple[int, str]]] = defaultdict(list)

    def see(self, spent: int, tool: Callable[[], str], request: str) -> None:
        """Take a mask into account.

        Args:
            spent: ns that it took, of a processor or by the wall clock.
            tool: returns the name of the tool whose arguments it is in; empty for text.
            request: id of its request.

        """
        if spent < _SLOW:
            return
        now = time.monotonic()
        with self._lock:
            if now >= self._next + _SECONDS:  # nothing was slow for so long
                self._seen.clear()
            self._seen[tool()].append((spent, request))
            if now < self._next:
                return
            self._next = now + _SECONDS
            total, name = max((sum(ns for ns, _ in m), name) for name, m in self._seen.items())
            masks = self._seen[name]
            self._seen.clear()
        longest, request = max(masks)
        self._log(
            tool=name,
            longest=f"{longest / 1e6:.1f} ms",
            masks=str(len(masks)),
            spent=f"{total / 1e6:.0f} ms",
            request=request,
        )
