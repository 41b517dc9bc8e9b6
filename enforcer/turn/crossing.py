"""Reader of one token, symbol by symbol, whose bytes may span borders of a turn's segments.

Owns: the rule for such a token: the text before a border has to be complete, and the rest of the
token begins the segment behind it. Must not know: masks, rollback, deadlines, hosts.
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


class TokenReader:
    """Reads the tokens of one turn.

    Attributes:
        fed: how many ids the last one fed to the grammar of a text that it has left.

    """

    def __init__(self, envelope: Envelope, transitions: Transitions) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._transitions = transitions
        self.fed = 0

    def read(self, now: Position, token_id: int, *, counts: bool) -> Position | None:
        """Return the position after an id; None if it is illegal, nothing being changed then.

        Args:
            now: where the turn stands; its grammar moves on with the token.
            token_id: any number at all.
            counts: whether text is counted, as it is while a call is demanded.

        """
        symbols = self._table.symbols(token_id)
        if not symbols:
            return None
        if isinstance(symbols, bytes) and now.header is not None and not now.place.begun:
            node = now.header.advance(token_id)
            if node is not None and not node.ends:
                return self._transitions.at_header(now, node)
        elif isinstance(symbols, bytes) and _goes_on(now):
            place = self._table.lexer.within(now.place, symbols)
            if place is not None:
                return self._within(now, token_id, place, counts=counts)
        crossing = Crossing(self._envelope, self._transitions, now, counts=counts)
        found = crossing.run(symbols, token_id)
        self.fed = crossing.left
        return found

    def reads(self, now: Position, data: bytes) -> bool:
        """Return whether bytes are legal at a position; change nothing."""
        crossing = Crossing(self._envelope, self._transitions, now, counts=False)
        found = crossing.run(data, None)
        if found is not None:
            crossing.undo()
        return found is not None

    def _within(
        self, now: Position, token_id: int, place: Place, *, counts: bool
    ) -> Position | None:
        if now.grammar is not None:
            if not now.grammar.accept(token_id):
                return None
        elif counts and _counts(self._envelope, now):
            return self._transitions.enter(now.state, now.calls, now.text + 1, place)
        return now if place is now.place else now.but(place=place)


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
        self._envelope = envelope
        self._is_counted = counts
        self._transitions = transitions
        self._first = now
        self._now = now
        self._fed = 0
        self._has_text = False
        # What the segment's text has of the token that its grammar has not read yet.
        self._pending: list[int] = []
        # The place whose row has not been looked up yet.
        self._unlooked: Place | None = None

    def run(self, symbols: Sequence[int], token_id: int | None) -> Position | None:
        """Read the symbols of an id, or bytes that may be none's.

        Returns:
            The position behind it; None if it is illegal, its first grammar being as it was then.

        """
        try:
            found = self._run(symbols, token_id)
        except BaseException:
            self.undo()
            raise
        if found is None:
            self.undo()
        return found

    def _run(self, symbols: Sequence[int], token_id: int | None) -> Position | None:
        for at, symbol in enumerate(() if self._stays(symbols) else symbols, 1):
            if not self._step(symbol):
                return None
            if self._now.failure is not None:
                # A text that cannot be started closes the gate behind the id that leads to it.
                return self._now if at == len(symbols) else None
        if token_id is not None and len(self._pending) == len(symbols):
            if not self._feed([token_id]):
                return None
        elif not self._flush():
            return None
        self._count()
        self._look()
        return self._now

    def _stays(self, symbols: Sequence[int]) -> bool:
        """Read bytes at once that are all of the text which is followed."""
        now = self._now
        if now.grammar is None or not (isinstance(symbols, bytes) and _goes_on(now)):
            return False
        place = self._table.lexer.within(now.place, symbols)
        if place is None:
            return False
        self._pending = [*symbols]
        self._now = now.but(place=place)
        return True

    def _look(self) -> None:
        """Look up the row behind the token; nobody asks for those of the places inside of it.

        Finding one takes milliseconds where much may follow, as in white space.
        """
        now = self._now
        if now.place is self._unlooked:
            self._now = now.but(row=self._table.row_at(now.place, now.row.opening))

    @property
    def left(self) -> int:
        """Number of ids fed to the first position's grammar, if its text has ended."""
        return 0 if self._now.grammar is self._first.grammar else self._fed

    def undo(self) -> None:
        """Take back what the grammar of the first position has read.

        Raises:
            RuntimeError: the engine refuses, and the state of the grammar is unknown.

        """
        grammar = self._first.grammar
        try:
            if self._fed and grammar is not None:
                grammar.rollback(self._fed)
        except EnforcerError as error:
            raise RuntimeError(f"taking back {self._fed} parts of a token: {error}") from error

    def _step(self, symbol: int) -> bool:
        lexer, now = self._table.lexer, self._now
        node = None if now.place.begun else now.header
        if node is not None and symbol < ID:
            after = node.step(symbol)
            if after is not None:
                self._now = self._transitions.at_header(now, after)
                return not after.ends or self._begin_arguments(after.name)
            self._transitions.ask_names()
        segment = self._table.segment(now.state)
        opening = (now.row if segment is Segment.ARGUMENTS else now.markers).opening
        if now.grammar is not None and segment is Segment.CONTENT and symbol < ID:
            # Whether it fits is the grammar's to say, whatever it spells.
            opening = replace(opening, text=True, lenient=True)
        read = lexer.step if node is None else lexer.by_markers
        step = read(now.place, symbol, opening)
        if step is None:
            # What no name has ends a header that nothing else does.
            falls = node is not None and self._begin_arguments(node.name)
            return falls and self._now.failure is None and self._step(symbol)
        if step.taken:
            return self._taken(symbol, step)
        if step.said:
            return self._said(symbol, step)
        return self._marked(segment, step)

    def _taken(self, symbol: int, step: Step) -> bool:
        """Go on in arguments, or behind them."""
        now = self._now
        self._pending.append(symbol)
        if step.place.state == now.state:
            self._stay(step)
            return True
        if not self._completes():
            return False
        self._now = self._transitions.enter(step.place.state, now.calls + 1, now.text)
        return True

    def _said(self, symbol: int, step: Step) -> bool:
        now = self._now
        if now.grammar is not None:
            self._pending.append(symbol)
            if step.place.state != now.state or not now.text:
                # Text has begun, so the turn is not calls.
                row, before = self._table.row_at(step.place, FITTING), self._table.nothing
                self._now = now.but(place=step.place, row=row, before=before, text=1)
            return True
        self._has_text = self._has_text or _counts(self._envelope, now)
        if step.place.state != now.state:
            self._now = self._transitions.enter(step.place.state, now.calls, now.text, step.place)
        elif step.place != now.place:
            self._unlooked = step.place
            self._now = now.but(place=step.place)
        return True

    def _count(self) -> None:
        """Count the token if it had text before a demanded call; all of it was within bounds."""
        now = self._now
        if not (self._is_counted and self._has_text):
            return
        if self._table.segment(now.state) is Segment.CONTENT:
            self._now = self._transitions.enter(now.state, now.calls, now.text + 1, now.place)
        else:
            self._now = now.but(text=now.text + 1)

    def _marked(self, segment: Segment, step: Step) -> bool:
        """Go on in a marker, which the text before it has to be complete for."""
        now = self._now
        if now.header is not None and now.header.name is None:
            return False
        goes_on = bool(now.place.begun)  # the text has ended before
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
        """Return token ids for the pending bytes, which may be those of no token."""
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


def _goes_on(now: Position) -> bool:
    """Return whether text may go on; where it has a format, it may if it has begun."""
    return now.row.text if now.grammar is None else bool(now.tool or now.text)


def _counts(envelope: Envelope, now: Position) -> bool:
    """Return whether text at a position counts, as it does where a demanded call is put off."""
    is_owed = envelope.due is Due.CALL and not now.calls
    return is_owed and envelope.table.segment(now.state) is Segment.CONTENT
