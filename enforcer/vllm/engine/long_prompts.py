"""Turns of which a prompt has long begun, or in which one has to look far for where they begin.

Owns: which those are, and that requests with the same such prompt (the choices of one with `n`)
have it read once. Must not know: how a turn is started, on which thread.
"""

from __future__ import annotations

from array import array
from hashlib import sha256
from typing import TYPE_CHECKING

from enforcer.vllm.server import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.turn.position import Position
    from enforcer.turn.table import Table

_NEAR = 1024  # ids; a millisecond or two where they stand in arguments
_WEIGHT = 2000  # bytes: a position shares what it has with others, but for a header's names


class LongPrompt:
    """A prompt that takes long to start a turn at, and the spec or tag that the turn is made of."""

    def __init__(self, table: Table, text: str, prompt_ids: Sequence[int]) -> None:
        digest = sha256(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
        digest.update(array("q", prompt_ids).tobytes())
        self._key = ("begun", table, digest.digest())

    def known(self) -> Position | None:
        """Give where the prompt leaves the turn, if another request has found out."""
        found: Position | None = runtime.kept().peek(self._key)
        return found

    def keep(self, begun: Position) -> None:
        """Remember where it does; not of a text that an engine follows, which is one turn's own."""
        if begun.grammar is None:
            runtime.kept().get(self._key, lambda: begun, _weight)


def _weight(begun: Position) -> int:
    # The names of thousands of tools, which nothing else may keep any more.
    return _WEIGHT + (0 if begun.header is None else begun.header.trie.weight)


def is_long(table: Table, prompt_ids: Sequence[int] | None) -> bool:
    """Tell whether a turn at a prompt is not started as fast as any other."""
    return prompt_ids is not None and not table.opens_near(prompt_ids, _NEAR)
