"""Stop strings: a reply's events, let out as far as vLLM's text goes.

vLLM looks for stop strings in the text of all token ids before the calls, markers spelled out. It
cuts that text before the stop string, and while streaming it holds back what may become one. Events
that token ids have brought are aligned here with the length of that text.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.turn.events import Happening

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.turn.events import Event
    from enforcer.turn.parser import Parser
    from enforcer.vocabulary import Vocabulary

_Decoder = getincrementaldecoder("utf-8")
_TEXT = frozenset({Happening.REASONING, Happening.CONTENT, Happening.ARGUMENTS})


class Clip:
    """Feeds token ids to a parser, and holds its events back until the text has come as far."""

    def __init__(self, parser: Parser, vocabulary: Vocabulary) -> None:
        self._parser = parser
        self._vocabulary = vocabulary
        self._decoder = _Decoder(errors="replace")
        self._spelled = 0  # characters of the token ids
        self._shown = 0  # characters of vLLM's text
        self._waiting: deque[tuple[int, int, Event]] = deque()
        self._in_calls = False

    def read(self, token_ids: Sequence[int], text: str, *, last: bool) -> list[Event]:
        """Return the events of the text so far that have not been returned.

        Args:
            token_ids: the next token ids.
            text: what vLLM's text has grown by.
            last: whether nothing follows, so that the beginning of a marker is text.

        """
        self._shown += len(text)
        for token_id in token_ids:
            begin = self._spelled
            self._spelled += len(self._decoder.decode(self._vocabulary.token_bytes(token_id)))
            self._wait(begin, self._parser.feed([token_id]))
            self._in_calls |= self._parser.in_calls
        if last:
            self._wait(self._spelled, self._parser.finish())
        # No stop string is looked for in calls, and there was none before.
        return self._let_out(self._spelled if self._in_calls else self._shown)

    def _wait(self, begin: int, events: Iterable[Event]) -> None:
        # The bytes of a marker are ASCII, a character each.
        end = self._spelled - self._parser.held
        for event in events:
            # Text that was held back began before this token id did.
            first = min(begin, end - len(event.text)) if event.what in _TEXT else begin
            self._waiting.append((first, end, event))

    def _let_out(self, length: int) -> list[Event]:
        events = []
        while self._waiting and self._waiting[0][1] <= length:
            events.append(self._waiting.popleft()[2])
        if self._waiting:
            begin, end, event = self._waiting[0]
            room = length - begin
            if room > 0 and event.what in _TEXT:
                events.append(replace(event, text=event.text[:room]))
                self._waiting[0] = (length, end, replace(event, text=event.text[room:]))
        return events
