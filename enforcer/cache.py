"""What is kept between requests, weighed in bytes.

Owns: one budget for everything that is put into it, who is first to go (the least recently
used), and that a value which several ask for at once is made once. Must not know: what the
values are.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from enforcer.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_T = TypeVar("_T")

# What an entry costs beside its value: its key (a digest), its places in two tables.
_ENTRY = 400


@dataclass(slots=True)
class _Entry:
    value: Any
    weigh: Callable[[Any], int]
    weight: int


class Cache:
    """Values by key, within a budget; safe to use from several threads at once.

    A value may grow while it is kept: it is weighed again whenever it is asked for. One that
    is heavier than the whole budget is given to whoever asked, and not kept.

    Args:
        budget: bytes that all values may weigh together.

    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        # What is being made; with whoever waits for it, if anybody does.
        self._making: dict[Hashable, Future[Any] | None] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Bytes that the values weighed when they were last asked for."""
        return self._weight

    def get(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        """Give the value of a key; made by the first who asks, awaited by the others.

        Args:
            key: should begin with a word that says what kind of value it is.
            make: makes the value; what it raises is not kept. Those who wait get it too where
                it says that what they all ask for is wrong. Anything else is the affair of
                the one who made it, and they make the value themselves.
            weigh: gives the value's present weight in bytes; cheap.

        """
        while True:
            with self._lock:
                found, value = self._look_up(key)
                if found:
                    self.hits += 1
                    return cast("_T", value)
                if key not in self._making:
                    self.misses += 1
                    self._making[key] = None
                    break
                underway = self._making[key]
                if underway is None:
                    underway = self._making[key] = Future()
            error = underway.exception()
            if error is None:
                return cast("_T", underway.result())
            if isinstance(error, RequestError):
                raise error
        return self._make(key, make, weigh)

    def _make(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        try:
            made = make()
            weight = weigh(made) + _ENTRY
        except BaseException as error:
            with self._lock:
                awaited = self._making.pop(key)
            if awaited is not None:
                awaited.set_exception(error)
            raise
        with self._lock:
            awaited = self._making.pop(key)
            self._keep(key, _Entry(made, weigh, weight))
        if awaited is not None:
            awaited.set_result(made)
        return made

    def peek(self, key: Hashable) -> Any:
        """Give the value of a key if it is there; None where it is not, or being made."""
        with self._lock:
            return self._look_up(key)[1]

    def _look_up(self, key: Hashable) -> tuple[bool, Any]:
        entry = self._entries.get(key)
        if entry is None:
            return False, None
        self._entries.move_to_end(key)
        weight = entry.weigh(entry.value) + _ENTRY
        if weight != entry.weight:
            self._weight += weight - entry.weight
            entry.weight = weight
            self._shrink()
        return True, entry.value

    def _keep(self, key: Hashable, entry: _Entry) -> None:
        if entry.weight > self.budget:
            return
        self._entries[key] = entry
        self._weight += entry.weight
        self._shrink()

    def _shrink(self) -> None:
        while self._weight > self.budget:
            _, gone = self._entries.popitem(last=False)
            self._weight -= gone.weight
