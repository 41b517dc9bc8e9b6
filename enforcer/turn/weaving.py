"""Tokens whose bytes go across borders: a turn symbol by symbol.

Owns: where markers are spelled or texts end by themselves, what one token does to a turn, and
which tokens may come. A token is legal if and only if its bytes run through the chain of segments,
however many borders they cross; most cross none, and those are the masks of their segment. Must
not know: the way back, deadlines, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from enforcer.errors import EnforcerError
from enforcer.turn import bits
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.lexer import FITTING
from enforcer.turn.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.bits import Ids
    from enforcer.turn.cuts import Cut
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place, Step
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
        thread = _Thread(self._envelope, self._moves, now, counts=counts)
        try:
            position = thread.run(symbols, token_id)
        except BaseException:
            thread.undo()
            raise
        if position is None:
            thread.undo()
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
                _take_back(now.grammar, found.fed)
            bits.add(target, bits.ids_of((each.token,)))


def _take_back(grammar: ArgumentMatcher, count: int) -> None:
    """Take back what parts of a token fed to a grammar.

    Raises:
        RuntimeError: it cannot be; after that nobody knows where the grammar stands.

    """
    try:
        if count:
            grammar.rollback(count)
    except EnforcerError as error:
        raise RuntimeError(f"taking back {count} parts of a token: {error}") from error


class _Thread:
    """One token's way through a turn."""

    def __init__(self, envelope: Envelope, moves: Moves, now: Position, *, counts: bool) -> None:
        self._table = envelope.table
        self._owes = counts and envelope.due is Due.CALL
        self._moves = moves
        self._first = now
        self._now = now
        self._fed = 0
        self._has_text = False
        # What the segment's text has of the token that its grammar has not read yet.
        self._pending: list[int] = []

    def run(self, symbols: Sequence[int], token_id: int) -> Position | None:
        """Read the symbols of an id."""
        for at, symbol in enumerate(symbols, 1):
            if not self._step(symbol):
                return None
            if self._now.failure is not None:
                # A text that cannot be started closes the gate behind the id that leads to it.
                return self._left() if at == len(symbols) else None
        if len(self._pending) == len(symbols):
            if not self._feed([token_id]):
                return None
        elif not self._flush():
            return None
        self._count()
        return self._left()

    def _left(self) -> Position:
        """Give the position, with what the way back has to know of the text that was left."""
        if self._fed and self._now.grammar is not self._first.grammar:
            return replace(self._now, fed=self._fed)
        return self._now

    def undo(self) -> None:
        """Take back what the grammar of the first position has read."""
        if self._first.grammar is not None:
            _take_back(self._first.grammar, self._fed)

    def _step(self, symbol: int) -> bool:
        lexer, now = self._table.lexer, self._now
        place = now.place or lexer.enter(now.state)
        if now.header is not None and lexer.falls(place, symbol) is not None:
            begun = self._begin_arguments(now.header.name) and self._now.failure is None
            return begun and self._step(symbol)
        segment = self._table.segment(now.state)
        opening = (now.row if segment is Segment.ARGUMENTS else now.markers).opening
        if now.grammar is not None and segment is Segment.CONTENT and symbol < ID:
            # Whether it fits is the grammar's to say, whatever it spells.
            opening = replace(opening, text=True, lenient=True)
        step = lexer.step(place, symbol, opening)
        if step is None:
            return False
        if step.taken:
            return self._taken(segment, symbol, step)
        if step.said:
            return self._said(symbol, step)
        return self._marked(segment, step)

    def _taken(self, segment: Segment, symbol: int, step: Step) -> bool:
        now = self._now
        ended = step.place.state != now.state
        if segment is Segment.ARGUMENTS:
            self._pending.append(symbol)
            if not ended:
                self._stay(step)
                return True
            if not self._completes():
                return False
            self._now = self._moves.enter(step.place.state, now.calls + 1, now.text)
            return True
        node = None if now.header is None else now.header.step(symbol)
        if node is None:
            return False
        if ended:
            self._now = self._moves.at_header(now, node)
            return self._begin_arguments(node.name)
        self._stay(step)
        self._now = self._moves.at_header(self._now, node)
        return True

    def _said(self, symbol: int, step: Step) -> bool:
        now = self._now
        if now.grammar is not None:
            self._pending.append(symbol)
            if step.place.state != now.state or not now.text:
                # Text has begun, so the turn is not calls.
                row = self._table.row_of(step.place.state, step.place, FITTING)
                self._now = replace(
                    now,
                    state=step.place.state,
                    place=step.place,
                    row=row,
                    before=self._table.nothing,
                    text=1,
                )
            return True
        if self._table.segment(now.state) is Segment.CONTENT and not now.calls:
            self._has_text = True
        if step.place != now.place:
            self._now = self._moves.enter(step.place.state, now.calls, now.text, step.place)
        return True

    def _count(self) -> None:
        """Count the token if it had text before a demanded call; all of it was within bounds."""
        now = self._now
        if not (self._owes and self._has_text):
            return
        if now.place is not None and self._table.segment(now.state) is Segment.CONTENT:
            self._now = self._moves.enter(now.state, now.calls, now.text + 1, now.place)
        else:
            self._now = replace(now, text=now.text + 1)

    def _marked(self, segment: Segment, step: Step) -> bool:
        """Go on in a marker, which the text before it has to be complete for."""
        now = self._now
        if now.header is not None and now.header.name is None:
            return False
        goes_on = now.place is not None and bool(now.place.begun)  # the text has ended before
        if segment is Segment.ARGUMENTS and not goes_on and not self._completes():
            return False
        if step.marker:
            self._now = self._moves.follow(now, step.place.state)
            return True
        row = self._table.row_of(now.state, step.place, now.markers.opening)
        self._now = replace(now, place=step.place, row=row, before=row, grammar=None)
        return True

    def _stay(self, step: Step) -> None:
        if step.place != self._now.place:
            self._now = replace(self._now, place=step.place)

    def _begin_arguments(self, name: str | None) -> bool:
        then = self._table.dialect.states[self._now.state].then
        if name is None or then is None:
            return False
        self._now = self._moves.begin_arguments(self._now, name, then)
        return True

    def _completes(self) -> bool:
        grammar = self._now.grammar
        return self._flush() and grammar is not None and grammar.is_accepting()

    def _flush(self) -> bool:
        return not self._pending or self._feed(self._pieces())

    def _pieces(self) -> list[int]:
        """Give ids for what is pending, whose bytes may be no token's."""
        found: list[int] = []
        data = bytearray()
        for symbol in self._pending:
            if symbol < ID:
                data.append(symbol)
                continue
            found += [*self._table.vocabulary.pieces(bytes(data)), symbol - ID]
            data.clear()
        return found + self._table.vocabulary.pieces(bytes(data))

    def _feed(self, ids: Sequence[int]) -> bool:
        grammar = self._now.grammar
        self._pending = []
        if grammar is None:
            return False
        return all(self._accept(grammar, token_id) for token_id in ids)

    def _accept(self, grammar: ArgumentMatcher, token_id: int) -> bool:
        if not grammar.accept(token_id):
            return False
        self._fed += grammar is self._first.grammar
        return True
