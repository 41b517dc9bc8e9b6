"""One turn of one request, advanced id by id.

Owns: the position in the envelope, the nested argument matcher, and the way
back. Must not know: how tools were read, how schemas are compiled, hosts.
A matcher belongs to one request and is not thread-safe; all that it shares is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.dialect import Segment
from enforcer.errors import ConfigurationError, EnforcerError, IllegalPrefix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.envelope import Envelope, Row
    from enforcer.header import HeaderNode


@dataclass(frozen=True, slots=True)
class _Position:
    """Where the turn is. The same object may stand for many ids in a row.

    Attributes:
        state: state of the envelope.
        row: what is legal here apart from header and arguments.
        calls: calls completed.
        text: text ids outside a think so far, counted only while a call is demanded.
        header: place in the header trie, while in a header.
        arguments: the engine's own state, while in arguments; it moves by itself.

    """

    state: str
    row: Row
    calls: int
    text: int
    header: HeaderNode | None = None
    arguments: ArgumentMatcher | None = None


class Matcher:
    """Says which ids may come next in a turn, and follows the ones that do.

    Args:
        envelope: what the request allows.
        arguments: starts the argument text of a tool, by name.
        prompt_ids: the prompt's ids; the turn starts where they leave it. None means a
            turn that starts in content.

    Raises:
        IllegalPrefix: the prompt has begun a turn that the envelope does not allow.

    """

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], ArgumentMatcher],
        prompt_ids: Sequence[int] | None = None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._words = self._table.vocabulary.words
        self._history: list[_Position] = []
        self.failure: EnforcerError | None = None
        state, begun = self._table.dialect.start, ()
        if prompt_ids is not None:
            state, begun = self._table.opened(prompt_ids)
        self._now = self._enter(state, calls=0, text=0)
        for at, token_id in enumerate(begun):
            if not self.accept(token_id):
                raise IllegalPrefix(
                    f"$.prompt_token_ids[{len(prompt_ids or ()) - len(begun) + at}]",
                    "the prompt ends inside a turn that this request's tools do not allow: "
                    f"id {token_id} is illegal in {self._now.state}",
                )
        self._history.clear()

    def __repr__(self) -> str:
        return f"Matcher(state={self._now.state}, calls={self._now.calls}, ids={self.accepted})"

    @property
    def state(self) -> str:
        """Name of the state of the envelope."""
        return self._now.state

    @property
    def accepted(self) -> int:
        """How many ids have been accepted and not rolled back."""
        return len(self._history)

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Write the mask of the ids that may come next.

        Args:
            bitmask: int32, shape `(rows, words)`, `words >= ceil(vocabulary.size / 32)`;
                numpy, or torch on the CPU. Bit `i % 32` of word `i // 32` is id `i`. Words
                past the vocabulary are zeroed.
            row: the row to write.

        Raises:
            ConfigurationError: the mask is narrower than the vocabulary.

        """
        target = bitmask[row]
        if not isinstance(target, np.ndarray):
            target = target.numpy()
        if len(target) < self._words:
            raise ConfigurationError(
                f"the mask has {len(target)} words, the vocabulary needs {self._words}: the "
                "model has fewer ids than the tokenizer"
            )
        if len(target) > self._words:
            target[self._words :] = 0
            target = target[: self._words]
        self._fill(target)

    def _fill(self, target: npt.NDArray[np.int32]) -> None:
        now = self._now
        if self.failure is not None:
            self._fill_end(target)
        elif now.arguments is not None:
            try:
                now.arguments.fill(target)
                complete = now.arguments.is_accepting()
            except EnforcerError as error:
                self.fail(error)
                self._fill_end(target)
                return
            if complete:
                target |= now.row.mask
            elif not target.any():
                self.fail(EnforcerError(f"no id can go on with the arguments of {self!r}"))
                self._fill_end(target)
        elif now.header is not None:
            now.header.fill(target)
            if now.header.name is not None:
                target |= now.row.mask
        else:
            np.copyto(target, now.row.mask)

    def _fill_end(self, target: npt.NDArray[np.int32]) -> None:
        target[:] = self._table.vocabulary.row(self._table.turn_end_ids)

    def fail(self, error: EnforcerError) -> None:
        """Close the gate: the turn may only end, its open call being none.

        A mask without a bit would turn the logits into NaN, and an exception here would
        take the host's other requests down with it.
        """
        self.failure = error

    def accept(self, token_id: int) -> bool:
        """Advance by one id.

        Returns:
            False if the id is illegal here; the state is unchanged then.

        """
        step = self._step(token_id)
        if step is None:
            return False
        self._history.append(self._now)
        self._now = step
        return True

    def _step(self, token_id: int) -> _Position | None:
        now = self._now
        if self.failure is not None:
            end = self._table.dialect.final
            return self._enter(end, now.calls, 0) if token_id in self._table.turn_end_ids else None
        to = now.row.markers.get(token_id)
        if to is not None:
            return self._follow(to)
        if token_id in self._table.vocabulary.control_ids:
            return None
        if now.arguments is not None:
            try:
                return now if now.arguments.accept(token_id) else None
            except EnforcerError as error:
                self.fail(error)
                return None
        if now.header is not None:
            node = now.header.advance(token_id)
            return None if node is None else replace(now, header=node)
        return self._free_text(token_id)

    def _free_text(self, token_id: int) -> _Position | None:
        now = self._now
        vocabulary = self._table.vocabulary
        known = 0 <= token_id < vocabulary.size and vocabulary.token_bytes(token_id)
        if now.row.text_to is None or not known:
            return None
        owed = self._envelope.demanded and not now.calls
        counts = owed and self._table.segment(now.state) is Segment.CONTENT
        if now.row.text_to == now.state and not counts:
            return now
        return self._enter(now.row.text_to, now.calls, now.text + counts)

    def _follow(self, to: str) -> _Position | None:
        now = self._now
        if now.arguments is not None:
            if not now.arguments.is_accepting():
                return None
            return self._enter(to, now.calls + 1, now.text)
        if now.header is not None:
            if now.header.name is None:
                return None
            position = self._enter(to, now.calls, now.text)
            try:
                return replace(position, arguments=self._arguments(now.header.name))
            except EnforcerError as error:
                self.fail(error)
                return position
        position = self._enter(to, now.calls, now.text)
        if self._table.segment(to) is Segment.HEADER:
            return replace(position, header=self._envelope.headers(now.calls).root)
        return position

    def _enter(self, state: str, calls: int, text: int) -> _Position:
        row = self._table.row(state, self._envelope.opening(calls, text))
        return _Position(state, row, calls, text)

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids.

        Raises:
            ConfigurationError: fewer have been accepted; nothing is taken back then.

        """
        if not 0 <= count <= len(self._history):
            raise ConfigurationError(
                f"cannot take back {count} ids: {len(self._history)} were accepted"
            )
        for _ in range(count):
            before = self._history.pop()
            if before is self._now and before.arguments is not None:
                before.arguments.rollback(1)
            self._now = before
        if count:
            self.failure = None

    def validate(self, token_ids: Sequence[int]) -> int:
        """Count how many leading ids are legal; the state is unchanged."""
        legal = 0
        failure = self.failure
        for token_id in token_ids:
            if not self.accept(token_id):
                break
            legal += 1
        self.rollback(legal)
        self.failure = failure
        return legal
