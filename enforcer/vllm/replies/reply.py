"""One reply, read from its token ids: its events, its calls, and whether the calls were cut off.

Replies to one request share a parser that has read what the prompt has begun of the turn, so that
no token id of a prompt is read twice.

vLLM looks for stop strings in the text of all token ids before the calls, markers spelled out. It
cuts that text before the stop string, and while streaming it holds back what may become one. So a
token id of a request with stop strings waits until vLLM's text has all of its characters. Draft
tokens behind a stop string come in the same step, and are never read.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from enforcer.request import carrier
from enforcer.turn.events import Event, Happening
from enforcer.turn.parser import Parser
from enforcer.vllm.intake import requests
from enforcer.vllm.native import native_tags
from enforcer.vllm.observe import metric_defs, metrics, request_context
from enforcer.vllm.observe.metric_defs import Outcome
from enforcer.vllm.server import reply_lengths, runtime, served_model
from enforcer.vllm.server.side_table import notes

if TYPE_CHECKING:
    from enforcer.turn.table import Table

_Decoder = getincrementaldecoder("utf-8")


class ReplyReader:
    """One reply to a request, read whole or in pieces.

    Args:
        table: the tool-call format, bound to the vocabulary.
        prompt_ids: the prompt's token ids.
        request: the request, as its route takes it.

    Attributes:
        parser: reads the token ids.
        begun: how many calls have begun.

    """

    def __init__(self, table: Table, prompt_ids: Sequence[int] | None, request: Any) -> None:
        self._request = request

        def make() -> Parser:
            return Parser(table, prompt_ids, *requests.callable_tools(request))

        self.parser = begin(request, prompt_ids, make)
        self._table = table
        # Characters of vLLM's text, as far as it bounds the reply.
        self._shown: float = 0 if request.stop else inf
        self._waiting: deque[tuple[int, int]] = deque()  # unread ids, and where their text ends
        self._spelled = self._read = 0  # characters of all token ids, and of the ids read
        self._decoder = _Decoder(errors="replace")
        # The rest of a call that the prompt has begun is no call of the reply.
        self._demands_call = not self.parser.in_calls and requests.demands_call(request)
        self.begun = 0

    def read(self, token_ids: Sequence[int], text: str, *, last: bool) -> list[Event]:
        """Return the events of the next token ids, as far as vLLM's text goes.

        Args:
            token_ids: the next token ids.
            text: what vLLM's text has grown by. Markers in it cannot be told from spelled ones: it
                only says how far the reply goes, where a stop string may have ended it.
            last: whether nothing follows.

        """
        if self._shown < inf:
            events = self._clipped(token_ids, len(text), last=last)
        else:
            events = self.parser.feed(token_ids)
            events += self.parser.finish() if last else ()
        self.begun += sum(event.what is Happening.CALL for event in events)
        if last:
            request_context.change(is_cut=self.is_cut)
        return events

    def _clipped(self, token_ids: Sequence[int], grown: int, *, last: bool) -> list[Event]:
        """Return the events of the token ids that are wholly in vLLM's text."""
        self._shown += grown
        for token_id in token_ids:
            # A client of the derender route writes any token id, and vLLM shows nothing of others.
            vocabulary = self._table.vocabulary
            data = vocabulary.token_bytes(token_id) if 0 <= token_id < vocabulary.size else b""
            self._spelled += len(self._decoder.decode(data))
            self._waiting.append((token_id, self._spelled))
        events = []
        while self._waiting and self._waiting[0][1] <= self._shown:
            events += self._next()
        return events + self._rest() if last else events

    def _next(self) -> list[Event]:
        token_id, self._read = self._waiting.popleft()
        events = self.parser.feed([token_id])
        if self.parser.in_calls:
            self._shown = inf  # no stop string is looked for in calls, and there was none before
        return events

    def _rest(self) -> list[Event]:
        """Return the last events, cut where vLLM's text ends inside a token's."""
        events, excess = [], 0
        token_id, end = self._waiting[0] if self._waiting else (None, 0)
        if token_id in self._table.turn_end_ids:  # vLLM's text lacks it
            events = self._next()
        elif self._read < self._shown < end:
            events, excess = self._next(), end - int(self._shown)
        events += self.parser.finish()
        for at, event in reversed([*enumerate(events)]):
            kept = max(0, len(event.text) - excess)
            excess -= len(event.text) - kept
            events[at] = replace(event, text=event.text[:kept])
        return events

    @property
    def is_cut(self) -> bool:
        """Whether the reply was cut off inside its calls, or right after them.

        Right after: vLLM may report `length` there, under which no client expects a call.
        """
        parser = self.parser
        is_short = parser.read < reply_lengths.most(self._request)
        return parser.in_calls or not (parser.ended or is_short)

    def count(self, completed: int) -> None:
        """Count the calls of a reply that has been read; `completed` of them are reported."""
        if reply_lengths.is_prefill(self._request):
            return  # the other server's reply has the calls
        dropped = self.parser.dropped
        metrics.count(metric_defs.CALLS, Outcome.COMPLETED, number=completed)
        metrics.count(metric_defs.CALLS, Outcome.CUT_OFF, number=self.begun - completed)
        if self._demands_call and not self.begun and not dropped:
            metrics.count(metric_defs.CALLS, Outcome.NOT_BEGUN)
        # Anybody can send any reply to be read (`/derender`), which says nothing of enforcement.
        if dropped and notes(self._request).is_prepared:
            metrics.count(metric_defs.CALLS, Outcome.DROPPED, number=dropped)
            of = request_context.told_of_call(self.parser.dropped_name)
            metrics.log("call dropped", tool=of["tool"], request=of["request"])


