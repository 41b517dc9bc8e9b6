"""Parser of a turn: token ids back to reasoning, content and calls.

Owns: what counts as a call. Does no I/O and holds nothing back but bytes of an
unfinished character, and what may turn out to be a marker. Must not know: masks, engines,
hosts. Where markers are control tokens, their ids alone make structure, and the same text
spelled with ordinary tokens stays text.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enforcer.layouts import ID, Decoder, LayoutKind
from enforcer.turn.dialect import FREE_TEXT, Ids, Segment
from enforcer.turn.events import Call, Event, Happening, Turn
from enforcer.turn.ids import whole, whole_at_ends
from enforcer.turn.lexer import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from enforcer.turn.lexer import Place, Step
    from enforcer.turn.table import Table

_Decoder = getincrementaldecoder("utf-8")
_RUN = 64  # ids that are read at once where they are all text


_PIECES = {
    Segment.REASONING: Happening.REASONING,
    Segment.CONTENT: Happening.CONTENT,
    Segment.ARGUMENTS: Happening.ARGUMENTS,
}


class Parser:
    """Reads one turn id by id; `turn()` may be asked for at any time.

    Args:
        table: the dialect bound to a vocabulary: `Enforcer.table`.
        prompt_ids: the prompt's ids; the turn starts where they leave it, and what they
            have said of it is not reported. None means that the ids begin a turn, so
            that they may open a think; or where the first of them begins none, that they go on
            with one as those do that a `Matcher` without a prompt lets through.
        names: the tools that may be called; calls to others are dropped. None keeps every call.
            Where there are none, what spells the beginning of one is text.
        schema_of: gives the parameters of a tool, by which formats that do not write the types
            of values tell them.

    Attributes:
        reasoning_ids: how many ids of text inside a think have been read.
        dropped: how many calls were dropped because their tool is not declared, or because their
            arguments are not well-formed in the format's own terms.
        dropped_name: the tool that the first of them names; empty if its header names none.

    """

    def __init__(
        self,
        table: Table,
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
        schema_of: Callable[[str], Mapping[str, Any] | None] = lambda _: None,
    ) -> None:
        self._table = table
        self._names = names
        self._schema_of = schema_of
        no_calls = names is not None and not names and not table.is_simple
        self._opening = replace(OPEN, call=False, lenient=True) if no_calls else OPEN
        self._place = table.lexer.enter(table.dialect.turn_state)
        self._decoder = _Decoder(errors="replace")
        self._values: Decoder | None = None
        self._header = bytearray()
        self._held = b""
        self._call: tuple[str, str, int] | None = None
        self._reset()
        self._first = self._place if prompt_ids is None else None
        if prompt_ids is not None:
            state, begun = table.opened(whole_at_ends(prompt_ids, "prompt_ids"))
            self._place = table.lexer.enter(state)
            self.feed(begun)
            self._reset()
            # A call that the prompt has begun lacks its beginning here.
            self._call = self._values = None

    def another(self) -> Parser:
        """Return one for another reply to the same prompt; nothing of this reply has been read."""
        made = copy(self)
        made._decoder = _Decoder(errors="replace")  # noqa: SLF001 - its own
        made._decoder.setstate(self._decoder.getstate())  # noqa: SLF001
        made._header = self._header.copy()  # noqa: SLF001
        made._reset()  # noqa: SLF001
        return made

    def _reset(self) -> None:
        self._said: dict[Segment, list[str]] = {segment: [] for segment in FREE_TEXT}
        self._arguments: list[str] = []
        self._calls: list[Call] = []
        self._read = 0
        self._stray: int | None = None
        self.reasoning_ids = 0
        self._doubtful = 0  # ids inside a think that may be its end
        self.dropped = 0
        self.dropped_name = ""

    @property
    def state(self) -> str:
        """Name of the state of the envelope."""
        return self._place.state

    @property
    def _segment(self) -> Segment:
        return self._table.segment(self._place.state)

    @property
    def in_calls(self) -> bool:
        """Whether a call, or a section of calls, is open."""
        return self.state in self._table.dialect.calling

    @property
    def read(self) -> int:
        """Number of ids that were read, strays and the ids behind them included."""
        return self._read

    @property
    def held(self) -> int:
        """Number of bytes held back because they may become a marker."""
        return len(self._held)

    @property
    def ended(self) -> bool:
        """Whether the end of the turn was read."""
        return self.state == self._table.dialect.final

    def feed(self, token_ids: Iterable[int]) -> list[Event]:
        """Read more ids; gives what they have brought, in order.

        Raises:
            ConfigurationError: they are no whole numbers; none is read then.

        """
        events: list[Event] = []
        ids = whole(token_ids, "token_ids")
        for start in range(0, len(ids), _RUN):
            run = ids[start : start + _RUN]
            if len(run) > 1 and self._all_text(run, events):
                self._read += len(run)
                continue
            for token_id in run:
                if self._stray is None and not (
                    self._step(token_id, events) or self._goes_on(token_id, events)
                ):
                    self._stray = self._read
                self._read += 1
        return events

    def _goes_on(self, token_id: int, events: list[Event]) -> bool:
        """Read the first id of all as one that goes on with a turn, as it begins none."""
        if self._read or self._held or self._place is not self._first:
            return False
        before = self._place
        self._place = self._table.lexer.enter(self._table.dialect.start)
        if self._step(token_id, events):
            return True
        self._place = before
        return False

    def finish(self) -> list[Event]:
        """Return the events of text that was held back as a possible marker.

        To be called when no token ids follow. Bytes held outside text and reasoning are dropped.
        """
        events: list[Event] = []
        self._let_out(self._segment, 0, events)
        return events

    def turn(self) -> Turn:
        """Return what has been read so far."""
        return Turn(
            reasoning="".join(self._said[Segment.REASONING]),
            content="".join(self._said[Segment.CONTENT]),
            calls=tuple(self._calls),
            ended=self.ended,
            stray=self._stray,
        )

    def _all_text(self, ids: Sequence[int], events: list[Event]) -> bool:
        """Read ids at once, if they are all of the text which they stand in."""
        table = self._table
        data = None if self._stray is not None else table.vocabulary.text(ids)
        if data is None or self._held:
            return False
        place = table.lexer.within(self._place, data)
        if place is None:
            return False
        self._read_text(data, place, events)
        if self._segment is Segment.REASONING:
            self.reasoning_ids += len(ids)
        return True

    def _step(self, token_id: int, events: list[Event]) -> bool:
        """Read an id symbol by symbol; what stands before one that is illegal has been read."""
        table = self._table
        symbols = table.symbols(token_id)
        if isinstance(symbols, bytes) and symbols and not self._held:
            place = table.lexer.within(self._place, symbols)
            if place is not None:
                self._read_text(symbols, place, events)
                self.reasoning_ids += self._segment is Segment.REASONING
                return True
        thinks = self._segment is Segment.REASONING
        for symbol in symbols:
            step = table.lexer.step(self._place, symbol, self._opening)
            if step is None:
                return False
            if step.fallen is not None:
                self._leave(Segment.HEADER, events)
                self._place = step.fallen
            self._read_symbol(symbol, step, events)
        if thinks and self._segment is Segment.REASONING:
            self._doubtful += 1
            if not self._place.begun:
                self.reasoning_ids += self._doubtful
                self._doubtful = 0
        else:
            self._doubtful = 0
        return bool(symbols)

    def _read_text(self, data: bytes, place: Place, events: list[Event]) -> None:
        """Read bytes that are all of the text which they stand in."""
        segment = self._segment
        if segment is Segment.ARGUMENTS:
            self._take_arguments(data, events)
        else:
            self._take(segment, data, events)
        self._place = place

    def _read_symbol(self, symbol: int, step: Step, events: list[Event]) -> None:
        segment = self._segment
        ended = step.place.state != self.state
        if step.taken:
            self._take_symbol(segment, symbol, events)
            if ended:
                self._leave(segment, events)
        else:
            self._held += bytes([symbol]) if symbol < ID else b""
            # As much as may belong to a marker, of which this symbol is the last.
            begun = step.place.begun
            length = step.marker or (begun[0].length if begun else 0)
            if symbol >= ID or not self._place.committed:
                self._let_out(segment, length - (symbol >= ID), events)
            if step.marker or step.place.committed:
                self._held = b""
            if step.marker:
                self._leave(segment, events)
        self._place = step.place

    def _let_out(self, segment: Segment, behind: int, events: list[Event]) -> None:
        """Let go of the text that is held back, but its last bytes."""
        cut = len(self._held) - behind
        if cut > 0 and segment in FREE_TEXT:
            self._take(segment, self._held[:cut], events)
        self._held = self._held[max(cut, 0) :]

    def _take_symbol(self, segment: Segment, symbol: int, events: list[Event]) -> None:
        if segment is not Segment.ARGUMENTS:
            self._take(segment, bytes([symbol]), events)
        elif symbol < ID:
            self._take_arguments(bytes([symbol]), events)
        elif self._call is not None and self._values is not None:
            self._say(segment, self._values.feed([symbol]), events)

    def _take_arguments(self, data: bytes, events: list[Event]) -> None:
        if self._call is None:
            return  # of a call that was dropped, whatever is in it
        if self._values is not None:
            self._say(Segment.ARGUMENTS, self._values.feed(data), events)
            return
        if not self._arguments:
            data = data.lstrip(b" \t\r\n")  # white space first is the header's
        self._take(Segment.ARGUMENTS, data, events)

    def _take(self, segment: Segment, data: bytes, events: list[Event]) -> None:
        if segment is Segment.HEADER:
            self._header += data
            return
        self._say(segment, self._decoder.decode(data), events)

    def _leave(self, segment: Segment, events: list[Event]) -> None:
        """End a segment's text."""
        self._say(segment, self._decoder.decode(b"", final=True), events)
        self._decoder.reset()
        if segment is Segment.HEADER:
            self._begin_call(events)
        elif segment is Segment.ARGUMENTS:
            self._end_call(events)

    def _say(self, segment: Segment, text: str, events: list[Event]) -> None:
        if not text:
            return
        if segment is Segment.ARGUMENTS:
            if self._call is None:
                return
            self._arguments.append(text)
        else:
            self._said[segment].append(text)
        events.append(Event(_PIECES[segment], text))

    def _begin_call(self, events: list[Event]) -> None:
        header = self._header.decode(errors="replace")
        self._header.clear()
        self._arguments.clear()
        parts = self._table.dialect.header_parts(header)
        if parts is None or (self._names is not None and parts[0] not in self._names):
            self._drop("" if parts is None else parts[0])
            return
        name, index = parts
        # The id of a call, where the format writes it.
        written = header if self._table.dialect.ids is Ids.WRITTEN else ""
        self._call = (written, name, index)
        if self._table.layout.layout.kind is not LayoutKind.JSON:
            self._values = Decoder(self._table.layout, self._schema_of(name))
        events.append(Event(Happening.CALL, written, name))

    def _end_call(self, events: list[Event]) -> None:
        if self._call is None:
            return
        values, self._values = self._values, None
        if values is not None:
            try:
                self._say(Segment.ARGUMENTS, values.finish(), events)
            except ValueError:  # what no mask lets through is no call
                self._drop(self._call[1])
                return
        call = Call(*self._call, "".join(self._arguments))
        self._calls.append(call)
        events.append(Event(Happening.CALL_END, call.arguments))

    def _drop(self, name: str) -> None:
        self._call = None
        if not self.dropped:
            self.dropped_name = name
        self.dropped += 1
