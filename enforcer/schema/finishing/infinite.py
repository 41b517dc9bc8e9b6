"""Which languages of strings are infinite, or as good as that.

Owns: which languages have infinitely many members, or more than any text has elements, which have
them behind every prefix of a member, and which are small enough to be explored state by state. Must
not know: what the strings are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import ANY
from enforcer.regex.caching import cached, canonical
from enforcer.regex.derivative import closure, is_empty, successors
from enforcer.regex.minimal_automaton import TooManyStates, shortest_ends
from enforcer.regex.syntax import names_in

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.regex.charset import CharSet

_MOST_STATES = 200  # of a language that only exploring tells what is left of
_MANY = 10**7  # more than the elements of any text
_COUNTED = 24  # states that are looked at to tell that, for it may be asked within a mask
_FOLLOWED = 100  # states of which it is told whether all are such


@cached
def is_infinite(language: Regex) -> bool:
    """Tell whether a language has infinitely many members; False if that is hard to say."""
    if not language.boolean:
        return language.longest is None
    ahead = _ahead(language)
    if ahead is None:
        return False
    while ends := {state for state, after in ahead.items() if not after}:
        ahead = {s: after - ends for s, after in ahead.items() if s not in ends}
    return bool(ahead)  # what is left of them goes round


@cached
def is_vast(language: Regex) -> bool:
    """Tell whether a language has more members than any text has elements.

    False if that is hard to say. A greatest length makes a language finite, but hardly smaller.
    """
    if not language.boolean and is_infinite(language):
        return True
    return _has_many(language) or is_infinite(language)


@cached
def stays_vast(language: Regex, length: int) -> bool:
    """Tell whether a language is vast behind all beginnings of its members, up to a length.

    False if that is hard to say.
    """
    level = {language}
    looked_at = 0
    for _ in range(length + 1):
        looked_at += len(level)
        if looked_at > _FOLLOWED or not all(map(is_vast, level)):
            return False
        following = {after for state in level for _, after in moves(state)}
        if following == level:
            return True
        level = following
    return True


def _has_many(language: Regex) -> bool:
    """Count beginnings of one length that lead to a member: none of these is another's."""
    ended, looked_at, level = 0, 0, {language: 1}
    while level and (looked_at := looked_at + len(level)) <= _COUNTED:
        following: dict[Regex, int] = {}
        for state, count in level.items():
            ended += count * state.nullable
            for members, after in moves(state):
                following[after] = following.get(after, 0) + count * len(members)
        if ended + sum(following.values()) >= _MANY:
            return True
        level = following
    return False


@cached
def moves(language: Regex) -> tuple[tuple[CharSet, Regex], ...]:
    """List the classes of next characters, each with what follows, that lead to a member."""
    found = successors(language)
    return tuple(
        (x, canonical(after)) for x, after in found if not after.boolean or not is_empty(after)
    )


@cached
def stays_infinite(language: Regex) -> bool:
    """Tell whether infinitely many members begin with each prefix of one; False if hard to say."""
    if language == ANY:
        return True
    ahead = _ahead(language)
    return ahead is not None and all(ahead.values())


def can_be_explored(strings: Regex) -> bool:
    """Tell whether it costs little to find out what is left of a language."""
    return not strings.boolean or _ahead(strings) is not None


@cached
def _ahead(language: Regex) -> dict[int, set[int]] | None:
    """Give the states that lead to a member, each with those that follow; None if it is large."""

    def admit(state: Regex, before: int) -> None:
        if before >= _MOST_STATES or any(names_in(state)):
            raise TooManyStates(_MOST_STATES)

    try:
        admit(language, 0)
        states, rows = closure(language, successors, admit)
    except TooManyStates:
        return None
    ends = shortest_ends([state.nullable for state in states], rows)
    live = {at for at, end in enumerate(ends) if end is not None}
    return {at: {to for _, to in rows[at] if to in live} for at in live | {0}}
