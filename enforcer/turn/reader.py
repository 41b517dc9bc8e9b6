"""Reader of a turn's tokens and its bitmask rows outside of texts, by `enforcer.kernel.turn`.

Owns: which text of a call follows which header, and what the kernel has found as a `Position`.
Must not know: rollback, deadlines, hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enforcer import kernel
from enforcer.errors import EnforcerError
from enforcer.turn import bits
from enforcer.turn.around import AroundPlace
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.lexer import BLANK_BYTES, FITTING, Opening, Place
from enforcer.turn.position import Begins

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode
    from enforcer.turn.position import Position
    from enforcer.turn.transitions import Transitions


class Native(NamedTuple):
    """A state of the kernel's turn; see `kernel.Turn.state`."""

    place: int
    low: int = 0
    high: int = 0
    depth: int = 0
    calls: int = 0


class TriedTexts:
    """Starts texts of calls for the rows of the kernel, and for tests of tokens.

    Attributes:
        names: the tool of each header of the next call.
        asked: the tools of which texts were started.

    """

    def __init__(self, transitions: Transitions, names: Sequence[str]) -> None:
        self._transitions = transitions
        self.names = names
        self.asked: set[str] = set()

    def __call__(self, header: int) -> Any:
        """Return the kernel's text behind a header, by its number; None if its grammar fails."""
        name = self.names[header]
        self.asked.add(name)
        return native_text(self._transitions.start(name))


