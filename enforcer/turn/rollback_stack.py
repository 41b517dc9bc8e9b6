"""Stack of a turn's earlier positions, for as many ids as may be rolled back.

Owns: the positions, each with the number of ids before it; an id that keeps the position costs
nothing. Must not know: the fields of a position.
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
        most: how many ids can be taken back at any time; None for all.

    """

    __slots__ = ("_first", "_left", "most")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self._first = 0  # how many ids can no longer be taken back
        self._left: deque[tuple[int, _T]] = deque()

    def push(self, accepted: int, entry: _T) -> None:
        """Remember a position that the id after so many has left."""
        self._left.append((accepted, entry))

    def let_go(self, accepted: int) -> int:
        """Forget entries that lie too far back; return how many of the ids can be taken back."""
        if self.most is not None:
            self._first = max(self._first, accepted - self.most)
            while self._left and self._left[0][0] < self._first:
                self._left.popleft()
        return accepted - self._first

    def pop(self, accepted: int, to: int) -> Iterator[tuple[_T, int]]:
        """Take back entries, the latest first, until so many ids are left.

        Yields each with the number of ids since it was left; the one that left it is the first.
        """
        while self._left and self._left[-1][0] >= to:
            at, entry = self._left.pop()
            yield entry, accepted - at
            accepted = at
