"""The parsers of replies in the API server, which read no id twice.

Owns: what the replies to one request share (the tools that they may call, and what the prompt has
begun of the turn, which is read once for all of them), and the count of a reply's ids inside a
think, of which vLLM asks with all ids so far, at each chunk of a stream if the client wants it.
Must not know: what becomes of a reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.turn.parser import Parser
from enforcer.vllm.intake import requests
from enforcer.vllm.server.remembered import notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.turn.table import Table


def begin(table: Table, prompt_ids: Sequence[int] | None, request: Any) -> Parser:
    """Return a parser for a reply to a request, in the state in which its prompt ends."""

    def make() -> Parser:
        tools = requests.callable_tools(request)
        return Parser(table, prompt_ids, tools.keys(), tools.get)

    return _begin(request, prompt_ids, make)


def begin_any(table: Table, prompt_ids: Sequence[int] | None, owner: object) -> Parser:
    """Return the same for a reply that may call any tool; replies with the same owner share it."""
    return _begin(owner, prompt_ids, lambda: Parser(table, prompt_ids))


def _begin(owner: object, prompt_ids: Sequence[int] | None, make: Callable[[], Parser]) -> Parser:
    known = notes(owner)
    if known.beginning is None or known.beginning[0] != prompt_ids:
        known.beginning = prompt_ids, make()
    return known.beginning[1].another()


class Thinking:
    """How many ids of a reply stand inside a think; each is read once, whoever reads it.

    Args:
        new: gives a parser for a reply that nobody has read.

    """

    def __init__(self, new: Callable[[], Parser]) -> None:
        self._new = new
        self._parser: Parser | None = None
        self._is_own = False
        self._last: int | None = None

    def is_read(self, parser: Parser, token_ids: Sequence[int]) -> None:
        """Know that a parser has read ids: a reply's first ones, or those behind what it had."""
        self._parser, self._is_own = parser, False
        self._last = token_ids[-1] if token_ids else self._last

    def count(self, token_ids: Sequence[int]) -> int:
        """Count in the ids of a reply so far."""
        parser = self._parser
        if parser is None or not self._goes_on(parser, token_ids):
            parser = self._parser = self._new()
            self._is_own = True
        if parser.read < len(token_ids):
            parser.feed(token_ids[parser.read :])
            self._last = token_ids[-1]
        return parser.reasoning_ids

    def _goes_on(self, parser: Parser, token_ids: Sequence[int]) -> bool:
        """Tell whether ids are those that a parser has read, or go on from there.

        By their number and the last one: comparing all would be as much work as the reply is
        long, at each of its chunks. What only counts may read on; the reply's own parser may not.
        """
        read = parser.read
        if read > len(token_ids) or (read < len(token_ids) and not self._is_own):
            return False
        return not read or token_ids[read - 1] == self._last