class TokenReader:
    """Reads the tokens of one turn, and fills its bitmask rows.

    Args:
        envelope: what the request allows.
        transitions: where borders lead.

    Attributes:
        fed: how many ids the last token fed to the grammar of a text that it has left.

    """

    def __init__(self, envelope: Envelope, transitions: Transitions) -> None:
        self.fed = 0
        self._envelope = envelope
        self._table = envelope.table
        self._around = envelope.table.around
        self._transitions = transitions
        self._then = envelope.table.behind_arguments
        self._after: list[int] = []
        if self._then is not None:
            self._after = [self._enter(self._then, calls) for calls in (1, max(envelope.most, 1))]
        self._trie = envelope.headers(0)
        self._tried = TriedTexts(transitions, self._trie.names)
        # By the completed calls: the last one, and how many equal ones it ends.
        self._runs: list[tuple[tuple[str, int], int]] = []
        self._inside = envelope.table.layout.ids  # the special tokens that arguments may have
        self._is_indexed = envelope.table.dialect.has_index
        self._turn = kernel.Turn(
            self._around.native,
            self._trie.native,
            np.array(self._after, np.int32),
            envelope.most,
            self._tried,
        )

    def _enter(self, state: str, calls: int, text: int = 0) -> int:
        return self._around.enter(state, self._envelope.opening(calls, text))

    # Positions and states of the kernel.

    def load(self, now: Position) -> Native:
        """Bring the kernel to a position outside of texts."""
        self._use_headers(now.calls)
        node = now.header
        if node is None or now.place.begun:
            number = self._number(now, now.row.opening)
            low = 0 if node is None else node.low
            found = Native(number, low, low + 1, 0, now.calls)
        else:
            place = AroundPlace(
                now.state, now.row.opening, rest=node.rest, is_behind=node.is_behind
            )
            found = Native(self._around.number(place), node.low, node.high, node.depth, now.calls)
        self._turn.set_state(*found)
        return found

    def _use_headers(self, calls: int) -> None:
        """Let the kernel read the headers of the next call, which may have its index."""
        trie = self._envelope.headers(calls) if self._is_indexed else self._trie
        if trie is not self._trie:
            self._trie, self._tried.names = trie, trie.names
            self._turn.use(trie.native)

    def _number(self, now: Position, opening: Opening) -> int:
        return self._around.number(
            AroundPlace(now.state, opening, Place(now.state, now.place.begun))
        )

    def _position(self, before: Position, found: Native) -> Position:
        """Return the position of a state of the kernel outside of texts."""
        at, transitions = self._around.places[found.place], self._transitions
        shared = None if before.text else transitions.shared
        known = None if shared is None else shared.of_state(found)
        if known is not None:
            return known
        header: HeaderNode | None = None
        if self._table.segment(at.state) is Segment.HEADER:
            is_read = at.markers is not None
            low, high = found.low, found.low + 1 if is_read else found.high
            if at.rest is not None and not at.is_behind:
                low, high = 0, len(self._trie.names)  # the kernel's are of the header before
            depth = self._trie.sizes[low] if is_read else found.depth
            header = self._trie.node(low, high, depth, at.rest, is_behind=at.is_behind)
        if at.markers is not None and at.markers.begun:
            return transitions.inside(at.markers, at.opening, found.calls, before.text, header)
        position = transitions.enter(at.state, found.calls, before.text)
        if header is not None:
            return transitions.at_header(position, header, before)
        return position if shared is None else shared.share_of_state(found, position)

    # Tokens.

    def read(self, now: Position, token_id: int, *, counts: bool) -> Position | None:
        """Return the position after an id; None if it is illegal, nothing being changed then.

        Args:
            now: where the turn stands; its grammar moves on with the token.
            token_id: any number at all.
            counts: whether text is counted, as it is while a call is demanded.

        """
        begins = None if now.shared is None else now.shared.begins.get(token_id)
        if begins is not None:
            self._use_headers(now.calls)
            return self._begun(now, begins, token_id)
        vocabulary = self._table.vocabulary
        if token_id in vocabulary.control_ids:
            return self._special(now, token_id)
        if not 0 <= token_id < vocabulary.size:
            return None
        data = vocabulary.token_bytes(token_id)
        if not data:
            return None
        if now.grammar is None:
            is_owed = counts and self._envelope.due is Due.CALL and not now.calls
            if not is_owed and now.row.text and self._stays(now, data):
                return now
            self.load(now)
            found = self._read(now, data, 0, token_id)
            if found is not None and is_owed and self._turn.has_said:
                found = self._counted(now, found)
            return found
        if not now.tool:
            return self._format(now, token_id)
        if not now.grammar.accept(token_id):
            return None
        return self.behind(now, token_id) if self._has_ended(now.grammar) else now

    def teach(self, now: Position, token_id: int) -> None:
        """Let the automaton know a token around calls, where a cached step would not read it."""
        is_around = now.grammar is None and not now.row.text
        if is_around and 0 <= token_id < self._table.vocabulary.size:
            self.load(now)
            self._turn.read(self._table.vocabulary.texts[token_id], 0)

    def _has_ended(self, text: Any) -> bool:
        """Return whether a text of arguments has ended by itself."""
        return self._then is not None and text.is_done

    def behind(self, now: Position, token_id: int) -> Position | None:
        """Return the position after a token that the arguments have accepted, and ended within.

        The rest of the token is legal; None, and the arguments stand where they did, if it cannot
        be read all the same.
        """
        text: Any = now.grammar
        found: Position | None = None
        try:
            found = self._ended(now, token_id)
        finally:
            if found is None:  # the next text failed between the test and its beginning
                text.rollback(1)
        self.fed = int(found is not None)
        return found

    def _ended(self, now: Position, token_id: int) -> Position | None:
        """Read the rest of a token within which the arguments have ended."""
        data = self._table.vocabulary.token_bytes(token_id)
        text: Any = now.grammar
        start = len(data) - text.left
        done = self._completed(now, text.left)
        self._end_call(done)
        found = self._read(now, data, start, token_id)
        if found is None and done > now.calls + 1:
            # The token begins another call, as its row could not know that it is one too many. No
            # format has both such tokens and an index in its headers.
            self._end_call(now.calls + 1)
            found = self._last(self._read(now, data, start, token_id))
        return found

    def _last(self, found: Position | None) -> Position | None:
        """Let no call follow the one that a token has begun, if it has not ended yet."""
        calls = self._envelope.most - 1
        if found is None or found.calls >= calls:
            return found
        return self._linked(found.but(calls=calls))

    def _completed(self, now: Position, behind: int = 0) -> int:
        """Return how many calls are completed with the present one.

        After too many equal calls in a row it is the most that the turn may have, so that no
        further one begins.

        Args:
            now: in the arguments that have ended.
            behind: bytes of their last token behind them.

        """
        calls, limit = now.calls + 1, self._envelope.identical
        if limit is None:
            return calls
        call = now.tool, native_text(now.grammar).fingerprint(behind)
        del self._runs[now.calls :]
        before, run = self._runs[-1] if self._runs else (None, 0)
        run = run + 1 if before == call else 1
        self._runs.append((call, run))
        return max(calls, self._envelope.most) if run >= limit else calls

    def _end_call(self, done: int) -> None:
        """Bring the kernel behind a text with which so many calls are completed."""
        self._turn.set_state(self._after[1 if done >= self._envelope.most else 0], 0, 0, 0, done)

    def behind_text(self, now: Position) -> Native:
        """Return the state of the kernel behind the arguments, which are taken for complete."""
        calls = now.calls + 1
        if self._then is not None:
            return Native(self._place_after(now.calls), calls=calls)
        place = AroundPlace(now.state, self._envelope.opening(calls, now.text), Place(now.state))
        return Native(self._around.number(place), calls=calls)

    def _place_after(self, calls: int) -> int:
        """Return the place behind a text before which so many calls were completed."""
        return self._after[1 if calls + 1 >= self._envelope.most else 0]

    def _read(self, before: Position, data: bytes, at: int, token_id: int) -> Position | None:
        """Read the bytes of a token from one on, outside of texts at first."""
        at = self._turn.read(data, at)
        if at < 0:
            return None
        found = Native(*self._turn.state())
        if not self._around.begins_text(found.place):
            return self._position(before, found)
        state, name = self._around.places[found.place].state, self._trie.names[found.low]
        begins = Begins(self._transitions.enter(state, found.calls, before.text), name, at)
        if before.shared is not None:
            self._transitions.note_beginning(before.shared, token_id, begins)
        return self._begun(before, begins, token_id)

    def _begun(self, before: Position, begins: Begins, token_id: int) -> Position | None:
        """Begin the arguments behind a header, and read the rest of a token."""
        self._transitions.decide(before.header, begins.name)
        position = self._linked(self._transitions.start_arguments(begins.at, begins.name))
        data = self._table.vocabulary.token_bytes(token_id)
        if begins.start == len(data) or position.failure is not None:
            return position if begins.start == len(data) else None
        text: Any = position.grammar
        if not text.accept_rest(token_id, begins.start):
            return None
        if not self._has_ended(text):
            return position
        return self._ended(position, token_id)

    def _linked(self, begun: Position) -> Position:
        """Let the turn go on where the arguments end that have begun."""
        own = native_text(begun.grammar)
        if begun.tool and self._then is not None and isinstance(own, kernel.TextMatcher):
            after = self._trie.turn_id(self._place_after(begun.calls))
            self._turn.link(own, after, begun.calls)
        return begun

    def _stays(self, now: Position, data: bytes) -> bool:
        """Return whether bytes are text that leaves the turn where it stands."""
        return self._table.lexer.within(now.place, data) is now.place

    def _counted(self, now: Position, found: Position) -> Position:
        if self._table.segment(found.state) is Segment.CONTENT:
            return self._transitions.enter(found.state, found.calls, now.text + 1, found.place)
        return found.but(text=now.text + 1)

    def _format(self, now: Position, token_id: int) -> Position | None:
        """Read a token of content that has a format."""
        if now.grammar is None or not now.grammar.accept(token_id):
            return None
        states, to = self._table.dialect.states, now.state
        for byte in self._table.vocabulary.token_bytes(token_id):
            to = states[to].blank_to if byte in BLANK_BYTES else states[to].text_to
        if to == now.state and now.text:
            return now
        row = self._table.row_at(Place(to), FITTING)
        return now.but(place=Place(to), row=row, before=self._table.nothing, text=1)

    def _special(self, now: Position, token_id: int) -> Position | None:
        """Read a special token: of a raw text, or of a marker."""
        self.fed = 0
        if now.tool and now.grammar is not None:
            if token_id in self._inside and now.grammar.accept(token_id):
                if not self._has_ended(now.grammar):
                    return now
                self.fed = 1
                self._end_call(self._completed(now))
                return self._position(now, Native(*self._turn.state()))
            if not now.grammar.is_accepting():
                return None
            return self._marked(now, token_id, now.row.opening, self._completed(now))
        if now.header is not None and not now.place.begun:
            if now.header.name is None:
                return None
            found = self._marked(now, token_id, now.row.opening, now.calls)
            return self._fallen(now, token_id) if found is None else found
        if now.grammar is not None and token_id not in now.markers.markers:
            return None  # text that has a format and is incomplete has no end at all
        return self._marked(now, token_id, now.markers.opening, now.calls)

    def _marked(
        self, now: Position, token_id: int, opening: Opening, calls: int
    ) -> Position | None:
        to = self._around.special(self._number(now, opening)).get(token_id)
        if to is None:
            return None
        at = self._around.places[to]
        if at.markers is not None and at.markers.begun:
            return self._transitions.inside(at.markers, opening, calls, now.text, now.header)
        if self._table.segment(now.state) is Segment.ARGUMENTS:
            return self._transitions.enter(at.state, calls, now.text)
        return self._linked(self._transitions.follow(now, at.state))

    def _fallen(self, now: Position, token_id: int) -> Position | None:
        """Read a token that only the arguments behind a header can have."""
        behind = self._behind(now)
        return (
            None
            if behind is None or behind.failure is not None
            else self._special(behind, token_id)
        )

    def _behind(self, now: Position) -> Position | None:
        """Return the beginning of arguments that nothing but their own text tells from a header."""
        node, then = now.header, self._table.dialect.states[now.state].then
        if node is None or node.name is None or then is None or now.place.begun:
            return None
        return self._linked(self._transitions.begin_arguments(now, node.name, then))

    # Rows.

    def fill(self, now: Position, target: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; see `Matcher.fill`.

        Raises:
            EnforcerError: there is none, outside of texts.

        """
        if now.grammar is not None:
            now.grammar.fill(target)
            target |= now.markers.mask
        else:
            bits.write(target, self._row(now))

    def _row(self, now: Position) -> bits.Sparse:
        """Return the row of a position outside of texts, which is kept if it is shared."""
        shared, number = now.shared, -1
        if now.header is None or now.place.begun:
            number = self._number(now, now.row.opening)
            found = self._around.rows.get(number)
            if found is not None:
                if shared is not None:
                    shared.row = found
                return found
        if shared is not None and (found := self._transitions.kept(shared)) is not None:
            return found
        row = self.made(now)
        if not row.any():
            raise EnforcerError(f"no token can continue the turn in {now.state}")
        found = bits.sparse(row)
        if number >= 0 and not (self._turn.has_named or self._turn.has_begun):
            self._around.rows[number] = found
            if shared is not None:
                shared.row = found
        elif shared is not None:
            self._transitions.keep(shared, found)
        return found

    def made(self, now: Position) -> npt.NDArray[np.int32]:
        """Return the row of a position outside of texts, anew; int32, without a bit if none is."""
        row = np.empty(self._table.vocabulary.words, dtype=np.int32)
        self.load(now)
        self._tried.asked.clear()
        self._turn.fill(row, native_text(self._table.any_text.matcher()))
        if self._turn.has_named or self._turn.has_begun or now.header is not None:
            self._transitions.ask_names()
        for name in self._tried.asked:
            self._transitions.depend_on(name)
        if now.header is None or now.place.begun or now.header.name is not None:
            special = self._around.special(self._number(now, now.row.opening))
            row |= self._table.vocabulary.row(special)
        behind = self._behind(now)
        if behind is not None and behind.grammar is not None:
            text = np.empty_like(row)
            self.fill(behind, text)
            row |= text & self._table.vocabulary.row(self._table.vocabulary.control_ids)
        return row


def native_text(text: Any) -> Any:
    """Return the kernel's own matcher of a text, which an explained one has inside."""
    return getattr(text, "engine", text)
