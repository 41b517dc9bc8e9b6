"""Masks and steps of dialects whose markers are spelled, or whose texts end by themselves.

Owns: which tokens may come, and which need not be read symbol by symbol. A token is legal if and
only if its bytes run through the chain of segments, however many borders they cross. Most cross
none, and those are the masks of their segment. Must not know: rollback, deadlines, hosts.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from enforcer.engines.mask_rows import put
from enforcer.turn import bits
from enforcer.turn.crossing import Crossing, take_back
from enforcer.turn.cuts import NONE
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.turn.cuts import Cut
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.lexer import Place
    from enforcer.turn.position import Position, SharedStates
    from enforcer.turn.table import Row
    from enforcer.turn.transitions import Dependencies, Transitions


_BEHIND = 64  # sets of ids that may end a call that a turn remembers


class SpelledBorders:
    """The tokens of one turn, in a dialect that is not made of control tokens alone."""

    def __init__(self, envelope: Envelope, transitions: Transitions) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._transitions = transitions
        # With what they depend on.
        self._behind_calls: dict[tuple[object, ...], tuple[Cut, Dependencies]] = {}

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
        crossing = Crossing(self._envelope, self._transitions, now, counts=counts)
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
        return now if place is now.place else now.but(place=place)

    def fill(self, now: Position, target: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`.

        Args:
            now: where the turn stands.
            target: the mask row.

        """
        row, alike, envelope = now.markers, None, self._envelope
        if now.grammar is None and (row.crossing or self._ends(now)) and not envelope.text_format:
            alike = self._alike
        if alike is None:
            self._fill_anew(now, row, target, None)
        else:
            self._fill_framing(now, row, alike, target)

    @cached_property
    def _alike(self) -> SharedStates | None:
        return self._envelope.alike()

    def _ends(self, now: Position) -> bool:
        """Tell whether a header may end, and arguments begin, in an id or before it."""
        node = now.header
        if node is None or not (node.past or node.name is not None):
            return False
        return self._table.dialect.states[now.state].then is not None

    def _fill_framing(
        self, now: Position, row: Row, alike: SharedStates, target: npt.NDArray[np.int32]
    ) -> None:
        """Write a mask between texts, which is the same for every request with the same tools.

        Tools that come a second time will come again: what is asked of others is not kept.
        """
        kept, calls = self._table.masks, self._envelope.stage(now.calls)
        # Where the next call is, with the envelope, says what its index is and what is owed; the
        # row, where the turn stands outside of headers.
        key: tuple[object, ...] = (row, calls, alike)
        if now.header is not None and now.place is not None:
            key = (*now.header.key, now.place.header, *key)
        known = kept.get(key, self._transitions.grammar)
        if known is None:
            with self._transitions.recorded() as asked:
                self._fill_anew(now, row, target, None)
            there = {name: found for name, found in asked.grammars.items() if found is not None}
            if len(there) == len(asked.grammars):
                kept.keep(key, target, there)
        else:
            bits.write(target, known)

    def _fill_anew(
        self, now: Position, row: Row, target: npt.NDArray[np.int32], needed: Cut | None
    ) -> None:
        """Write a mask, right as to the second parts of some ids; None for all.

        The rests of tokens are shorter than the tokens, so that what is asked for behind one border
        after the other comes to an end.
        """
        place = now.place
        if now.failure is not None:  # behind a border: nothing may come there
            target.fill(0)
            return
        if now.grammar is not None:
            now.grammar.fill(target)
            target |= row.mask
            self._leave(now, target, needed)
        elif now.header is not None and place is not None and not place.begun:
            now.header.fill(target)
            target |= row.mask
            if self._ends(now):
                self._leave_header(now, now.header, place, target, needed)
        else:
            np.copyto(target, row.mask)
        for state, every in row.crossing.items():
            cut = self._table.borders.among(every, needed)
            if cut:
                self._add(self._behind(now, state, cut), now, target)

    def _behind(self, now: Position, state: str, cut: Cut) -> Cut:
        """Give those ids that end a marker whose second parts may come behind it."""
        table = self._table
        if table.segment(state) is Segment.HEADER and table.form.precedes(cut):
            return cut  # whatever the names
        return self._permitted(cut, self._transitions.follow(now, state))

    def _row(self, position: Position, needed: Cut | None) -> npt.NDArray[np.int32]:
        """Give what may come at a position; see `_fill_anew`."""
        row = np.empty(self._table.vocabulary.words, dtype=np.int32)
        self._fill_anew(position, position.markers, row, needed)
        return row

    def _leave_header(
        self,
        now: Position,
        node: HeaderNode,
        place: Place,
        target: npt.NDArray[np.int32],
        needed: Cut | None,
    ) -> None:
        """Add the ids that begin arguments, where a header ends by itself."""
        then = self._table.dialect.states[now.state].then
        if then is None:
            return
        if node.name is not None:
            target |= self._row(self._transitions.look_at_arguments(now, node.name, then), needed)
        for each in self._table.borders.behind(node, place):
            if each.inner:
                bits.join(target, self._transitions.first_ids(each.name, each.inner))
            cut = self._table.borders.among(each.outer, needed)
            if cut:
                self._add(self._begun(now, each.name, then, cut), now, target)

    def _begun(self, now: Position, name: str, then: str, cut: Cut) -> Cut:
        """Give those ids that end a tool's header whose second parts may come behind it.

        Most depend on the grammar of its arguments, and on no name.
        """
        grammar, envelope = self._transitions.grammar(name), self._envelope
        if grammar is None:
            return NONE
        known = self._table.firsts.cuts(grammar)
        openings = (envelope.opening(now.calls + calls, now.text) for calls in (0, 1))
        key = (then, *openings, cut)
        found = known.get(key)
        if found is None:
            with self._transitions.recorded() as asked:
                found = self._permitted(cut, self._transitions.look_at_arguments(now, name, then))
            if not asked.own and asked.grammars.get(name) is grammar:
                known.keep(key, found)
        return found

    def _leave(self, now: Position, target: npt.NDArray[np.int32], needed: Cut | None) -> None:
        """Add the ids that end a text of arguments and go on behind it."""
        place = now.place
        then = self._table.dialect.states[now.state].then
        if then is None or place is None or place.scan is None:
            return
        borders = self._table.borders
        cut = borders.among(borders.leaving(now.state, place.scan), needed)
        if cut:
            # The text is complete after their first parts, if these may come at all.
            self._add(self._behind_call(now, then, cut).begun(target), now, target)

    def _behind_call(self, now: Position, then: str, cut: Cut) -> Cut:
        """Give those ids that end a call's arguments whose second parts may come behind it.

        They are the same at each end of the arguments, and of most calls.
        """
        # Mostly no name is asked for: then it is so in every request.
        general = (then, self._envelope.opening(now.calls + 1, now.text), cut)
        found = self._table.cuts.get(general)
        if found is not None:
            return found
        key = (then, self._envelope.stage(now.calls), now.text, cut)
        known = self._behind_calls.get(key)
        if known is not None:
            found, asked = known
            self._transitions.depend(asked)
            return found
        with self._transitions.recorded() as asked:
            found = self._permitted(cut, self._transitions.enter(then, now.calls + 1, now.text))
        if not (asked.own or asked.grammars):
            self._table.cuts.keep(general, found)
        elif None not in asked.grammars.values():
            if len(self._behind_calls) >= _BEHIND:
                self._behind_calls.clear()
            self._behind_calls[key] = found, asked
        return found

    def _permitted(self, cut: Cut, behind: Position) -> Cut:
        """Give those ids of a cut whose second parts may come at a position."""
        return cut.permitted(self._row(behind, cut))

    def _add(self, cut: Cut, now: Position, target: npt.NDArray[np.int32]) -> None:
        """Add ids that a border cuts, whose parts are legal on either side of it."""
        put(target, cut.ids)
        for each in cut.loose:
            found = self.read(now, each.token, counts=False)
            if found is None:
                continue
            if now.grammar is not None:
                take_back(now.grammar, found.fed)
            put(target, each.token)
