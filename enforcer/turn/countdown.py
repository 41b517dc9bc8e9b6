"""What may come next in a turn that has to finish.

Owns: asking, at a place of a turn, whether what it promises can be finished in so many ids.
Must not know: how the shortest end is found (that is `deadline` and what it asks), how a
turn is advanced.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from enforcer.engines.mask_rows import clear, members
from enforcer.turn.dialect import Segment

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.budget.reading import Reading
    from enforcer.turn.deadline import Deadline
    from enforcer.turn.position import Position
    from enforcer.turn.table import Table


class Countdown:
    """A deadline at the places of a turn; `left` counts the ids that may come, the next first."""

    def __init__(self, deadline: Deadline, table: Table) -> None:
        self._deadline = deadline
        self._table = table
        self.total = deadline.total

    def check(self, at: Position) -> None:
        """Refuse a turn that promises more than fits, or that may call what has no end.

        Raises:
            BudgetTooSmall: it promises more.
            SchemaError: of a tool's arguments it cannot be told how soon they can end.

        """
        self._deadline.ask()
        self._deadline.check(self._needed(at))

    def arguments(self, name: str) -> Reading | None:
        """Begin the arguments of a tool; None where they may be cut off."""
        return self._deadline.arguments(name)

    def text(self) -> Reading | None:
        """Begin text that has a format."""
        return self._deadline.text()

    def fits(self, at: Position, token_id: int, left: int) -> bool:
        """Tell whether what is promised can be finished after an id, if it is legal."""
        if _may_be_cut(at):
            return True
        deadline, after = self._deadline, self._extended(at, left) - 1
        markers, vocabulary = at.markers.markers, self._table.vocabulary
        if token_id in markers:
            return deadline.marker(at.state, markers[token_id], at.calls, at.header) <= after
        if not (0 <= token_id < vocabulary.size and vocabulary.text_kinds[token_id]):
            return True
        if at.reading is not None:
            return deadline.fits_text(at.reading, token_id, after - self._behind_text(at))
        if at.header is not None:
            node = at.header.advance(token_id)
            return node is None or deadline.header(node) <= after
        return not at.row.text or self._fits_text(at, after)

    def restrict(self, at: Position, left: int, target: npt.NDArray[np.int32]) -> None:
        """Leave out of a mask row the ids after which a promised end would not fit."""
        if at.reading is not None:
            room = left - 1 - self._behind_text(at)
            self._deadline.restrict_text(target, at.reading, room)
            target |= at.markers.mask
        if _may_be_cut(at) or self._deadline.is_ample(left, at.calls):
            return
        left = self._extended(at, left)
        asked = set(at.markers.markers)
        if at.header is not None:
            asked.update(members(target).tolist())
        clear(target, [token_id for token_id in asked if not self.fits(at, token_id, left)])
        is_free = at.header is None and at.grammar is None and at.row.text
        if is_free and not self._fits_text(at, left - 1):
            target &= ~self._table.vocabulary.text_row

    def _extended(self, at: Position, left: int) -> int:
        """Leave the shortest end, and nothing else, to a turn that has no time for any.

        Nothing but a call that may be cut off comes to such a place: it was completed too late.
        """
        late = self._deadline.may_be_late and at.calls and at.grammar is None
        if not late or self._deadline.is_ample(left, at.calls):
            return left
        need = self._needed(at)
        return max(left, int(need)) if need < inf else left

    def _needed(self, at: Position) -> float:
        """Count the ids of the shortest end that the turn promises from a place."""
        deadline = self._deadline
        if _may_be_cut(at):
            return 0
        if at.grammar is not None:
            text = inf if at.reading is None else at.reading.cost
            need = text + self._behind_text(at)
            ways = (
                deadline.marker(at.state, to, at.calls, None) for to in at.markers.markers.values()
            )
            return min(need, 1 + min(ways, default=need))
        if at.header is not None:
            return deadline.header(at.header)
        return deadline.state(at.state, at.calls)

    def _behind_text(self, at: Position) -> float:
        """Count the ids after the text that the turn stands in, once it is complete."""
        if self._table.segment(at.state) is Segment.ARGUMENTS:
            return self._deadline.behind(at.state)
        return self._deadline.ends(self._after_text(at), at.calls)

    def _fits_text(self, at: Position, after: int) -> bool:
        return self._deadline.state(self._after_text(at), at.calls) <= after

    def _after_text(self, at: Position) -> str:
        return self._table.dialect.states[at.state].text_to


def _may_be_cut(at: Position) -> bool:
    """Tell whether a place is in arguments whose shortest end nobody knows."""
    return bool(at.tool) and at.grammar is not None and at.reading is None
