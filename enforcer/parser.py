"""Ids back into reasoning, content and calls: the envelope's table read backwards.

Owns: what counts as a call. Does no I/O and holds no ids back. Must not know:
masks, schemas, hosts. Marker ids alone make structure; marker text spelled with
ordinary tokens stays text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.dialect import FREE_TEXT, Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from enforcer.envelope import Table


@dataclass(frozen=True, slots=True)
class Call:
    """A completed call.

    Attributes:
        id: its header as the model wrote it, for example `functions.get_weather:0`.
        name: the tool's name.
        index: the counter in the header.
        arguments: JSON text as the model wrote it.

    """

    id: str
    name: str
    index: int
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn says.

    Attributes:
        reasoning: text inside `<think>`.
        content: text outside of it.
        calls: the completed calls. A call that was cut off is none.
        ended: the end of the turn was reached.
        stray: position of the first id that the format does not allow where it stands;
            reading stopped there. None if there is none.

    """

    reasoning: str
    content: str
    calls: tuple[Call, ...]
    ended: bool
    stray: int | None


class Parser:
    """Reads one turn id by id; `turn()` may be asked for at any time.

    Args:
        table: the dialect bound to a vocabulary.
        prompt_ids: the prompt's ids; the turn starts where they leave it. None means that
            the ids begin a turn, so that they may open a think.
        names: the declared tools; calls to others are dropped. None keeps every call.

    """

    def __init__(
        self,
        table: Table,
        prompt_ids: Sequence[int] | None = None,
        names: Collection[str] | None = None,
    ) -> None:
        self._table = table
        self._names = names
        self._state = table.dialect.turn_state
        self._texts = {segment: bytearray() for segment in Segment}
        self._calls: list[Call] = []
        self._read = 0
        self._stray: int | None = None
        if prompt_ids is not None:
            self._state, begun = table.opened(prompt_ids)
            self.feed(begun)
            # What the prompt says is not part of the reply; where it stands is.
            for segment in FREE_TEXT:
                self._texts[segment].clear()
            self._calls.clear()
            self._read = 0
            self._stray = None

    def feed(self, token_ids: Iterable[int]) -> None:
        """Read more ids."""
        for token_id in token_ids:
            if self._stray is None and not self._step(token_id):
                self._stray = self._read
            self._read += 1

    def turn(self) -> Turn:
        """Say what has been read so far."""
        return Turn(
            reasoning=self._text(Segment.REASONING),
            content=self._text(Segment.CONTENT),
            calls=tuple(self._calls),
            ended=self._state == self._table.dialect.final,
            stray=self._stray,
        )

    def _text(self, segment: Segment) -> str:
        return self._texts[segment].decode(errors="replace")

    def _step(self, token_id: int) -> bool:
        table = self._table
        segment = table.segment(self._state)
        to = table.leaves[self._state].get(token_id)
        if to is not None:
            if segment is Segment.ARGUMENTS:
                self._finish_call()
            self._state = to
            return True
        vocabulary = table.vocabulary
        foreign = not 0 <= token_id < vocabulary.size or token_id in vocabulary.control_ids
        if foreign or segment is Segment.NONE:
            return False
        self._texts[segment] += vocabulary.token_bytes(token_id)
        self._state = table.dialect.states[self._state].text_to
        return True

    def _finish_call(self) -> None:
        header, arguments = self._text(Segment.HEADER), self._text(Segment.ARGUMENTS)
        self._texts[Segment.HEADER].clear()
        self._texts[Segment.ARGUMENTS].clear()
        parts = self._table.dialect.header_parts(header)
        if parts is not None and (self._names is None or parts[0] in self._names):
            self._calls.append(Call(header, *parts, arguments))
