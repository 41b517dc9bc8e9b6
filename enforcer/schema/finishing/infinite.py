"""Which languages of strings are infinite.

Owns: which languages have infinitely many members, which have them behind every prefix of a member,
and which are small enough to be explored state by state. Must not know: what the strings are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import ANY
from enforcer.regex.caching import cached
from enforcer.regex.derivative import is_empty, successors
from enforcer.regex.syntax import names_in

if TYPE_CHECKING:
    from enforcer.regex import Regex

_MOST_STATES = 200  # of a language that only exploring tells what is left of


@cached
def is_infinite(language: Regex) -> bool:
    """Tell whether a language has infinitely many members; False if that is hard to say."""
    if not language.boolean:
        return language.longest is None
    if not can_be_explored(language):
        return False
    ahead = _ahead(language)
    while ends := {state for state, after in ahead.items() if not after}:
        ahead = {s: after - ends for s, after in ahead.items() if s not in ends}
    return bool(ahead)  # what is left of them goes round


@cached
def stays_infinite(language: Regex) -> bool:
    """Tell whether infinitely many members begin with each prefix of one; False if hard to say."""
    if language == ANY:
        return True
    return _is_small(language) and all(_ahead(language).values())


def _ahead(language: Regex) -> dict[Regex, set[Regex]]:
    """Give the states of a language that lead to a member, each with those that follow it."""
    ahead: dict[Regex, set[Regex]] = {}
    queue = [language]
    for state in queue:
        if state not in ahead:
            ahead[state] = {after for _, after in successors(state) if not is_empty(after)}
            queue.extend(ahead[state])
    return ahead


def can_be_explored(strings: Regex) -> bool:
    """Tell whether it costs little to find out what is left of a language."""
    return not strings.boolean or _is_small(strings)


def _is_small(strings: Regex) -> bool:
    seen = {strings}
    queue = [strings]
    for state in queue:
        if len(seen) > _MOST_STATES or any(names_in(state)):
            return False
        fresh = [after for _, after in successors(state) if after not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    return True
