"""LRU cache with a budget in bytes, shared by all results kept between requests.

A value that several threads ask for at once is made once. Mask rows of arguments are cached in
`kernel.rows` instead. Must not know: what the values are.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from enforcer.errors import RequestError

_T = TypeVar("_T")

# Bytes of an entry besides its value: a key (a digest), and places in two tables.
_ENTRY = 400
_EXCESS = 8  # counters may exceed the budget by an eighth until values are dropped


class ByteCounter(Protocol):
    """A counter of bytes that change all the time and may belong to several values.

    Attributes:
        bytes: the bytes now in use.
        most: the greatest number allowed, set by the cache.

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

    A value may grow: it is weighed again at each look-up. One that is heavier than the whole budget
    is returned, but not kept.

    Args:
        budget: bytes that all values and counters may have together.

    Attributes:
        hits, misses: number of look-ups that found a value, and that made one.

    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _CachedValue] = OrderedDict()
        self._making: dict[Hashable, Future[Any]] = {}
        self._weight = 0  # sum of the values' weights when they were last asked for
        self._counters: set[ByteCounter] = set()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Bytes of the values at their last look-up, and of the counters now."""
        return self._weight + sum(each.bytes for each in self._counters)

    def count(self, counter: ByteCounter) -> None:
        """Add a counter, whose bytes count besides the values' weights.

        Its `most` is kept at what the values leave of the budget, plus an eighth of the budget.
        """
        with self._lock:
            self._counters.add(counter)
            self._add(0)

    def get(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        """Return the value of a key; if missing, make it while other threads wait.

        Args:
            key: begins with a word for the kind of value, by convention.
            make: makes the value. Its errors are raised, and not cached. Waiting threads get a
                `RequestError` too; after any other error they make the value themselves.
            weigh: returns the value's present weight in bytes; cheap.

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
        """Return the value of a key; None if it is missing or being made."""
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
        while (total := self.weight) > self.budget and self._entries:
            _, gone = self._entries.popitem(last=False)
            self._weight -= gone.weight
            del gone  # may lower the counters
        left = self.budget + self.budget // _EXCESS - total
        for each in self._counters:
            each.most = left + each.bytes
