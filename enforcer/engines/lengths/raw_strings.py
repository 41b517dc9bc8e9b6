"""Keeps a string from becoming too long that stands as it is, and what ends it with it.

Owns: reading such a string. Its pattern tells of the whole value, and of its stop where that is
text. Must not know: engines, where values begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.engines.lengths.counted import Counted
from enforcer.partial import Partial, whole

if TYPE_CHECKING:
    from enforcer.engines.lengths.automaton import Automaton
    from enforcer.engines.lengths.string_ids import StringIds
    from enforcer.engines.mask_rows import Row


class RawStringKeeper:
    """Follows the strings of one property, or of all that are not declared.

    Args:
        automaton: of the pattern.
        most: characters that its members may have, its stop among them.
        ids: what the ids write.

    """

    def __init__(self, automaton: Automaton, most: int, ids: StringIds) -> None:
        self.start = Counted(automaton, most, partial=Partial(quoted=False))
        self._ids = ids

    def read(self, place: Counted, data: bytes) -> Counted | None:
        """Go on with the bytes of an id; None if the string is, or can only become, too long."""
        after: Counted | None = place
        at = 0
        while after is not None and at < len(data):
            text = "" if after.partial.pending else whole(data[at:])
            after = after.add(text) if text else after.read(data[at])
            at += len(text.encode()) or 1
        return after if after is not None and after.may_end else None

    def forbid(self, place: Counted, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        self._ids.forbid(place, row, lambda data: self.read(place, data) is not None)
