"""Which tokens an automaton over bytes reads: a walk through the vocabulary and its places.

Owns: that walk, which costs what the automaton can read of the vocabulary, not all of it. Must
not know: dialects, what the places are.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.vocabulary import Vocabulary

_P = TypeVar("_P")
_LAST = 0xFF


@dataclass(frozen=True, slots=True)
class Walked:
    """Ids of text by how far an automaton reads them.

    Attributes:
        inside: those that it reads whole and goes on after.
        done: those after whose last byte it is done.
        beyond: those after whose beginning it is done, with more bytes behind.

    """

    inside: tuple[int, ...]
    done: tuple[int, ...]
    beyond: tuple[int, ...]


def walk(
    vocabulary: Vocabulary,
    start: _P,
    step: Callable[[_P, int], _P | None],
    is_done: Callable[[_P], bool],
) -> Walked:
    """Read every token that can be read.

    Args:
        vocabulary: the tokens.
        start: the place before any byte.
        step: gives the place after a byte; None where it cannot stand.
        is_done: whether nothing is read after a place.

    """
    keys, ids = vocabulary.sorted_text
    inside: list[int] = []
    done: list[int] = []
    beyond: list[int] = []
    todo = [(start, 0, len(keys), 0)]
    while todo:
        place, first, last, depth = todo.pop()
        finished = depth > 0 and is_done(place)
        while depth and first < last and len(keys[first]) == depth:
            (done if finished else inside).append(ids[first])
            first += 1
        if finished:
            beyond.extend(ids[first:last])
            continue
        while first < last:
            key = keys[first]
            end = _behind(keys, key[: depth + 1], first, last)
            after = step(place, key[depth])
            if after is not None:
                todo.append((after, first, end, depth + 1))
            first = end
    return Walked(tuple(inside), tuple(done), tuple(beyond))


def _behind(keys: tuple[bytes, ...], prefix: bytes, low: int, high: int) -> int:
    """Find where the keys end that begin with a prefix."""
    while prefix and prefix[-1] == _LAST:
        prefix = prefix[:-1]
    if not prefix:
        return high
    return bisect_left(keys, prefix[:-1] + bytes([prefix[-1] + 1]), low, high)
