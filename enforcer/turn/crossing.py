"""One token, read symbol by symbol where its bytes may cross borders of a turn's segments.

Owns: what a token does then: the text before a border has to be complete, and the rest of the token
begins the one behind it. Must not know: masks, rollback, deadlines, hosts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.errors import EnforcerError
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.lexer import FITTING
from enforcer.turn.pattern import ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.lexer import Place, Step
    from enforcer.turn.position import Position
    from enforcer.turn.transitions import Transitions


def take_back(grammar: ArgumentMatcher, count: int) -> None:
    """Take back what parts of a token fed to a grammar.

    Raises:
        RuntimeError: it cannot be; after that nobody knows where the grammar stands.

    """
    try:
        if count:
            grammar.rollback(count)
    except EnforcerError as error:
        raise RuntimeError(f"taking back {count} parts of a token: {error}") from error


class Crossing:
    """One token's way through a turn.

    Args:
        envelope: what the request allows.
        transitions: where borders lead.
        now: where the turn stands; its grammar moves on with the token.
        counts: whether text is counted, as it is while a call is demanded.

    """

    def __init__(
        self, envelope: Envelope, transitions: Transitions, now: Position, *, counts: bool
    ) -> None:
        self._table = envelope.table
        self._owes = counts and envelope.due is Due.CALL
        self._transitions = transitions
        self._first = now
        self._now = now
        self._fed = 0
        self._has_text = False
        # What the segment's text has of the token that its grammar has not read yet.
        self._pending: list[int] = []
        # The place whose row has not been looked up yet.
        self._unlooked: Place | None = None

    def run(self, symbols: Sequence[int], token_id: int) -> Position | None:
        """Read the symbols of an id; gives the position behind it, None if it is illegal."""
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
        self._look()
        return self._left()

    def _look(self) -> None:
        """Look up the row behind the token; nobody asks for those of the places inside of it.

        Finding one takes milliseconds where much may follow, as in white space.
        """
        now = self._now
        if now.place is not None and now.place is self._unlooked:
            row = self._table.row_of(now.state, now.place, now.row.opening)
            self._now = now.but(row=row)

    def _left(self) -> Position:
        """Give the position, with what the way back has to know of the text that was left."""
        if self._fed and self._now.grammar is not self._first.grammar:
            return self._now.but(fed=self._fed)
        return self._now

    def undo(self) -> None:
        """Take back what the grammar of the first position has read."""
        if self._first.grammar is not None:
            take_back(self._first.grammar, self._fed)

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
            self._now = self._transitions.enter(step.place.state, now.calls + 1, now.text)
            return True
        node = None if now.header is None else now.header.step(symbol)
        if node is None:
            return False
        if ended:
            self._now = self._transitions.at_header(now, node)
            return self._begin_arguments(node.name)
        self._stay(step)
        self._now = self._transitions.at_header(self._now, node)
        return True

    def _said(self, symbol: int, step: Step) -> bool:
        now = self._now
        if now.grammar is not None:
            self._pending.append(symbol)
            if step.place.state != now.state or not now.text:
                # Text has begun, so the turn is not calls.
                row = self._table.row_of(step.place.state, step.place, FITTING)
                self._now = now.but(
                    state=step.place.state,
                    place=step.place,
                    row=row,
                    before=self._table.nothing,
                    text=1,
                )
            return True
        if self._table.segment(now.state) is Segment.CONTENT and not now.calls:
            self._has_text = True
        if step.place.state != now.state:
            self._now = self._transitions.enter(step.place.state, now.calls, now.text, step.place)
        elif step.place != now.place:
            self._unlooked = step.place
            self._now = now.but(place=step.place)
        return True

    def _count(self) -> None:
        """Count the token if it had text before a demanded call; all of it was within bounds."""
        now = self._now
        if not (self._owes and self._has_text):
            return
        if now.place is not None and self._table.segment(now.state) is Segment.CONTENT:
            self._now = self._transitions.enter(now.state, now.calls, now.text + 1, now.place)
        else:
            self._now = now.but(text=now.text + 1)

    def _marked(self, segment: Segment, step: Step) -> bool:
        """Go on in a marker, which the text before it has to be complete for."""
        now = self._now
        if now.header is not None and now.header.name is None:
            return False
        goes_on = now.place is not None and bool(now.place.begun)  # the text has ended before
        # So has text of a format, once it has begun; nothing of it need be there before.
        formatted = segment is Segment.CONTENT and now.grammar is not None and bool(now.text)
        inside = segment is Segment.ARGUMENTS or formatted
        if inside and not goes_on and not self._completes():
            return False
        if step.marker:
            self._now = self._transitions.follow(now, step.place.state)
            return True
        self._unlooked = step.place
        self._now = now.but(
            place=step.place, row=now.markers, before=self._table.nothing, grammar=None
        )
        return True

    def _stay(self, step: Step) -> None:
        if step.place != self._now.place:
            self._now = self._now.but(place=step.place)

    def _begin_arguments(self, name: str | None) -> bool:
        then = self._table.dialect.states[self._now.state].then
        if name is None or then is None:
            return False
        self._now = self._transitions.begin_arguments(self._now, name, then)
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
