"""Stop strings: a reply is read no further than vLLM's text goes.

vLLM looks for stop strings in the text of all token ids before the calls, markers spelled out. It
cuts that text before the stop string, and while streaming it holds back what may become one. So a
token id waits here until vLLM's text has all of its characters. Draft tokens behind a stop string
come in the same step, and are never read.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import deque
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.events import Event
    from enforcer.turn.parser import Parser
    from enforcer.turn.table import Table

_Decoder = getincrementaldecoder("utf-8")


class Clip:
    """Feeds token ids to a parser as far as vLLM's text has come."""

    def __init__(self, parser: Parser, table: Table) -> None:
        self._parser = parser
        self._table = table
        self._decoder = _Decoder(errors="replace")
        self._spelled = 0  # characters of all token ids
        self._waiting: deque[tuple[int, int]] = deque()  # ids not read, and where their text ends
        self._read = 0  # characters of the others
        self._shown: float = 0  # characters of vLLM's text

    def read(self, token_ids: Sequence[int], text: str, *, last: bool) -> list[Event]:
        """Return the events of the text so far that have not been returned.

        Args:
            token_ids: the next token ids.
            text: what vLLM's text has grown by.
            last: whether nothing follows, so that the beginning of a marker is text.

        """
        self._shown += len(text)
        for token_id in token_ids:
            data = self._table.vocabulary.token_bytes(token_id)
            self._spelled += len(self._decoder.decode(data))
            self._waiting.append((token_id, self._spelled))
        events = []
        while self._waiting and self._waiting[0][1] <= self._shown:
            events += self._next()
        return events + self._finish() if last else events

    def _next(self) -> list[Event]:
        token_id, self._read = self._waiting.popleft()
        events = self._parser.feed([token_id])
        if self._parser.in_calls:
            self._shown = inf  # no stop string is looked for in calls, and there was none before
        return events

    def _finish(self) -> list[Event]:
        """Return the last events, cut where vLLM's text ends inside a token's."""
        events, excess = [], 0
        token_id, end = self._waiting[0] if self._waiting else (None, 0)
        if token_id in self._table.turn_end_ids:  # vLLM's text lacks it
            events = self._next()
        elif self._read < self._shown < end:
            events, excess = self._next(), end - int(self._shown)
        events += self._parser.finish()
        for at, event in reversed([*enumerate(events)]):
            kept = max(0, len(event.text) - excess)
            excess -= len(event.text) - kept
            events[at] = replace(event, text=event.text[:kept])
        return events
