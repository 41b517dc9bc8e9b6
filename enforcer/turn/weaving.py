"""Turns of dialects whose borders are spelled, or where texts end by themselves.

Owns: which tokens may come, and which need no reading symbol by symbol. A token is legal if and
only if its bytes run through the chain of segments, however many borders they cross; most cross
none, and those are the masks of their segment. Must not know: the way back, deadlines, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from enforcer.turn import bits
from enforcer.turn.crossing import Crossing, take_back
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.turn.bits import Ids
    from enforcer.turn.cuts import Cut
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place
    from enforcer.turn.moves import Moves
    from enforcer.turn.position import Position


class Weaver:
    """Reads tokens of a dialect that is not made of control tokens alone."""

    def __init__(self, envelope: Envelope, moves: Moves) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._moves = moves

    def read(self, now: Position, token_id: int, *, counts: bool) -> Position | None:
        """Give the position after an id; None if it is illegal, nothing being changed then.

        Args:
            now: where the turn stands; its grammar moves on with the token.
            token_id: any number at all.
            counts: whether text is counted, as it is while a call is demanded.

        """
        symbols = self._table.symbols(token_id)
        if not symbols:
            return None
        if isinstance(symbols, bytes) and now.place is not None and now.header is None:
            place = self._table.lexer.within(now.place, symbols)
            if place is not None and self._goes_on(now, counts=counts):
                return self._within(now, token_id, place)
        crossing = Crossing(self._envelope, self._moves, now, counts=counts)
        try:
            position = crossing.run(symbols, token_id)
        except BaseException:
            crossing.undo()
            raise
        if position is None:
            crossing.undo()
        return position

    def _goes_on(self, now: Position, *, counts: bool) -> bool:
        """Tell whether text may go on without being counted or changing anything."""
        if self._table.segment(now.state) is Segment.ARGUMENTS:
            return now.grammar is not None
        if now.grammar is not None:
            return bool(now.text)
        return now.row.text and not (counts and self._envelope.due is Due.CALL)

    def _within(self, now: Position, token_id: int, place: Place) -> Position | None:
        if now.grammar is not None and not now.grammar.accept(token_id):
            return None
        return now if place is now.place else replace(now, place=place)

    def fill(self, now: Position, target: npt.NDArray[np.int32], needed: Ids | None = None) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`.

        Args:
            now: where the turn stands.
            target: the mask row.
            needed: the ids whose bits are asked for; None for all. The rests of tokens are
                shorter than the tokens, so that what is asked for behind one border after the
                other comes to an end.

        """
        framing = now.grammar is None and (now.header is not None or bool(now.markers.crossing))
        if framing and needed is None and self._envelope.text_format is None:
            self._fill_framing(now, target)
        else:
            self._fill_anew(now, target, needed)

    def _fill_framing(self, now: Position, target: npt.NDArray[np.int32]) -> None:
        """Write a mask between texts, which is the same for every request with the same tools."""
        if now.failure is not None:
            target.fill(0)
            return
        kept, row = self._table.kept, now.markers
        # Where the next call is, with the envelope, says what its index is and what is owed.
        around = (now.place, row.opening, now.calls, self._envelope.key)
        key = around if now.header is None else (*now.header.key, *around)
        known = kept.get(key, self._moves.grammar)
        if known is None:
            with self._moves.asked() as grammars:
                self._fill_anew(now, target, None)
            there = {name: found for name, found in grammars.items() if found is not None}
            if len(there) == len(grammars):
                kept.keep(key, target & ~row.mask, there)
            return
        np.copyto(target, row.mask)
        bits.join(target, known)

    def _fill_anew(self, now: Position, target: npt.NDArray[np.int32], needed: Ids | None) -> None:
        place = now.place
        if now.failure is not None:  # behind a border: nothing may come there
            target.fill(0)
            return
        if now.grammar is not None:
            now.grammar.fill(target)
            target |= now.markers.mask
            self._leave(now, target, needed)
        elif now.header is not None and place is not None and not place.begun:
            now.header.fill(target)
            target |= now.markers.mask
            self._leave_header(now, now.header, place, target, needed)
        else:
            np.copyto(target, now.markers.mask)
        for state, every in now.markers.crossing.items():
            cut = every.among(needed)
            if cut:
                behind = self._row(self._moves.follow(now, state), cut)
                self._add(cut, None, behind, now, target)

    def _row(self, position: Position, cut: Cut) -> npt.NDArray[np.int32]:
        """Give what may come at a position, right as to the second parts of a cut's ids."""
        row = self._table.vocabulary.row(())
        self.fill(position, row, cut.behind)
        return row

    def _leave_header(
        self,
        now: Position,
        node: HeaderNode,
        place: Place,
        target: npt.NDArray[np.int32],
        needed: Ids | None,
    ) -> None:
        """Add the ids that begin arguments, where a header ends by itself."""
        then = self._table.dialect.states[now.state].then
        if then is None:
            return
        if node.name is not None:
            target |= self._begun(now, node.name, then, needed)
        for each in self._table.borders.behind(node, place):
            if each.inner:
                bits.add(target, self._moves.first_ids(each.name, each.inner))
            cut = each.outer.among(needed)
            if cut:
                wanted = None if needed is None else cut.behind
                self._add(cut, None, self._begun(now, each.name, then, wanted), now, target)

    def _begun(
        self, now: Position, name: str, then: str, needed: Ids | None
    ) -> npt.NDArray[np.int32]:
        """Give what may come at the beginning of a tool's arguments."""
        row = self._table.vocabulary.row(())
        if needed is not None:
            self.fill(self._moves.begin_arguments(now, name, then), row, needed)
            return row
        # Ids that end the arguments at once go on as the request allows.
        around = (then, now.calls, now.text, self._envelope.key)
        known = self._moves.known_row(name, around)
        if known is not None:
            bits.join(row, known)
            return row
        begun = self._moves.begin_arguments(now, name, then)
        self.fill(begun, row)
        if begun.failure is None:
            self._moves.keep_row(name, around, row)
        return row

    def _leave(self, now: Position, target: npt.NDArray[np.int32], needed: Ids | None) -> None:
        """Add the ids that end a text of arguments and go on behind it."""
        place = now.place
        then = self._table.dialect.states[now.state].then
        if then is None or place is None or place.scan is None:
            return
        cut = self._table.borders.leaving(now.state, place.scan).among(needed)
        if cut:
            behind = self._row(self._moves.enter(then, now.calls + 1, now.text), cut)
            # The text is complete after their first parts, if these may come at all.
            self._add(cut, target, behind, now, target)

    def _add(
        self,
        cut: Cut,
        before: npt.NDArray[np.int32] | None,
        behind: npt.NDArray[np.int32],
        now: Position,
        target: npt.NDArray[np.int32],
    ) -> None:
        """Add ids that a border cuts, if their parts are legal on either side of it.

        Args:
            cut: the ids.
            before: what is legal before the border; None if the first parts are known to be.
            behind: what is legal behind it.
            now: where the turn stands.
            target: the mask row.

        """
        legal = bits.has(behind, cut.tails)
        if before is not None:
            legal &= bits.has(before, cut.heads)
        bits.add(target, cut.ids[legal])
        for each in cut.loose:
            if not bits.has_one(behind, each.tail):
                continue
            if before is not None and not bits.has_one(before, each.head):
                continue
            found = self.read(now, each.token, counts=False)
            if found is None:
                continue
            if now.grammar is not None:
                take_back(now.grammar, found.fed)
            bits.add(target, bits.ids_of((each.token,)))
