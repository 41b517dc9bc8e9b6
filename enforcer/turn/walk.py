"""Search for the tokens that an automaton over bytes reads, along the sorted vocabulary.

Owns: that search, whose cost grows with the tokens that the automaton can begin to read, not with
the vocabulary. Must not know: dialects, the automaton's states.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from enforcer.vocabulary import Vocabulary

_P = TypeVar("_P")
_LAST = 0xFF


@dataclass(frozen=True, slots=True)
class Span:
    """Ids of text whose bytes begin alike: a part of the vocabulary's order.

    Attributes:
        first, last: where it begins, and ends before, in `Vocabulary.sorted_text`.
        depth: how many bytes they have in common, being longer or as long.

    """

    first: int
    last: int
    depth: int


@dataclass(frozen=True, slots=True)
class Walked:
    """Ids of text by how far an automaton reads them.

    Attributes:
        inside: those that it reads whole and goes on after.
        done: those after whose last byte it is done.
        spans: those after whose beginning it is done, with more bytes behind.

    """

    inside: tuple[int, ...]
    done: tuple[int, ...]
    spans: tuple[Span, ...]

    def beyond(self, vocabulary: Vocabulary) -> Iterator[int]:
        """Return the ids of the spans."""
        _, ids = vocabulary.sorted_text
        return chain.from_iterable(ids[span.first : span.last] for span in self.spans)


def walk(
    vocabulary: Vocabulary,
    start: _P,
    step: Callable[[_P, int], _P | None],
    is_done: Callable[[_P], bool],
    span: Span | None = None,
) -> Walked:
    """Read every token that can be read.

    Args:
        vocabulary: the tokens.
        start: the place before any byte that is read.
        step: gives the place after a byte; None where it cannot stand.
        is_done: whether nothing is read after a place.
        span: the tokens that are read, each behind the bytes that they have in common; None for
            all. Those without any more are left out.

    """
    keys, ids = vocabulary.sorted_text
    inside: list[int] = []
    done: list[int] = []
    spans: list[Span] = []
    begin = Span(0, len(keys), 0) if span is None else span
    todo = [(start, begin.first, begin.last, begin.depth)]
    while todo:
        place, first, last, depth = todo.pop()
        finished = depth > begin.depth and is_done(place)
        while first < last and len(keys[first]) == depth:
            if depth > begin.depth:
                (done if finished else inside).append(ids[first])
            first += 1
        if finished:
            if first < last:
                spans.append(Span(first, last, depth))
            continue
        while first < last:
            key = keys[first]
            end = end_of(keys, key[: depth + 1], first, last)
            after = step(place, key[depth])
            if after is not None:
                todo.append((after, first, end, depth + 1))
            first = end
    return Walked(tuple(inside), tuple(done), tuple(spans))


def beginning(vocabulary: Vocabulary, data: bytes) -> Span:
    """Return the tokens that begin with some bytes."""
    keys, _ = vocabulary.sorted_text
    return Span(*alike(keys, data, 0, len(keys)), len(data))


def alike(keys: Sequence[bytes], prefix: bytes, low: int, high: int) -> tuple[int, int]:
    """Narrow a range of sorted keys to those that begin with a prefix."""
    low = bisect_left(keys, prefix, low, high)
    return low, end_of(keys, prefix, low, high)


def end_of(keys: Sequence[bytes], prefix: bytes, low: int, high: int) -> int:
    """Find where the keys end that begin with a prefix, in a range that has none before these."""
    while prefix and prefix[-1] == _LAST:
        prefix = prefix[:-1]
    if not prefix:
        return high
    return bisect_left(keys, prefix[:-1] + bytes([prefix[-1] + 1]), low, high)
