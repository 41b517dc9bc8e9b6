"""Keeps a string from becoming too long that stands as it is, and what ends it with it.

Owns: where in such a string a text is. Its pattern tells of one whole value, and of its stop where
that is text; where line breaks around it are not counted, it is several patterns, each with a
greatest length of its own. Places are immutable. Must not know: engines, where values begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from enforcer.engines.lengths.string_ids import Counted
from enforcer.partial import Partial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines.lengths.automaton import Automaton
    from enforcer.engines.lengths.string_ids import StringIds
    from enforcer.engines.mask_rows import Row

_DEAD = -1


class Place(NamedTuple):
    """A place in a string.

    Attributes:
        states: by pattern, where the text is in it; -1 if it can become none of its members.
        written: characters so far.
        partial: the character that has been begun.

    """

    states: tuple[int, ...]
    written: int = 0
    partial: Partial = Partial(quoted=False)


class RawStringKeeper:
    """Follows the strings of one property, or of all that are not declared.

    Args:
        counted: patterns, and how many characters their members may have.
        ids: what the ids write.

    """

    def __init__(self, counted: Sequence[tuple[Automaton, int]], ids: StringIds) -> None:
        self.start = Place((0,) * len(counted))
        self._counted = counted
        self._ids = ids

    def read(self, place: Place, data: bytes) -> Place | None:
        """Go on with the bytes of an id; None if the string is, or can only become, too long."""
        after: Place | None = place
        at = 0
        while after is not None and at < len(data):
            text = "" if after.partial.pending else _text(data[at:])
            if text:
                after = self._on(after, text)
                at += len(text.encode())
                continue
            found = after.partial.read(data[at])
            at += 1
            if found is None:
                return None
            partial, char = found
            after = after._replace(partial=partial)
            after = after if char is None else self._on(after, char)
        return None if after is None else self._living(after)

    def forbid(self, place: Place, row: Row) -> None:
        """Leave out of a mask row the ids for which it is None."""
        alive = [
            Counted(automaton, state, most - place.written, place.partial.pending)
            for (automaton, most), state in zip(self._counted, place.states, strict=True)
            if state != _DEAD
        ]
        if len(alive) == 1:
            self._forbid(alive[0], place, row)
            return
        allowed = np.zeros_like(row)
        for each in alive:
            some = row.copy()
            self._forbid(each, place, some)
            allowed |= some
        row[:] = allowed

    def _forbid(self, counted: Counted, place: Place, row: Row) -> None:
        self._ids.forbid(counted, row, lambda data: self.read(place, data) is not None)

    def _on(self, place: Place, text: str) -> Place | None:
        """Go on with whole characters."""
        states = list(place.states)
        for at, (automaton, _) in enumerate(self._counted):
            for char in text:
                if states[at] == _DEAD:
                    break
                states[at] = automaton.step(states[at], char)
        if all(state == _DEAD for state in states):
            return None
        return place._replace(states=tuple(states), written=place.written + len(text))

    def _living(self, place: Place) -> Place | None:
        """Drop the patterns whose members cannot end in time."""
        states = tuple(
            state if state != _DEAD and _fits(automaton, state, most - place.written, place) else -1
            for (automaton, most), state in zip(self._counted, place.states, strict=True)
        )
        if all(state == _DEAD for state in states):
            return None
        return place if states == place.states else place._replace(states=states)


def _fits(automaton: Automaton, state: int, left: int, place: Place) -> bool:
    if place.partial.pending:
        return automaton.least_behind(state, place.partial.characters) < left
    return automaton.least(state) <= left


def _text(data: bytes) -> str:
    """Give the characters of some bytes, up to one of which there is only a part."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return data[: error.start].decode()
