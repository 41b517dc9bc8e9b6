"""Which languages of strings are infinite.

Owns: which languages have infinitely many members, and which have them behind every prefix of a
member. Must not know: what the strings are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import ANY
from enforcer.regex.caching import cached
from enforcer.regex.derivative import TooManyStates, closure, shortest_ends, successors
from enforcer.regex.syntax import names_in

if TYPE_CHECKING:
    from enforcer.regex import Regex

_MOST_STATES = 200  # of a language that only exploring tells what is left of


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
def stays_infinite(language: Regex) -> bool:
    """Tell whether infinitely many members begin with each prefix of one; False if hard to say."""
    if language == ANY:
        return True
    ahead = _ahead(language)
    return ahead is not None and all(ahead.values())


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
