"""A log line a minute about the slow masks of an engine: a sample of them, and their number."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SLOW = 5_000_000  # ns
_SECONDS = 60.0  # between two lines


class SlowMasks:
    """The slow masks of a process.

    Several threads may use it at once. It has no lock: a count that is one too low does no harm.

    Args:
        log: writes a line of fields.

    """

    def __init__(self, log: Callable[..., object]) -> None:
        self._log = log
        self._next = time.monotonic()
        self._masks = 0  # since the last line

    def see(self, spent: int, tool: Callable[[], str], request: str) -> None:
        """Take a mask into account; log it if it is slow and the last line is a minute old.

        Args:
            spent: ns that it took, of a processor or by the wall clock.
            tool: returns the name of the tool whose arguments it is in; empty for text.
            request: id of its request.

        """
        if spent < _SLOW:
            return
        self._masks += 1
        now = time.monotonic()
        if now < self._next:
            return
        masks, self._masks, self._next = self._masks, 0, now + _SECONDS
        self._log(tool=tool(), took=f"{spent / 1e6:.1f} ms", masks=str(masks), request=request)
