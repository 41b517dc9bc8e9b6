"""One turn of one request, advanced id by id.

Owns: the position in the envelope, the nested argument matcher, and the way
back. Must not know: how tools were read, how schemas are compiled, hosts.
A matcher belongs to one request and is not thread-safe; all that it shares is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.errors import ConfigurationError, EnforcerError, IllegalPrefix, UnexpectedFailure
from enforcer.turn.countdown import Countdown
from enforcer.turn.deadline import FITTING
from enforcer.turn.dialect import Segment
from enforcer.turn.envelope import Due
from enforcer.turn.position import Position
from enforcer.turn.trail import Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.deadline import Deadline
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.header import HeaderNode


class Matcher:
    """Says which ids may come next in a turn, and follows the ones that do.

    Args:
        envelope: what the request allows.
        arguments: starts the argument text of a tool, by name.
        prompt_ids: the prompt's ids; the turn starts where they leave it. None means a
            turn that starts in content.
        expect: told the name of a tool once a header can only be that tool's, before its
            arguments begin.
        deadline: how many ids the turn may have, and what it promises to finish within them;
            None where it may be cut off anywhere.
        rollback: how many of the last ids can be taken back at any time, such as those that
            drafts may take back; what a turn holds does not grow beyond them. None for all.

    Raises:
        IllegalPrefix: the prompt has begun a turn that the envelope does not allow.
        BudgetTooSmall: what is demanded does not fit before the deadline.

    """

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], ArgumentMatcher],
        prompt_ids: Sequence[int] | None = None,
        *,
        expect: Callable[[str], None] | None = None,
        deadline: Deadline | None = None,
        rollback: int | None = None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._arguments = arguments
        self._expect = expect
        self._countdown = None if deadline is None else Countdown(deadline, envelope.table)
        self._words = self._table.vocabulary.words
        self._trail: Trail[Position] = Trail(rollback)
        self._accepted = 0
        # An engine's state that nobody knows any more, and why.
        self._lost: tuple[ArgumentMatcher, EnforcerError] | None = None
        state = self._table.dialect.start
        begun: Sequence[int] = ()
        if prompt_ids is not None:
            state, begun = self._table.opened(prompt_ids)
        # What the prompt has said before a demanded call is not the model's to answer for.
        self._started = False
        self._now = self._enter(state, calls=0, text=0)
        for at, token_id in enumerate(begun):
            if self._now.failure is None and not self.accept(token_id):
                raise self._now.failure or IllegalPrefix(
                    f"$.prompt_token_ids[{len(prompt_ids or ()) - len(begun) + at}]",
                    "the prompt ends inside a turn that this request's tools do not allow: "
                    f"id {token_id} is illegal in {self._now.state}",
                )
        if self._now.failure is not None:
            raise self._now.failure
        self._trail = Trail(rollback)
        self._accepted = 0
        self._started = True
        if self._countdown is not None:
            self._countdown.check(self._now)

    def __repr__(self) -> str:
        return f"Matcher(state={self._now.state}, calls={self._now.calls}, ids={self.accepted})"

    @property
    def state(self) -> str:
        """Name of the state of the envelope."""
        return self._now.state

    @property
    def accepted(self) -> int:
        """How many ids have been accepted and not rolled back."""
        return self._accepted

    @property
    def position(self) -> Position:
        """Where the turn stands."""
        return self._now

    @property
    def envelope(self) -> Envelope:
        """What the request allows."""
        return self._envelope

    @property
    def failure(self) -> EnforcerError | None:
        """Why the gate is closed; None while it is open."""
        return self._now.failure

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
        if now.failure is not None:
            self._fill_end(target)
            return
        if now.grammar is None and now.header is None and self._countdown is None:
            np.copyto(target, now.row.mask)
            return
        try:
            self._fill_text(target)
            if not target.any():
                raise EnforcerError(f"no id can go on with the text of {self!r}")  # noqa: TRY301
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._broke("masking", error)
            self._fill_end(target)

    def _fill_text(self, target: npt.NDArray[np.int32]) -> None:
        now = self._now
        markers = now.markers
        left = self._left()
        if now.grammar is not None:
            now.grammar.fill(target)
            if self._countdown is not None and left < inf:
                self._countdown.restrict_text(now, int(left), target)
            target |= markers.mask
        elif now.header is not None:
            now.header.fill(target)
            target |= markers.mask
        else:
            np.copyto(target, markers.mask)
        if self._countdown is not None and left < inf:
            self._countdown.restrict(now, int(left), target)

    def _fill_end(self, target: npt.NDArray[np.int32]) -> None:
        target[:] = self._table.vocabulary.row(self._table.turn_end_ids)

    def fail(self, error: EnforcerError) -> None:
        """Close the gate: the turn may only end, its open call being none.

        A mask without a bit would turn the logits into NaN, and an exception here would
        take the host's other requests down with it.
        """
        self._now = replace(self._now, failure=error)

    def _broke(self, doing: str, error: BaseException) -> None:
        """Close the gate for an exception of any kind, and remember what can no longer be asked.

        An error of ours leaves the engine's state as it was; after any other it is unknown.
        """
        named = _named(error, f"{doing} in {self._now.state}")
        if named is not error and self._now.grammar is not None:
            self._lost = (self._now.grammar, named)
        self.fail(named)

    def accept(self, token_id: int) -> bool:
        """Advance by one id.

        Returns:
            False if the id is illegal here; the state is unchanged then.

        """
        try:
            step = self._step(token_id)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._broke(f"accepting id {token_id}", error)
            return False
        if step is None:
            return False
        self._trail.push(self._now)
        self._accepted += 1
        self._now = step
        return True

    def _step(self, token_id: int) -> Position | None:
        now = self._now
        if now.failure is not None:
            if token_id not in self._table.turn_end_ids:
                return None
            return replace(
                self._enter(self._table.dialect.final, now.calls, 0), failure=now.failure
            )
        markers = now.markers.markers
        to = self._table.step(now.state, token_id, markers)
        if to is None or not self._fits(now, token_id):
            return None
        if token_id in markers:
            return self._follow(to)
        if now.grammar is not None:
            return self._formatted(now, token_id, to) if now.grammar.accept(token_id) else None
        if now.header is not None:
            node = now.header.advance(token_id)
            return None if node is None else self._at_header(now, node)
        return self._free_text(to)

    def _free_text(self, to: str) -> Position | None:
        now = self._now
        if not now.row.text:
            return None
        owed = self._envelope.due is Due.CALL and not now.calls
        counts = owed and self._started and self._table.segment(now.state) is Segment.CONTENT
        if to == now.state and not counts:
            return now
        return self._enter(to, now.calls, now.text + counts)

    def _formatted(self, now: Position, token_id: int, to: str) -> Position:
        """Go on after an id of arguments or formatted content, which has been accepted."""
        if now.reading is not None:
            after = now.reading.read(self._table.vocabulary.token_bytes(token_id))
            now = now if after is now.reading else replace(now, reading=after)
        if self._table.segment(now.state) is not Segment.CONTENT or (now.text and to == now.state):
            return now
        # Text has begun, so the turn is not calls.
        row = self._table.row(to, FITTING)
        return replace(now, state=to, row=row, before=self._table.nothing, text=1)

    def _follow(self, to: str) -> Position:
        now = self._now
        segment = self._table.segment(now.state)
        if segment is Segment.ARGUMENTS:
            return self._enter(to, now.calls + 1, now.text)
        position = self._enter(to, now.calls, now.text)
        if now.header is not None and now.header.name is not None:
            name = now.header.name
            if self._countdown is not None:
                position = replace(position, reading=self._countdown.arguments(name))
            return self._with_grammar(position, partial(self._arguments, name))
        if self._table.segment(to) is Segment.HEADER:
            return self._at_header(position, self._envelope.headers(now.calls).root)
        return position

    def _at_header(self, position: Position, node: HeaderNode) -> Position:
        was_clear = position.header is not None and position.header.only is not None
        if self._expect is not None and node.only is not None and not was_clear:
            self._expect(node.only)
        return replace(position, header=node)

    def _enter(self, state: str, calls: int, text: int) -> Position:
        opening = self._envelope.opening(calls, text)
        formatted = self._envelope.text_format
        if formatted is None or self._table.segment(state) is not Segment.CONTENT:
            row = self._table.row(state, opening)
            return Position(state, row, self._table.nothing, calls, text)
        position = Position(
            state,
            self._table.row(state, replace(opening, text=False, empty=True)),
            self._table.row(state, replace(opening, text=False, finish=False)),
            calls,
            text,
        )
        # The text fits the format or the turn is calls: a demanded call leaves no text.
        if not opening.finish:
            return position
        if self._countdown is not None:
            position = replace(position, reading=self._countdown.text())
        return self._with_grammar(position, formatted)

    def _with_grammar(self, position: Position, start: Callable[[], ArgumentMatcher]) -> Position:
        try:
            return replace(position, grammar=start())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            return replace(position, failure=_named(error, f"starting a text in {position.state}"))

    def _fits(self, now: Position, token_id: int) -> bool:
        if self._countdown is None or (left := self._left()) == inf:
            return True
        return self._countdown.fits(now, token_id, int(left))

    def _left(self) -> float:
        """Say how many ids may still come; without end where nothing has to be finished."""
        # What comes after the last id that may come is nobody's, such as a draft's mask.
        left = inf if self._countdown is None else self._countdown.total - self._accepted
        return left if left > 0 and self._started else inf

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids.

        Raises:
            ConfigurationError: fewer can be taken back; nothing is taken back then.

        """
        if not 0 <= count <= len(self._trail):
            raise ConfigurationError(
                f"cannot take back {count} ids: {self._accepted} were accepted, of which "
                f"{len(self._trail)} can be taken back"
            )
        self._back(count)

    def _back(self, count: int) -> None:
        """Go back; what fails on the way stays closed as long as the turn stands in it."""
        self._accepted -= count
        for before, run in self._trail.pop(count):
            if before.grammar is not None:
                # All but the last of them left this text where it is.
                read = run if self._now.grammar is before.grammar else run - 1
                self._back_in(before.grammar, read)
            self._now = before
        if self._lost is not None and self._now.grammar is self._lost[0]:
            self.fail(self._lost[1])

    def _back_in(self, grammar: ArgumentMatcher, count: int) -> None:
        if not count or (self._lost is not None and self._lost[0] is grammar):
            return
        try:
            grammar.rollback(count)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._lost = (grammar, _named(error, f"taking back {count} ids"))

    def validate(self, token_ids: Sequence[int]) -> int:
        """Count how many leading ids are legal; the state is unchanged."""
        # Drafts may be longer than what can be taken back otherwise.
        now, trail = self._now, self._trail
        self._trail = Trail(None)
        legal = 0
        for token_id in token_ids:
            if not self.accept(token_id):
                break
            legal += 1
        self._back(legal)
        self._trail = trail
        if self._lost is None or self._lost[0] is not now.grammar:
            self._now = now  # a draft may fail where the turn never comes
        return legal


def _named(error: BaseException, doing: str) -> EnforcerError:
    """Give the error of ours that stands for any other; what ends the process is none."""
    if isinstance(error, EnforcerError):
        return error
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    named = UnexpectedFailure(f"{type(error).__name__} while {doing}: {error}")
    named.__cause__ = error
    return named
