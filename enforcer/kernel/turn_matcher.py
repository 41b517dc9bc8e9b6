"""The face of a turn outside of texts: reading tokens, bitmask rows, and the links of texts."""

from __future__ import annotations

import cython

from enforcer.kernel.matcher import TextMatcher
from enforcer.kernel.records import *
from enforcer.kernel.search import turn_takes
from enforcer.kernel.state import MatcherState
from enforcer.kernel.tokens import clear_row
from enforcer.kernel.turn import READ, REFUSED, Names, TurnFields, turn_at, turn_step
from enforcer.kernel.walk import walk_turn


@cython.final
@cython.cclass
class Turn(TurnFields):
    """The state of one turn outside of its texts; see `TurnFields`.

    Args:
        around: the automaton of the format.
        names: of the tools.
        after: int32; the place behind a text if another call may follow, and if none may.
        most: how many calls the turn may have.
        starts: makes a `TextMatcher` of the text behind a header, by its number; None if none can
            begin.

    """

    def state(self) -> tuple:
        """Return place, low, high, depth, and completed calls."""
        s = turn_at(self, 0)
        return s.place, s.low, s.high, s.depth, s.calls

    def set_state(self, place: i64, low: i64, high: i64, depth: i64, calls: i64):
        """Go to another state."""
        s = turn_at(self, 0)
        s.place = place
        s.low = low
        s.high = high
        s.depth = depth
        s.calls = calls

    def link(self, text: TextMatcher, turn_id: i64, calls: i64):
        """Let the turn go on where a text ends.

        Args:
            text: at its beginning.
            turn_id: of this turn and all others in which the same may follow the text.
            calls: completed before it.

        """
        text.turn = self
        text.turn_id = turn_id
        text.calls = calls

    def use(self, names: Names):
        """Take other names, those of the next call."""
        self.names = names
        self.forget_texts()

    def forget_texts(self):
        """Free the texts that rows have tried: there may be one for each tool."""
        self.texts = [None] * self.names.count

    def read(self, data: bytes, start: i64) -> int:
        """Advance by the bytes of a token from the byte number `start` on.

        Returns:
            How many bytes of it have been read when a text begins, or all; -1 if one is illegal.

        """
        self.has_said = False
        for i in range(start, len(data)):
            place = turn_at(self, 0).place
            found = turn_step(self, turn_at(self, 0), cython.cast(cython.longlong, data[i]))
            if found == REFUSED:
                return -1
            if found != READ:
                return i
            self.around.taken[place] = data[i]
        return len(data)

    def fill(self, row, host: TextMatcher):
        """Write the bitmask row of the text token ids that may come next; see `TextMatcher.fill`.

        `has_begun` is whether it depends on a text's grammar, `has_named` whether on names.

        Args:
            row: int32.
            host: a text over the vocabulary, whose memory the walk uses.

        """
        t = cython.cast(MatcherState, host)
        t.turn = self
        t.row = row
        t.nodes = t.tree.trie.nodes
        t.ids = t.tree.trie.ids
        t.work = 0
        self.has_begun = False
        self.has_named = False
        clear_row(t.row, t.tree.words)
        self.doubtful = []
        self.forget_texts()  # so that `starts` is asked for all on which the row depends
        walk_turn(t, 0, t.tree.trie.roots, 0)
        for token in self.doubtful:
            test_token(t, token)
        for k in range(t.tree.longer.shape[0]):
            test_token(t, t.tree.longer[k])
        t.turn = None
        self.forget_texts()
        if t.is_lost:
            raise IndexError(OUT_OF_BOUNDS)


@cython.cfunc
def test_token(t: MatcherState, token_id: index):
    """Set or clear the bit of a token id outside of texts, as it may be read."""
    last = cython.cast(cython.Py_ssize_t, LONGEST + 1)
    t.turn.states[last] = t.turn.states[0]
    word = t.row[token_id >> 5] & ~bit32(token_id & 31)
    if turn_takes(t, token_id, t.tree.text0[token_id]):
        word |= bit32(token_id & 31)
    t.row[token_id >> 5] = word


if not cython.compiled:
    for _class in (Turn,):
        _class.__init__ = run_cinits
