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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from enforcer.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_T = TypeVar("_T")

# What an entry costs beside its value: its key (a digest), its places in two tables.
_ENTRY = 400
_EXCESS = 8  # so much of the budget may memory grow beyond it until values are dropped for it


class ByteCounter(Protocol):
    """Counts bytes that change all the time, and may belong to several values.

    Attributes:
        bytes: of all that are alive.
        most: how many there may be.

    """

    bytes: int
    most: int


@dataclass(slots=True)
class _CachedValue:
    value: Any
    weigh: Callable[[Any], int]
    weight: int


class Cache:
    """Values by key, within a budget; safe to use from several threads at once.

    A value may grow while it is kept: it is weighed again whenever it is asked for. One that
    is heavier than the whole budget is given to whoever asked, and not kept.

    Args:
        budget: bytes that all values may weigh together, with what is counted beside them.

    Attributes:
        hits, misses: how often a value was there, and was made.

    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _CachedValue] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._weight = 0  # of the values when they were last asked for
        self._counters: set[ByteCounter] = set()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Bytes that the values weighed when they were last asked for, and what is counted now."""
        return self._weight + sum(each.bytes for each in self._counters)

    def count(self, counter: ByteCounter) -> None:
        """Count bytes beside the values' weights, those of values that are dropped and in use too.

        Its `most` is what the values leave of the budget, and an eighth of that.
        """
        with self._lock:
            self._counters.add(counter)
            self._add(0)

    def get(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        """Return the value of a key; made by the first who asks, awaited by the others.

        Args:
            key: should begin with a word that says what kind of value it is.
            make: makes the value; what it raises is not kept. Those who wait get it too where
                it says that what they all ask for is wrong. Anything else is the affair of
                the one who made it, and they make the value themselves.
            weigh: gives the value's present weight in bytes; cheap.

        """
        while True:
            with self._lock:
                entry = self._look_up(key)
                if entry is not None:
                    self.hits += 1
                    return cast("_T", entry.value)
                underway = self._making.get(key)
                if underway is None:
                    self.misses += 1
                    own = self._making[key] = Future[Any]()
                    break
            error = underway.exception()
            if error is None:
                return cast("_T", underway.result())
            if isinstance(error, RequestError):
                raise error
        try:
            made = make()
            entry = _CachedValue(made, weigh, weigh(made) + _ENTRY)
        except BaseException as error:
            with self._lock:
                del self._making[key]
            own.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            if entry.weight <= self.budget:
                self._entries[key] = entry
                self._add(entry.weight)
        own.set_result(made)
        return made

    def peek(self, key: Hashable) -> Any:
        """Return the value of a key if it is there; None where it is not, or being made."""
        with self._lock:
            entry = self._look_up(key)
            return None if entry is None else entry.value

    def _look_up(self, key: Hashable) -> _CachedValue | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
            before, entry.weight = entry.weight, entry.weigh(entry.value) + _ENTRY
            self._add(entry.weight - before)
        return entry

    def _add(self, weight: int) -> None:
        self._weight += weight
        while self._entries and self.weight > self.budget:
            _, gone = self._entries.popitem(last=False)
            self._weight -= gone.weight
            del gone  # what it alone has is no longer counted
        for each in self._counters:
            each.most = self.budget + self.budget // _EXCESS - self.weight + each.bytes
