"""The elements that an array has so far, and what may still become another one.

A beginning of an element is *spent* if all that it could become is there already; to write it would
be a dead end. The shortest spent beginnings are kept: whenever an element is added, only its own
beginnings can have become spent, and the beginnings of one that is not are none either.

Owns: both, for one array; immutable. Must not know: texts around the element, ids.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex import ANY, NOTHING, finite_members, is_empty
from enforcer.regex.charset import CharSet
from enforcer.regex.derivative import derivative, successors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.partial import Partial
    from enforcer.regex import Regex

# Elements above which each next one counts as the one that may be the last.
_MANY = 4_000


class Memory:
    """What one array holds.

    Attributes:
        texts: its elements.

    """

    __slots__ = ("_before", "_finite", "_language", "_last", "_may_fill_up", "_spent", "texts")

    def __init__(self, language: Regex, before: Memory | None = None, last: str = "") -> None:
        """Begin an array, or add a last element to what it held before."""
        self._language = language
        self._before = before
        self._last = last
        self._finite = language.longest is not None or language.boolean
        self.texts: frozenset[str] = frozenset() if before is None else before.texts | {last}
        # Found out when they are first asked for; most places are only tried.
        self._spent: frozenset[str] | None = frozenset() if before is None else None
        self._may_fill_up: bool | None = None

    @property
    def is_full(self) -> bool:
        """Whether no other element can follow."""
        return self._has_at_most(len(self.texts)) and "" in self.spent

    @property
    def may_fill_up(self) -> bool:
        """Whether the next element may be the last that there is."""
        if self._may_fill_up is None:
            self._may_fill_up = self._has_at_most(len(self.texts) + 1)
        return self._may_fill_up

    def _has_at_most(self, count: int) -> bool:
        """Tell whether the language has no more members; True as well where they are too many."""
        return self._finite and (count > _MANY or _has_at_most(self._language, count))

    def with_element(self, text: str) -> Memory:
        """Return the memory with one element more."""
        return Memory(self._language, self, text)

    @property
    def spent(self) -> frozenset[str]:
        """The shortest spent beginnings of elements."""
        if self._spent is None:
            self._spent = self._found_spent()
            self._before = None
        return self._spent

    def _found_spent(self) -> frozenset[str]:
        before = frozenset() if self._before is None else self._before.spent
        text, language = self._last, self._language
        if language == ANY:
            return before
        states = [language]
        for char in text:
            states.append(derivative(states[-1], char))
        first = len(text) + 1
        while first > 0 and not _lives(states[first - 1], _tails(self.texts, text[: first - 1])):
            first -= 1
        if first > len(text):
            return before
        start = text[:first]
        return frozenset(each for each in before if not each.startswith(start)) | {start}

    def leads_on(self, text: str, partial: Partial) -> bool:
        """Tell whether a beginning with a part of a character can become another element."""
        allowed = partial.characters
        state = self._language
        for char in text:
            state = derivative(state, char)
        ends = {each[len(text)] for each in self.spent if each[:-1] == text}
        return any(
            members & allowed & ~CharSet.span(*ends) if ends else members & allowed
            for members, _ in _living(state)
        )


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
