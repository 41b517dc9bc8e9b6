"""Keeps a string from becoming too long that stands as it is, and what ends it with it.

Owns: where in such a string a text is. Its pattern tells of the whole value, and of its stop where
that is text. Places are immutable. Must not know: engines, where values begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from enforcer.engines.lengths.string_ids import Counted
from enforcer.partial import Partial, whole

if TYPE_CHECKING:
    from enforcer.engines.lengths.automaton import Automaton
    from enforcer.engines.lengths.string_ids import StringIds
    from enforcer.engines.mask_rows import Row


class Place(NamedTuple):
    """A place in a string.

    Attributes:
        left: characters that it may still have, its stop among them.
        state: where the text is in the pattern.
        partial: the character that has been begun.

    """

    left: int
    state: int = 0
    partial: Partial = Partial(quoted=False)


class RawStringKeeper:
    """Follows the strings of one property, or of all that are not declared.

    Args:
        automaton: of the pattern.
        most: characters that its members may have.
        ids: what the ids write.

    """

    def __init__(self, automaton: Automaton, most: int, ids: StringIds) -> None:
        self.start = Place(most)
        self._automaton = automaton
        self._ids = ids

    def read(self, place: Place, data: bytes) -> Place | None:
        """Go on with the bytes of an id; None if the string is, or can only become, too long."""
        left, state, partial = place
        at = 0
        while at < len(data):
            text = "" if partial.pending else whole(data[at:])
            if text:
                at += len(text.encode())
            else:
                found = partial.read(data[at])
                at += 1
                if found is None:
                    return None
                partial, char = found
                text = char or ""
            for char in text:
                state = self._automaton.step(state, char)
                if state < 0:
                    return None
            left -= len(text)
        if partial.pending:
            fits = self._automaton.least_behind(state, partial.characters) < left
        else:
            fits = self._automaton.least(state) <= left
        return Place(left, state, partial) if fits else None

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        counted = Counted(self._automaton, place.state, place.left, place.partial.pending)
        self._ids.forbid(counted, row, lambda data: self.read(place, data) is not None)