def begin(owner: object, prompt_ids: Sequence[int] | None, make: Callable[[], Parser]) -> Parser:
    """Return a parser for a reply, in the state in which its prompt ends.

    Args:
        owner: the object that the replies to one request have in common.
        prompt_ids: the prompt's token ids.
        make: returns a parser that has read what they have begun of the turn.

    """
    known = notes(owner)
    if known.beginning is None or known.beginning[0] != prompt_ids:
        known.beginning = prompt_ids, make()
    return known.beginning[1].another()


def from_new_request(original: Any, cls: Any, tokenizer: Any, request: Any) -> Any:
    """Wrap `IncrementalDetokenizer.from_new_request`, whose result finds stop strings."""
    made = original(cls, tokenizer, request)
    wanted = request.sampling_params.structured_outputs
    if getattr(made, "stop", None) and wanted and _is_enforced(wanted.structural_tag):
        table, ids = runtime.table_for(tokenizer), request.prompt_token_ids
        # vLLM's copies of a request with `n` share their constraint.
        _spare_calls(made, begin(wanted, ids, lambda: Parser(table, ids)))
    return made


def _is_enforced(tag: object) -> bool:
    """Return whether calls are held to the request's tools: by a spec, or a tag of vLLM's own."""
    return carrier.from_structural_tag(tag) is not None or any(
        native_tags.concerns(tag, dialect) for dialect in served_model.dialects()
    )


def _spare_calls(detokenizer: Any, parser: Parser) -> None:
    """Make a detokenizer look for stop strings in the text before the calls alone."""
    update = detokenizer.update

    def begins_calls(token: int) -> bool:
        parser.feed([token])
        return parser.in_calls

    def _update(new_token_ids: Sequence[int], stop_terminated: bool) -> Any:  # noqa: FBT001 - vLLM's
        begins = (at for at, token in enumerate(new_token_ids) if begins_calls(token))
        at = 0 if parser.in_calls else next(begins, None)
        if at is None:
            return update(new_token_ids, stop_terminated)
        if found := update(new_token_ids[:at], False):
            return found
        detokenizer.stop = []
        detokenizer.stop_buffer_length = 0  # no text is held back as the beginning of a stop
        detokenizer.update = update
        return update(new_token_ids[at:], stop_terminated)

    detokenizer.update = _update
