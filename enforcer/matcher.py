"""One turn of one request, advanced id by id.

Owns: the position in the envelope, the nested argument matcher, and the way
back. Must not know: how tools were read, how schemas are compiled, hosts.
A matcher belongs to one request and is not thread-safe; all that it shares is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.dialect import Segment
from enforcer.envelope import Opening
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
        row: the markers that are legal once the state's text is complete, which free text
            always is, and free text itself.
        before: the markers that are legal while it is not.
        calls: calls completed.
        text: text ids outside a think so far, counted only while a call is demanded.
        header: place in the header trie, while in a header.
        grammar: the engine's state of arguments or of formatted content; it moves by itself.

    """

    state: str
    row: Row
    before: Row
    calls: int
    text: int
    header: HeaderNode | None = None
    grammar: ArgumentMatcher | None = None

    def complete(self) -> bool:
        """Tell whether the state's text may end here."""
        if self.grammar is not None:
            return self.grammar.is_accepting()
        return self.header is None or self.header.name is not None


class Matcher:
    """Says which ids may come next in a turn, and follows the ones that do.

    Args:
        envelope: what the request allows.
        arguments: starts the argument text of a tool, by name.
        prompt_ids: the prompt's ids; the turn starts where they leave it. None means a
            turn that starts in content.
        expect: told the name of a tool once a header can only be that tool's, before its
            arguments begin.

    Raises:
        IllegalPrefix: the prompt has begun a turn that the envelope does not allow.

    """

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], ArgumentMatcher],
        prompt_ids: Sequence[int] | None = None,
        expect: Callable[[str], None] | None = None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._expect = expect
        self._words = self._table.vocabulary.words
        # Each position left, and the failure at that time.
        self._history: list[tuple[_Position, EnforcerError | None]] = []
        self.failure: EnforcerError | None = None
        state = self._table.dialect.start
        begun: Sequence[int] = ()
        if prompt_ids is not None:
            state, begun = self._table.opened(prompt_ids)
        # What the prompt has said before a demanded call is not the model's to answer for.
        self._started = False
        self._now = self._enter(state, calls=0, text=0)
        if self.failure is not None:
            raise self.failure
        for at, token_id in enumerate(begun):
            if not self.accept(token_id):
                raise IllegalPrefix(
                    f"$.prompt_token_ids[{len(prompt_ids or ()) - len(begun) + at}]",
                    "the prompt ends inside a turn that this request's tools do not allow: "
                    f"id {token_id} is illegal in {self._now.state}",
                )
        self._history.clear()
        self._started = True

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
            ConfigurationError: the mask is narrower than the vocabulary, or not of int32.

        """
        target = bitmask[row]
        if not isinstance(target, np.ndarray):
            target = target.numpy()
        if target.dtype != np.int32:
            raise ConfigurationError(f"the mask must have 32-bit integers, not {target.dtype}")
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
        elif now.grammar is not None:
            try:
                now.grammar.fill(target)
                target |= (now.row if now.complete() else now.before).mask
                if not target.any():
                    raise EnforcerError(f"no id can go on with the text of {self!r}")  # noqa: TRY301
            except EnforcerError as error:
                self.fail(error)
                self._fill_end(target)
        elif now.header is not None:
            now.header.fill(target)
            if now.complete():
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
        before = (self._now, self.failure)
        try:
            step = self._step(token_id)
        except EnforcerError as error:
            self.fail(error)
            return False
        if step is None:
            return False
        self._history.append(before)
        self._now = step
        return True

    def _step(self, token_id: int) -> _Position | None:
        now = self._now
        if not 0 <= token_id < self._table.vocabulary.size:
            return None
        if self.failure is not None:
            end = self._table.dialect.final
            return self._enter(end, now.calls, 0) if token_id in self._table.turn_end_ids else None
        if token_id in self._table.vocabulary.control_ids:
            to = (now.row if now.complete() else now.before).markers.get(token_id)
            return None if to is None else self._follow(to)
        if now.grammar is not None:
            return self._formatted(now) if now.grammar.accept(token_id) else None
        if now.header is not None:
            node = now.header.advance(token_id)
            return None if node is None else self._at_header(now, node)
        return self._free_text(token_id)

    def _free_text(self, token_id: int) -> _Position | None:
        now = self._now
        if now.row.text_to is None or not self._table.vocabulary.token_bytes(token_id):
            return None
        owed = self._envelope.demanded and not now.calls
        counts = owed and self._started and self._table.segment(now.state) is Segment.CONTENT
        if now.row.text_to == now.state and not counts:
            return now
        return self._enter(now.row.text_to, now.calls, now.text + counts)

    def _formatted(self, now: _Position) -> _Position:
        """Go on after an id of arguments or formatted content, which has been accepted."""
        state = self._table.dialect.states[now.state]
        if state.segment is not Segment.CONTENT or now.text:
            return now
        # Text has begun, so the turn is not calls.
        return replace(
            now,
            state=state.text_to,
            row=self._table.row(state.text_to, Opening(call=False, finish=True, text=False)),
            before=self._table.nothing,
            text=1,
        )

    def _follow(self, to: str) -> _Position:
        now = self._now
        segment = self._table.segment(now.state)
        if segment is Segment.ARGUMENTS:
            return self._enter(to, now.calls + 1, now.text)
        position = self._enter(to, now.calls, now.text)
        if now.header is not None and now.header.name is not None:
            return self._with_grammar(position, partial(self._arguments, now.header.name))
        if self._table.segment(to) is Segment.HEADER:
            return self._at_header(position, self._envelope.headers(now.calls).root)
        return position

    def _at_header(self, position: _Position, node: HeaderNode) -> _Position:
        was_clear = position.header is not None and position.header.only is not None
        if self._expect is not None and node.only is not None and not was_clear:
            self._expect(node.only)
        return replace(position, header=node)

    def _enter(self, state: str, calls: int, text: int) -> _Position:
        opening = self._envelope.opening(calls, text)
        formatted = self._envelope.text_format
        if formatted is None or self._table.segment(state) is not Segment.CONTENT:
            row = self._table.row(state, opening)
            return _Position(state, row, self._table.nothing, calls, text)
        position = _Position(
            state,
            self._table.row(state, replace(opening, text=False)),
            self._table.row(state, Opening(call=opening.call, finish=False, text=False)),
            calls,
            text,
        )
        # The text fits the format or the turn is calls: a demanded call leaves no text.
        return self._with_grammar(position, formatted) if opening.finish else position

    def _with_grammar(self, position: _Position, start: Callable[[], ArgumentMatcher]) -> _Position:
        try:
            return replace(position, grammar=start())
        except EnforcerError as error:
            self.fail(error)
            return position

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
            before, self.failure = self._history.pop()
            if before.grammar is not None and before.grammar is self._now.grammar:
                try:
                    before.grammar.rollback(1)
                except EnforcerError as error:
                    self.fail(error)
            self._now = before

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
