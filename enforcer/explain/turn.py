"""A matcher that says in words what may come next, and why a token id may not.

Owns: the two questions that a turn can be asked. Must not know: how they are answered (`expecting`,
`why`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.explain.expecting import Place
from enforcer.explain.why import why
from enforcer.turn.ids import number
from enforcer.turn.matcher import Matcher

if TYPE_CHECKING:
    from enforcer.explain.words import Expected, Explanation


class ExplainedMatcher(Matcher):
    """A matcher with words for what it allows; `Enforcer.matcher` makes it."""

    def expected(self) -> Expected:
        """Say what may come next, with the paths of the schema; takes milliseconds.

        With some hundred alternatives of an `anyOf` that are still open, up to a second.
        """
        return Place(self).expected

    def explain(self, token_id: int) -> Explanation:
        """Say why an id may come next or may not; takes as long as `expected`."""
        return why(Place(self), number(token_id, "an id"))
