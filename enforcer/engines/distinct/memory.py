"""The elements that an array has so far, and what may still become another one.

A beginning of an element is *spent* if all that it could become is there already; to write it would
be a dead end. The shortest spent beginnings are kept: whenever an element is added, only its own
beginnings can have become spent, and the beginnings of one that is not are none either.

A text may have ten thousand elements, and each place of it a memory of its own. So the memories of
one array share the list of its elements, and each knows how many of them are its own; the last
one is in the list only when another follows, for most places are only tried.

Owns: both, for one array. Must not know: texts around the element, ids.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from enforcer.regex import ANY, NOTHING, finite_members, is_empty
from enforcer.regex.charset import CharSet
from enforcer.regex.derivative import derivative, successors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enforcer.engines.distinct.written import Written
    from enforcer.partial import Partial
    from enforcer.regex import Regex

# Elements above which each next one counts as the one that may be the last.
_MANY = 4_000


class _Elements:
    """The elements of one array, of one text that goes on and back: there is one tip at a time."""

    __slots__ = ("at", "order")

    def __init__(self) -> None:
        self.order: list[str] = []
        self.at: dict[str, int] = {}

    def put(self, text: str, at: int) -> None:
        """Have an element at a place, and none behind it that stood there before."""
        if len(self.order) > at:
            if self.order[at] == text:
                return
            for gone in self.order[at:]:
                del self.at[gone]
            del self.order[at:]
        self.order.append(text)
        self.at[text] = at


class Memory:
    """What one array holds; iterates over its elements.

    Those of a text that has gone back may be asked no more.
    """

    __slots__ = (
        *("_before", "_count", "_elements", "_finite", "_language", "_last", "_may_fill_up"),
        *("_spent", "longest"),
    )

    def __init__(self, language: Regex) -> None:
        self._language = language
        self._finite = language.longest is not None or language.boolean
        self._elements = _Elements()
        self._count = 0  # of the shared elements
        self._last: str | None = None
        self.longest = -1  # characters of the longest element
        # Found out when they are first asked for.
        self._before: Memory | None = None
        self._spent: frozenset[str] | None = frozenset()
        self._may_fill_up: bool | None = None

    def __len__(self) -> int:
        return self._count + (self._last is not None)

    def __iter__(self) -> Iterator[str]:
        yield from islice(self._elements.order, self._count)
        if self._last is not None:
            yield self._last

    def __contains__(self, text: str) -> bool:
        return text == self._last or self._elements.at.get(text, self._count) < self._count

    @property
    def is_full(self) -> bool:
        """Whether no other element can follow."""
        return self._has_at_most(len(self)) and "" in self.spent

    @property
    def may_fill_up(self) -> bool:
        """Whether the next element may be the last that there is."""
        if self._may_fill_up is None:
            self._may_fill_up = self._has_at_most(len(self) + 1)
        return self._may_fill_up

    def _has_at_most(self, count: int) -> bool:
        """Tell whether the language has no more members; True as well where they are too many."""
        return self._finite and (count > _MANY or _has_at_most(self._language, count))

    def with_element(self, text: str) -> Memory:
        """Return the memory with one element more."""
        after = Memory(self._language)
        after._elements, after._count = self._elements, len(self)
        if self._last is not None:
            self._elements.put(self._last, self._count)
        after._last, after.longest = text, max(self.longest, len(text))
        if self._language != ANY:  # of which nothing is ever spent
            after._before, after._spent = self, None
        return after

    @property
    def spent(self) -> frozenset[str]:
        """The shortest spent beginnings of elements."""
        if self._spent is None:
            self._spent = self._found_spent()
            self._before = None
        return self._spent

    def _found_spent(self) -> frozenset[str]:
        before = frozenset() if self._before is None else self._before.spent
        text, language = self._last or "", self._language
        states = [language]
        for char in text:
            states.append(derivative(states[-1], char))
        first = len(text) + 1
        while first > 0 and not _lives(states[first - 1], _tails(self, text[: first - 1])):
            first -= 1
        if first > len(text):
            return before
        start = text[:first]
        return frozenset(each for each in before if not each.startswith(start)) | {start}

    def is_spent(self, written: Written) -> bool:
        """Tell whether what has been written is one of the shortest spent beginnings."""
        spent = self.spent
        return bool(spent) and written.length <= self.longest and written.whole() in spent

    def leads_on(self, written: Written, partial: Partial) -> bool:
        """Tell whether a beginning with a part of a character can become another element.

        Only what is spent tells it not to: whether the language goes on so is not asked here.
        """
        if not self.spent or written.length >= self.longest:
            return True
        text = written.whole()
        ends = {each[len(text)] for each in self.spent if each and each[:-1] == text}
        if not ends:
            return True
        state = self._language
        for char in text:
            state = derivative(state, char)
        others = partial.characters & ~CharSet.span(*ends)
        return any(members & others for members, _ in _living(state))


def _tails(texts: Iterable[str], start: str) -> frozenset[str]:
    return frozenset(text[len(start) :] for text in texts if text.startswith(start))


def _living(language: Regex) -> Iterable[tuple[CharSet, Regex]]:
    return (
        (members, after)
        for members, after in successors(language)
        if not after.boolean or not is_empty(after)
    )


def _lives(language: Regex, used: frozenset[str]) -> bool:
    """Tell whether a language has a member that is not used."""
    if not used:
        return language != NOTHING
    if language.nullable and "" not in used:
        return True
    heads = CharSet.span(*{text[0] for text in used if text}) if any(used) else CharSet(())
    moves = list(_living(language))
    if any(members & ~heads for members, _ in moves):
        return True
    return any(
        _lives(derivative(language, char), _tails(used, char))
        for members, _ in moves
        for char in members & heads
    )


@lru_cache(maxsize=1_024)
def _has_at_most(language: Regex, count: int) -> bool:
    return finite_members(language, count) is not None
