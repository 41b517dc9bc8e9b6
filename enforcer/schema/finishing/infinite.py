"""Which languages of strings are infinite.

Owns: which languages have infinitely many members, and which have them behind every prefix of a
member. Must not know: what the strings are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex import ANY
from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import FAR, heights, trimmed
from enforcer.regex.caching import cached

if TYPE_CHECKING:
    from enforcer.regex import Regex

_MOST_STATES = 1_000  # of a language that only exploring tells what is left of


@cached
def is_infinite(language: Regex) -> bool:
    """Tell whether a language has infinitely many members; False if that is hard to say."""
    if not language.boolean:
        return language.longest is None
    return FAR in (_heights(language) or ())


@cached
def stays_infinite(language: Regex) -> bool:
    """Tell whether infinitely many members begin with each prefix of one; False if hard to say."""
    if language == ANY:
        return True
    found = _heights(language)
    return found is not None and all(each == FAR for each in found)


@cached
def _heights(language: Regex) -> list[int] | None:
    """Return the length of the longest member behind each state; None if it has many states."""
    try:
        found, leads, _ = trimmed(explore((language,), _MOST_STATES))
    except TooLargeError:
        return None
    return heights(found.rows) if leads[0] else []
