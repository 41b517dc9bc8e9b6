"""Answers about languages that are kept, so few that a process does not notice.

Owns: which answers are kept between questions, by what they and the languages weigh. Must not
know: what is asked.

`functools.lru_cache` counts its entries. A language may be a union of thousands of texts, and
thousands of such entries are gigabytes; small ones are counted here, the others are weighed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Generic, TypeVar, TypeVarTuple

from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_Rest = TypeVarTuple("_Rest")
_T = TypeVar("_T")

_SMALL = 64  # sizes of languages that are counted; few are larger than 10 KB with all in them
_SMALL_ONES = 2_048
_LARGE_ONES = 16 << 20  # bytes of the others, for each question

# What a part takes beside its text, and a range of characters.
_PART = 150
_RANGE = 60


def kept(ask: Callable[[Regex, *_Rest], _T]) -> Callable[[Regex, *_Rest], _T]:
    """Keep the last answers to a question about a language; arguments by position alone."""
    small = lru_cache(maxsize=_SMALL_ONES)(ask)
    large: Weighed[_T] = Weighed(_LARGE_ONES)

    @wraps(ask)
    def answer(regex: Regex, *rest: *_Rest) -> _T:
        if regex.size <= _SMALL:
            return small(regex, *rest)
        key = (regex, *rest)
        known = large.get(key)
        if known is None:
            known = (ask(regex, *rest),)
            large.put(key, known[0])
        return known[0]

    return answer


class Weighed(Generic[_T]):
    """Answers by what was asked, within a budget; the least recently used go first.

    Args:
        most: bytes that all entries may weigh together.

    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.weight = 0
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[object, ...], tuple[_T, int]] = OrderedDict()

    def get(self, key: tuple[object, ...]) -> tuple[_T] | None:
        """Give the answer, in a tuple of its own; None where there is none."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[:1]

    def put(self, key: tuple[object, ...], answer: _T) -> None:
        """Keep an answer, unless it is too heavy."""
        weight = _weight(key) + _weight(answer)
        if weight > self.most:
            return
        with self._lock:
            _, old = self._entries.pop(key, (None, 0))
            self._entries[key] = (answer, weight)
            self.weight += weight - old
            while self.weight > self.most:
                _, (_, gone) = self._entries.popitem(last=False)
                self.weight -= gone


def _weight(value: object) -> int:
    """Estimate bytes, shared parts counted each time."""
    total = 0
    pending = [value]
    while pending:
        part = pending.pop()
        total += _PART
        if isinstance(part, str):
            total += len(part)
        elif isinstance(part, Literal):
            total += len(part.text)
        elif isinstance(part, Chars):
            total += _RANGE * len(part.chars.ranges)
        elif isinstance(part, Repeat | Complement):
            pending.append(part.part)
        elif isinstance(part, Concat | Union | Intersection):
            pending.extend(part.parts)
        elif isinstance(part, tuple | frozenset):
            pending.extend(part)
    return total
