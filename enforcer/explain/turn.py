"""What may come next in a turn, in words, and why an id may not.

Owns: the two questions that a turn can be asked. Must not know: how they are answered (`expecting`,
`why`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.explain.expecting import Place, mask_of
from enforcer.explain.why import why
from enforcer.turn.ids import number
from enforcer.turn.matcher import Matcher

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.explain.words import Expected, Explanation


def expected(matcher: Matcher, row: npt.NDArray[np.int32] | None = None) -> Expected:
    """Say what may come next in a turn; `row` is its mask, if that is at hand."""
    row = mask_of(matcher) if row is None else row
    return Place(matcher, row).expected()


def explain(
    matcher: Matcher, token_id: int, row: npt.NDArray[np.int32] | None = None
) -> Explanation:
    """Say why an id is legal in a turn or not; `row` is its mask, if that is at hand."""
    token_id = number(token_id, "an id")
    row = mask_of(matcher) if row is None else row
    return why(Place(matcher, row), token_id)


class ExplainedMatcher(Matcher):
    """A matcher with words for what it allows; `Enforcer.matcher` makes it."""

    def expected(self) -> Expected:
        """Say what may come next, with the paths of the schema; takes milliseconds.

        With some hundred alternatives of an `anyOf` that are still open, up to a second.
        """
        return expected(self)

    def explain(self, token_id: int) -> Explanation:
        """Say why an id may come next or may not; takes as long as `expected`."""
        return explain(self, token_id)
