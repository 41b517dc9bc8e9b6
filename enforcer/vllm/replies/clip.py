"""Stop strings: a reply goes as far as vLLM's text does, not as far as its ids.

Owns: aligning the events that ids have brought with the length of the text that
vLLM lets out. vLLM looks for stop strings in the text of all ids before the calls, markers
spelled out; it cuts that text before the stop string, and while streaming it holds back
what may yet become one. Must not know: requests, deltas.
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
    """Feeds ids to a parser, and lets its events out as far as the text has come."""

    def __init__(self, parser: Parser, vocabulary: Vocabulary) -> None:
        self._parser = parser
        self._vocabulary = vocabulary
        self._decoder = _Decoder(errors="replace")
        self._length = 0
        self._waiting: deque[tuple[int, int, Event]] = deque()
        self._uncut = False

    def feed(self, token_ids: Sequence[int]) -> None:
        """Read more ids."""
        for token_id in token_ids:
            begin = self._length
            self._length += len(self._decoder.decode(self._vocabulary.token_bytes(token_id)))
            self._wait(begin, self._parser.feed([token_id]))
            self._uncut |= self._parser.in_calls

    def finish(self) -> None:
        """Read no more: what might have become a marker is text."""
        self._wait(self._length, self._parser.finish())

    def _wait(self, begin: int, events: Iterable[Event]) -> None:
        # The bytes of a marker are ASCII, a character each.
        end = self._length - self._parser.held
        for event in events:
            # What was held back began before this id did.
            first = min(begin, end - len(event.text)) if event.what in _TEXT else begin
            self._waiting.append((first, end, event))

    def let_out(self, length: int) -> list[Event]:
        """Give the events of the first `length` characters that have not been given.

        Once calls have begun, all: no stop string is looked for there, and none was before.
        """
        if self._uncut:
            length = self._length
        events = []
        while self._waiting:
            begin, end, event = self._waiting[0]
            if end <= length:
                self._waiting.popleft()
                events.append(event)
                continue
            room = length - begin
            if room > 0 and event.what in _TEXT:
                events.append(replace(event, text=event.text[:room]))
                rest = replace(event, text=event.text[room:])
                self._waiting[0] = (length, end, rest)
            break
        return events
