"""A string whose characters are counted, as far as it has been written.

Owns: going on with it, and whether it can still be completed. Must not know: where strings stand,
what ends them, ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from enforcer.partial import Partial

if TYPE_CHECKING:
    from enforcer.engines.lengths.automaton import Automaton


class Counted(NamedTuple):
    """A place in such a string.

    Attributes:
        automaton: its pattern.
        left: characters that it may still have, one that has been begun among them.
        state: where it is in the pattern.
        partial: the character that has been begun.

    """

    automaton: Automaton
    left: int
    state: int = 0
    partial: Partial = Partial()

    def add(self, text: str) -> Counted | None:
        """Go on with whole characters; None if no member goes on so."""
        step, state = self.automaton.step, self.state
        for char in text:
            state = step(state, char)
            if state < 0:
                return None
        return self._replace(left=self.left - len(text), state=state)

    def read(self, byte: int) -> Counted | None:
        """Go on with a byte that does not end the string."""
        found = self.partial.read(byte)
        if found is None:
            return None
        partial, char = found
        after = self._replace(partial=partial)
        return after if char is None else after.add(char)

    @property
    def may_end(self) -> bool:
        """Whether the string can still be completed in time."""
        if self.partial.pending:
            return self.automaton.least_behind(self.state, self.partial.characters) < self.left
        return self.automaton.least(self.state) <= self.left

    @property
    def close(self) -> range:
        """How many characters more are left, but may be too many for its end to be reached."""
        least = bool(self.partial.pending)
        return range(max(self.left - self.automaton.furthest[self.state], least), self.left + 1)
