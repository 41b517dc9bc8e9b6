"""The positions that a turn has left, for as far back as it may be rolled back.

Owns: which positions were left, in what order. Long texts leave one position again and again, so
equal neighbours are kept once, with a count; nothing is allocated for an id that stays where it is.
Must not know: what a position is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

_T = TypeVar("_T")


class RollbackStack(Generic[_T]):
    """A stack of which the oldest entries may be lost.

    Args:
        most: how many entries can be taken back at any time; None for all.

    """

    __slots__ = ("_counts", "_entries", "_kept", "most")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._kept = 0
        # The runs: what was left, and how many times in a row.
        self._entries: deque[_T] = deque()
        self._counts: deque[int] = deque()

    def __len__(self) -> int:
        return self._kept

    def push(self, entry: _T) -> None:
        """Remember one more entry, and forget the oldest if there are too many."""
        if self._entries and self._entries[-1] is entry:
            self._counts[-1] += 1
        else:
            self._entries.append(entry)
            self._counts.append(1)
        self._kept += 1
        if self.most is not None and self._kept > self.most:
            self._kept -= 1
            self._counts[0] -= 1
            if not self._counts[0]:
                self._counts.popleft()
                self._entries.popleft()

    def pop(self, count: int) -> Iterator[tuple[_T, int]]:
        """Take back `count` entries, at most as many as are kept: runs, the latest first."""
        while count:
            run = min(count, self._counts[-1])
            entry = self._entries[-1]
            self._counts[-1] -= run
            if not self._counts[-1]:
                self._counts.pop()
                self._entries.pop()
            self._kept -= run
            count -= run
            yield entry, run
