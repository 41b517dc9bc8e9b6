"""Reader and masks of formats whose markers are single tokens, so that none crosses a border.

Must not know: rollback, deadlines, hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from enforcer.turn import bits
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.lexer import FITTING, Place

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.turn.envelope import Envelope
    from enforcer.turn.position import Position
    from enforcer.turn.transitions import Transitions


class MarkerReader:
    """Reads the tokens of one turn, and fills its bitmask rows.

    Attributes:
        fed: how many ids the last token fed to the grammar of a text that it has left.

    """

    fed = 0

    def __init__(self, envelope: Envelope, transitions: Transitions) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._transitions = transitions

    def read(self, now: Position, token_id: int, *, counts: bool) -> Position | None:
        """Return the position after an id; None if it is illegal, nothing being changed then.

        Args:
            now: where the turn stands; its grammar moves on with the token.
            token_id: any number at all.
            counts: whether text is counted, as it is while a call is demanded.

        """
        to = now.markers.markers.get(token_id)
        if to is not None:
            if self._table.segment(now.state) is Segment.ARGUMENTS:
                return self._transitions.enter(to, now.calls + 1, now.text)
            return self._transitions.follow(now, to)
        vocabulary = self._table.vocabulary
        if not 0 <= token_id < vocabulary.size or token_id in vocabulary.control_ids:
            return None
        data = vocabulary.token_bytes(token_id)
        if not data:
            return None
        if now.header is not None:
            node = now.header.advance(token_id)
            return None if node is None else self._transitions.at_header(now, node, now)
        if now.grammar is None:
            return self._say(now, data, counts=counts)
        if not now.grammar.accept(token_id):
            return None
        return now if now.tool else self._format(now)

    def _say(self, now: Position, data: bytes, *, counts: bool) -> Position | None:
        """Read free text."""
        lexer, place = self._table.lexer, now.place
        after: Place | None = place if now.row.text else None
        if after is None or lexer.within(place, data) is None:
            after = place
            for byte in data:
                step = lexer.by_markers(after, byte, now.row.opening)
                if step is None:
                    return None
                after = step.place
        is_owed = self._envelope.due is Due.CALL and not now.calls
        if counts and is_owed and self._table.segment(now.state) is Segment.CONTENT:
            return self._transitions.enter(after.state, now.calls, now.text + 1)
        if after == place:
            return now
        return self._transitions.enter(after.state, now.calls, now.text)

    def _format(self, now: Position) -> Position:
        """Go on in text that has a format and has begun, so that the turn is not calls."""
        to = self._table.dialect.states[now.state].text_to
        if to == now.state and now.text:
            return now
        row = self._table.row_at(Place(to), FITTING)
        return now.but(place=Place(to), row=row, before=self._table.nothing, text=1)

    def fill(self, now: Position, target: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`.

        Raises:
            EnforcerError: there is none, outside of texts.

        """
        if now.grammar is not None:
            now.grammar.fill(target)
            target |= now.markers.mask
        elif now.header is None and now.row.ready:
            np.copyto(target, now.row.mask)
        elif now.shared is None:
            target[:] = self._row(now)
        else:
            self._transitions.write_kept(now.shared, target, lambda: self._row(now))

    def _row(self, now: Position) -> npt.NDArray[np.int32]:
        row = now.markers.mask.copy()
        if now.header is not None:
            if now.header.depth:
                self._transitions.ask_names()
            bits.join(row, now.header.row)
        return row
