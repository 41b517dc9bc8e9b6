"""Which languages of strings are infinite.

Owns: that question. Must not know: what the strings are for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import FAR, heights, trimmed
from enforcer.regex.syntax import cached

if TYPE_CHECKING:
    from enforcer.regex import Regex

_MOST_STATES = 1_000  # of a language that only exploring tells what is left of


@cached
def is_infinite(language: Regex) -> bool:
    """Return whether a language has infinitely many members; False if that is hard to say."""
    if not language.boolean:
        return language.longest is None
    try:
        found, leads, _ = trimmed(explore((language,), _MOST_STATES))
    except TooLargeError:
        return False
    return bool(leads[0]) and FAR in heights(found.rows)
