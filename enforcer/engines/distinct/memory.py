"""The elements that an array has so far, and what may still become another one.

A beginning of an element is *spent* if all that it could become is there already; to write it would
be a dead end. The shortest spent beginnings are kept: whenever an element is added, only its own
beginnings can have become spent, and the beginnings of one that is not are none either.

Owns: both, for one array; immutable. Must not know: texts around the element, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import NOTHING, finite_members, is_empty
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
        spent: the shortest spent beginnings of elements.
        is_full: whether no other element can follow.
        may_fill_up: whether the next element may be the last that there is.

    """

    __slots__ = ("_language", "_may_fill_up", "is_full", "spent", "texts")

    def __init__(
        self,
        language: Regex,
        texts: frozenset[str] = frozenset(),
        spent: frozenset[str] = frozenset(),
        *,
        is_full: bool = False,
    ) -> None:
        self._language = language
        self.texts = texts
        self.spent = spent
        self.is_full = is_full
        self._may_fill_up: bool | None = None  # found out when it is first asked for

    @property
    def may_fill_up(self) -> bool:
        """Whether the next element may be the last that there is."""
        if self._may_fill_up is None:
            count, language = len(self.texts) + 1, self._language
            finite = language.longest is not None or language.boolean
            many = count > _MANY
            self._may_fill_up = finite and (many or finite_members(language, count) is not None)
        return self._may_fill_up

    def with_element(self, text: str) -> Memory:
        """Return the memory with one element more."""
        texts = self.texts | {text}
        states = [self._language]
        for char in text:
            states.append(derivative(states[-1], char))
        first = len(text) + 1
        while first > 0 and not _lives(states[first - 1], _tails(texts, text[: first - 1])):
            first -= 1
        if first > len(text):
            return Memory(self._language, texts, self.spent)
        start = text[:first]
        kept = {each for each in self.spent if not each.startswith(start)}
        return Memory(self._language, texts, frozenset(kept | {start}), is_full=not first)

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
