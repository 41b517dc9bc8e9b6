"""Token budget of a turn, and bitmask rows without the token ids that leave too few.

A call that has begun, a demanded call, and text with a format must be complete when the budget
ends. Text without a format may be cut. A row keeps the token ids behind which the shortest
completion (`completions`) fits: by a bound where it is enough, else by trying them. Must not know:
how a turn is advanced, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import clear, is_member, members, put
from enforcer.errors import BudgetTooSmall
from enforcer.turn.ids import number
from enforcer.turn.reader import native_text
from enforcer.turn.token_weights import MOST_SURE

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.turn.completions import Completions
    from enforcer.turn.lexer import Opening, Place
    from enforcer.turn.position import Position
    from enforcer.turn.reader import TokenReader

_MOST_TESTED = 200  # ids outside of texts that are tried one by one for a row
_ESCAPED = 12  # bytes of a character that has to be escaped, as no token has its bytes
_MISSING = 3  # bytes that a character lacks at most of which a token has some


class Deadline:
    """The token budget of one turn.

    Args:
        completions: the lengths of the turn's shortest completions.
        total: how many ids the turn may have, its end included.

    Raises:
        ConfigurationError: the total is no whole number.

    Attributes:
        narrowed: after how many ids a row inside a call was first without some that begin nothing,
            since the call has to end; infinite if none was. Drafts that were taken back count.
        is_hasty: whether an id that takes a whole row to judge does not fit: draft tokens are not
            worth it.

    """

    def __init__(self, completions: Completions, total: int) -> None:
        self.total = number(total, "budget")
        self.narrowed = inf
        self.is_hasty = False
        self._completions = completions
        self._envelope = completions.envelope
        self._table = self._envelope.table
        self._weights = self._table.token_weights
        self._escaped = 0 if self._table.vocabulary.is_complete else _ESCAPED
        # A lower bound on how many ids are to spare in the text at hand, and what is ample there;
        # by how many more of that text, each byte that begins something, and, once, deciding what
        # is around it may lengthen its end.
        self._spare, self._enough = -inf, inf
        self._within, self._each, self._around = 0, 0, 0
        self._kind = 0  # of what is being written; see `TextMatcher.end_growth`
        self._first = -1  # the id with which the text's end begins
        self._is_exact = False  # whether these are of the present position
        self._row: npt.NDArray[np.int32] | None = None  # that of the present position, if narrowed
        self._rows: dict[tuple[Place, Opening], npt.NDArray[np.int32]] = {}

    def check(self, at: Position) -> None:
        """Raise if the required completion exceeds the budget, or a tool has none that is known.

        Raises:
            BudgetTooSmall: the required completion exceeds the budget.
            SchemaError: no end of a tool's arguments is found.

        """
        for name in self._envelope.names:
            self._completions.arguments(name)
        need = self._completions.needed(at)
        if need > self.total:
            raise BudgetTooSmall(
                "$.max_tokens",
                f"the shortest valid turn takes {need:.0f} tokens, and {self.total} are left: "
                "allow more, or ask for fewer or shorter calls",
            )

    # What a step changes.

    def spend(self, token_id: int, *, in_text: bool) -> None:
        """Note that an id was accepted, and whether the text at hand goes on behind it."""
        self._is_exact, self._row = False, None
        if in_text and 0 <= token_id < len(self._weights.weights):
            self._spare -= 1 + (1 + int(self._weights.weights[token_id])) * self._each
        else:
            self._spare = -inf

    def go_back(self) -> None:
        """Note that ids were taken back."""
        self._spare, self._is_exact, self._row = -inf, False, None

    def fits(self, at: Position, token_id: int, left: int, reader: TokenReader) -> bool:
        """Return whether `restrict` keeps an id in the row of a position; see there."""
        if not 0 <= token_id < self._table.vocabulary.size:
            return True
        if at.grammar is not None and token_id in at.markers.markers:
            return self._completions.behind_marker(at, token_id) <= left - 1
        if self._is_ample(at, left) or (at.grammar is not None and self._is_light(token_id)):
            return True
        if self._row is None and self.is_hasty:
            return False
        if self._row is None:  # nobody has asked for the mask
            target = np.empty(self._table.vocabulary.words, np.int32)
            reader.fill(at, target)
            self.restrict(at, left, target, reader)
        return self._row is None or is_member(self._row, token_id)

    def restrict(
        self, at: Position, left: int, target: npt.NDArray[np.int32], reader: TokenReader
    ) -> None:
        """Clear in a mask row the ids after which the required completion would not fit.

        Near the end some ids that were not tried are cleared too, since rows have to be quick.

        Args:
            at: where the turn stands.
            left: how many ids may still be generated.
            target: int32, the row; in place.
            reader: reads the turn.

        """
        if not self._is_ample(at, left):
            if at.grammar is None:
                self._restrict_outside(at, left, target, reader)
            else:
                self._restrict_text(at, left, target, reader)
            self._row = target.copy()
        if at.grammar is not None:
            behind = self._completions.behind_marker
            clear(target, [i for i in at.markers.markers if behind(at, i) > left - 1])

    def _is_light(self, token_id: int) -> bool:
        """Return whether an id fits into a text by its weight, as in the row."""
        sure = self._most_sure()
        return sure >= 0 and is_member(self._weights.up_to(sure), token_id)

    def _is_ample(self, at: Position, left: int) -> bool:
        """Return whether any id fits, but for the markers behind a text."""
        if at.grammar is None:
            return left - 1 >= self._completions.ample(at.calls)
        return self._is_spare(at, left)

    # Texts.

    def _is_spare(self, at: Position, left: int) -> bool:
        """Return whether so much room is left in a text that any id fits."""
        if not self._is_exact and self._spare < self._enough:
            text = native_text(at.grammar)
            self._within, self._each, self._around, self._kind = text.end_growth()
            self._within += self._escaped
            # Wherever the text goes, an id that begins nothing may lengthen its end as a byte may.
            self._enough = (1 + self._weights.heaviest) * self._each + self._around + self._escaped
            cost = text.end_cost()
            self._first = text.end_start
            # Without an end that is known, the text may be cut.
            behind = self._completions.behind_text(at.state, at.calls)
            self._spare = inf if cost < 0 else left - 1 - behind - cost
            self._is_exact = True
        return self._spare >= self._enough

    def _most_sure(self) -> int:
        """Return the greatest weight of an id that fits for certain; less than 0 for none."""
        room = self._spare - self._within
        if room < 0:
            return -1
        most = (room - self._around) // max(self._each, 1)
        return int(min(max(most, 0), MOST_SURE))

    def _restrict_text(
        self, at: Position, left: int, target: npt.NDArray[np.int32], reader: TokenReader
    ) -> None:
        sure, weights = self._most_sure(), self._weights
        kept = target & at.markers.mask
        if sure >= 0:
            kept |= target & weights.up_to(sure)
        if self._kind and self._spare >= self._within:
            kept |= target & weights.inside[self._kind]
        if self._spare >= self._within + _MISSING:
            kept |= target & weights.partial
        room = left - 1 - self._completions.behind_text(at.state, at.calls)
        text, tried = native_text(at.grammar), weights.to_try(target & ~kept)
        if len(tried):
            found, leaving = text.ids_in_time(tried, int(max(room, -1)))
            put(kept, found)
            put(kept, [i for i in leaving if self._leaves(at, i, left, reader)])
        if self._first >= 0 and self._spare >= -1:
            put(kept, [self._first])
        if at.tool and (target & ~kept & weights.usual).any():
            self.narrowed = min(self.narrowed, self.total - left)
        np.copyto(target, kept)

    def _leaves(self, at: Position, token_id: int, left: int, reader: TokenReader) -> bool:
        """Return whether what is needed fits behind an id within which arguments end."""
        after = reader.read(at, token_id, counts=False)
        if after is None or at.grammar is None:
            return False
        at.grammar.rollback(1)
        return self._completions.needed(after) <= left - 1

    # Outside of texts.

    def _restrict_outside(
        self, at: Position, left: int, target: npt.NDArray[np.int32], reader: TokenReader
    ) -> None:
        kept = np.zeros_like(target)
        closed = self._beside_calls(at, reader)
        if closed is not None and self._may_say(at, left):
            kept = target & closed
        tested = target & ~kept if closed is None else target & ~closed
        first = np.zeros_like(target)
        put(first, [i for i in self._firsts(at) if is_member(target, i)])
        first |= tested & self._weights.short
        ids = [*members(first & ~kept), *members(tested & ~first & ~kept)][:_MOST_TESTED]
        with self._table.around.trying():
            put(kept, [i for i in map(int, ids) if self._leads_on(at, i, left, reader)])
        np.copyto(target, kept)

    def _leads_on(self, at: Position, token_id: int, left: int, reader: TokenReader) -> bool:
        """Return whether what is needed behind an id fits; True if the id is illegal."""
        after = reader.read(at, token_id, counts=True)
        return after is None or self._completions.needed(after) <= left - 1

    def _beside_calls(self, at: Position, reader: TokenReader) -> npt.NDArray[np.int32] | None:
        """Return the row of text with which no call begins; None where there is no free text."""
        if not self._completions.is_free(at) or not (at.row.text or at.row.opening.blank):
            return None
        opening = replace(at.row.opening, call=False, barred=True)
        found = self._rows.get((at.place, opening))
        if found is None:
            row = reader.made(at.but(row=self._table.row_at(at.place, opening)))
            found = self._rows[at.place, opening] = row & self._table.vocabulary.text_row
        return found

    def _may_say(self, at: Position, left: int) -> bool:
        """Return whether text fits with which no call begins, but for a marker's beginning."""
        found = self._table.dialect.states[at.state]
        reached = {at.state, found.blank_to}
        if at.row.text:
            reached.add(found.text_to)
        most = max(self._completions.state(to, at.calls) for to in reached)
        return most == 0 or most + self._table.longest_marker <= left - 1

    def _firsts(self, at: Position) -> set[int]:
        """Return the ids with which the ways begin that the turn may go on."""
        node, weights = at.header, self._weights
        markers = self._table.lexer.open_markers(at.place, at.row.opening)
        found = {weights.ids_of(each.rest)[0] for each in markers}
        if node is None or at.place.begun:
            return found
        if node.rest is not None and not node.rest.nullable:
            return {weights.ids_of(node.rest)[0]}
        texts = (node.trie.texts[i][node.depth :] for i in range(node.low, node.high))
        found |= {weights.pieces(text)[0] for text in texts if text}
        if node.name is not None:
            tail, arguments = node.trie.form.tail, self._completions.arguments(node.name)
            found.add(arguments.first if tail is None else weights.ids_of(tail)[0])
        return found
