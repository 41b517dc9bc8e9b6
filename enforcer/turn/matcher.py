"""Matcher of one turn of one request, advanced by one token id at a time.

A matcher belongs to one request and is not thread-safe; all that it shares is. Owns: the position
in the envelope, the nested argument matcher, and rollback. Must not know: how tools were read, how
schemas are compiled, hosts.
"""

from __future__ import annotations

from copy import copy
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.errors import ConfigurationError, EnforcerError, IllegalPrefix
from enforcer.turn import bits
from enforcer.turn.bits import rows_of
from enforcer.turn.dialect import Segment
from enforcer.turn.drafts import Drafter
from enforcer.turn.envelope import Due
from enforcer.turn.ids import number, whole_at_ends
from enforcer.turn.reader import TokenReader
from enforcer.turn.rollback_stack import RollbackStack
from enforcer.turn.transitions import Transitions, named
from enforcer.turn.wording import misplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher, Startable
    from enforcer.turn.deadline import Deadline
    from enforcer.turn.envelope import Envelope
    from enforcer.turn.position import Position

_RUN = 64  # ids of a prompt that are read at once where they are all text
_LIKELY = 8  # words of masks
_LET_GO = 16  # ids after which a text lets go of what lies behind it
_NO_MASK = object()


class Matcher:
    """Masks the next token id of a turn, and follows the ids that are generated.

    `Enforcer.matcher` makes one for a request. It belongs to that request, and is not thread-safe:
    a call while another thread is in one within arguments ends the turn; see `failure`.

    Args:
        envelope: what the request allows.
        arguments: gives what starts the argument texts of a tool, by name.
        prompt_ids: the prompt's ids; the turn starts where they leave it. None means a turn that
            starts behind any think, with nothing said yet (`SILENT`).
        expect: told the name of a tool once a header can only be that tool's, before its
            arguments begin.
        deadline: how many ids the turn may have, and what it promises to finish within them;
            None where it may be cut off anywhere.
        rollback: how many of the last ids can be taken back at any time, such as those that
            drafts may take back; what a turn holds does not grow beyond them. None for all.

    Raises:
        IllegalPrefix: the prompt has begun a turn that the envelope does not allow.
        BudgetTooSmall: what is demanded does not fit before the deadline.
        ConfigurationError: the prompt's ids are no whole numbers.

    """

    def __init__(
        self,
        envelope: Envelope,
        arguments: Callable[[str], Startable],
        prompt_ids: Sequence[int] | None = None,
        *,
        expect: Callable[[str], None] | None = None,
        deadline: Deadline | None = None,
        rollback: int | None = None,
    ) -> None:
        self._envelope = envelope
        self._table = envelope.table
        self._deadline = deadline
        self._transitions = Transitions(envelope, arguments, expect, is_shared=deadline is None)
        self._reader = TokenReader(envelope, self._transitions)
        self._drafter: Drafter | None = None
        self._ends_itself = self._table.behind_arguments is not None
        self._words = self._table.vocabulary.words
        # The mask and row that were last asked for, as numpy has it, and its words beyond the ids.
        self._bitmask: object = _NO_MASK
        self._row = 0
        self._target: Any = None
        self._beyond: Any = None
        # Of a tensor, what returns the address of its memory, which `share_memory_`, say, moves.
        self._address: Callable[[], int] | None = None
        self._memory = 0  # that address
        self._word = 0  # of masks of texts, one that is seldom zero
        # A position in arguments that stays the same for their whole text, which moves by itself.
        self._in_text: Position | None = None
        self._text: Any = None
        self._kinds = self._table.vocabulary.text_kinds
        self._size = len(self._kinds)
        # Positions, and how many ids the token that left each fed to its grammar.
        self._history: RollbackStack[tuple[Position, int]] = RollbackStack(rollback)
        self._accepted = 0
        # An engine's state that nobody knows any more, and why.
        self._lost: tuple[ArgumentMatcher, EnforcerError] | None = None
        # What the prompt has said before a demanded call is not the model's to answer for.
        self._started = False
        self._now = self._begun(prompt_ids)
        self._history = RollbackStack(rollback)
        self._accepted = 0
        self._started = True
        if self._deadline is not None:
            self._deadline.check(self._now)

    def _begun(self, prompt_ids: Sequence[int] | None) -> Position:
        """Return where a prompt leaves the turn."""
        state = self._table.dialect.start
        begun: Sequence[int] = ()
        if prompt_ids is not None:
            prompt_ids = whole_at_ends(prompt_ids, "prompt_ids")
            state, begun = self._table.opened(prompt_ids)
        # Before a demanded call none of a prompt's text counts, nor may a bound of 0 leave it out.
        is_owed = self._envelope.due is Due.CALL
        text = min(0, self._envelope.preamble - 1) if is_owed else 0
        self._now = self._transitions.share(self._transitions.enter(state, calls=0, text=text))
        at = self._follow(begun)
        if at is not None:
            segment = self._table.segment(self._now.state)
            raise IllegalPrefix(
                f"$.prompt_token_ids[{len(prompt_ids or ()) - len(begun) + at}]",
                "the prompt ends inside a turn that this request's tools do not allow: "
                + misplaced(self._table.vocabulary, begun[at], segment),
            )
        now = self._now
        if now.failure is not None:
            raise now.failure
        if now.text >= 0:
            return now
        if self._table.segment(now.state) is Segment.CONTENT:
            now = self._transitions.enter(now.state, now.calls, 0, now.place)
        now = self._transitions.share(now.but(text=0))
        if now.grammar is not None:
            self._look_at(now)
        return now

    def _follow(self, begun: Sequence[int]) -> int | None:
        """Go on by what the prompt has of the turn; gives the place of an id that is illegal."""
        for start in range(0, len(begun), _RUN):
            run = begun[start : start + _RUN]
            if self._stays(run):
                continue
            for at, token_id in enumerate(run, start):
                if self._now.failure is None and not self.accept(token_id):
                    return at if self._now.failure is None else None
        return None

    def _stays(self, ids: Sequence[int]) -> bool:
        """Return whether ids of a prompt are text that leaves the turn where it stands."""
        now = self._now
        if now.failure is not None or now.grammar is not None or not now.row.text:
            return False
        data = self._table.vocabulary.text(ids)
        return data is not None and self._table.lexer.within(now.place, data) is now.place

    def __repr__(self) -> str:
        return f"Matcher(state={self._now.state}, calls={self._now.calls}, ids={self.accepted})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied or pickled: an engine's text has one state, and both would move it.

        Raises:
            ConfigurationError: always.

        """
        raise ConfigurationError(
            "a matcher cannot be copied: create another one for the same request and "
            "`accept` the same token ids, or use `rollback`"
        )

    @property
    def state(self) -> str:
        """Name of the state of the envelope."""
        return self._now.state

    @property
    def is_finished(self) -> bool:
        """Whether the turn has ended: its end-of-turn token has been accepted."""
        return self._now.state == self._table.dialect.final

    @property
    def accepted(self) -> int:
        """Number of ids that were accepted and not rolled back."""
        return self._accepted

    @property
    def position(self) -> Position:
        """The position of the turn."""
        return self._now

    @property
    def envelope(self) -> Envelope:
        """The limits of the request."""
        return self._envelope

    @property
    def failure(self) -> EnforcerError | None:
        """The error after which the turn may only end; None for none."""
        return self._now.failure

    @property
    def tool(self) -> str:
        """Name of the tool whose arguments are written; empty outside of arguments."""
        return self._now.tool

    def begin(self) -> None:
        """Compute the first mask now if it takes long, for whoever starts a turn ahead of time.

        It does where a token of text may reach into a call: what follows depends on the tools.
        """
        if not self._table.is_simple:
            self.mask()

    def mask(self) -> npt.NDArray[np.int32]:
        """Return the mask of the ids that may come next: int32, shape `(words,)`.

        A new array each time. A loop over many steps or rows has less to allocate with `fill`,
        whose bits this has.
        """
        row = np.empty(self._words, dtype=np.int32)
        self.fill(row[np.newaxis])
        return row

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Write the mask of the ids that may come next.

        Args:
            bitmask: int32, shape `(rows, words)`, `words >= ceil(vocabulary.size / 32)`;
                numpy, or torch on the CPU. Bit `i % 32` of word `i // 32` is id `i`. Words
                past the vocabulary are zeroed.
            row: the row to write.

        Raises:
            ConfigurationError: the mask is narrower than the vocabulary, not of int32, not of two
                dimensions, cannot be written on the CPU, or has no such row; or its rows are not
                contiguous.

        """
        # A host has one mask for all steps, where a turn seldom changes its row.
        is_bound = bitmask is self._bitmask and type(row) is int and row == self._row
        if not is_bound or (self._address is not None and self._address() != self._memory):
            self._bind(bitmask, row)
        target, now = self._target, self._now
        if self._beyond is not None:
            self._beyond.fill(0)
        try:
            if now is self._in_text:
                self._text.fill(target)
                if now.row.markers and self._text.is_accepting():
                    target |= now.row.mask
            elif now.shared is not None and now.shared.row is not None:
                bits.write(target, now.shared.row)
            elif now.failure is not None:
                self._fill_end(target)
            else:
                self._reader.fill(now, target)
                if self._deadline is not None and (left := self._left()) < inf:
                    self._deadline.restrict(now, int(left), target, self._reader)
            # A kept row has one.
            if now.shared is None and not (target[self._word] or self._has_any(target)):
                raise EnforcerError(f"no token can continue the turn: {self!r}")  # noqa: TRY301
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._broke("masking", error)
            self._fill_end(target)

    def _bind(self, bitmask: Any, row: int) -> None:
        if type(row) is not int:
            row = number(row, "row")  # what numpy takes for several rows is none
        rows = rows_of(bitmask, self._words)
        try:
            target = rows[row]
        except IndexError:
            raise ConfigurationError(
                f"there is no row {row} in the bitmask, which has {len(bitmask)}"
            ) from None
        self._target = target[: self._words]
        self._beyond = target[self._words :] if len(target) > self._words else None
        self._bitmask, self._row = bitmask, row
        self._address = getattr(bitmask, "data_ptr", None)
        self._memory = 0 if self._address is None else self._address()

    @property
    def is_shortened(self) -> bool:
        """Whether the token budget forbade tokens within a call, which may have ended early."""
        return self._deadline is not None and self._deadline.narrowed < self._accepted

    @property
    def text_weight(self) -> int:
        """Bytes of the arguments that are being written, beyond what texts of a grammar share."""
        return int(getattr(self._now.grammar, "weight", 0))

    def _has_any(self, target: npt.NDArray[np.int32]) -> bool:
        """Return whether a mask has any id; few words are enough to find one in most masks."""
        for word in self._table.likely:
            if target[word]:
                self._word = word
                return True
        found = np.flatnonzero(target)
        if not len(found):
            return False
        if self._now.grammar is not None:
            self._table.likely = (int(found[0]), *self._table.likely[:_LIKELY])
        return True

    def _fill_end(self, target: npt.NDArray[np.int32]) -> None:
        target[:] = self._table.vocabulary.row(self._table.turn_end_ids)

    def fail(self, error: EnforcerError) -> None:
        """Close the gate: the turn may only end, its open call being none.

        A mask without a bit would turn the logits into NaN, and an exception here would
        take the host's other requests down with it.
        """
        self._now = self._now.but(failure=error)

    def _broke(self, doing: str, error: BaseException) -> None:
        """Close the gate for an exception of any kind, and remember what can no longer be asked.

        An error of ours leaves the engine's state as it was; after any other it is unknown.
        """
        found = named(error, f"{doing} in {self._now.state}")
        if found is not error and self._now.grammar is not None:
            self._lost = (self._now.grammar, found)
        self.fail(found)

    def accept(self, token_id: int) -> bool:
        """Advance by one id.

        Returns:
            False if the id is illegal here; the state is unchanged then.

        Raises:
            ConfigurationError: it is no whole number; the state is unchanged.

        """
        now = self._now
        if type(token_id) is not int:
            token_id = number(token_id, "an id")
        try:
            if now is self._in_text and 0 <= token_id < self._size and self._kinds[token_id]:
                if not self._text.accept(token_id):
                    return False
                if not (self._ends_itself and self._text.is_done):  # nearly all tokens of a text
                    self._accepted += 1
                    if not self._accepted % _LET_GO:
                        self._let_go()
                    return True
                step = self._left_text(token_id, now)
            else:
                self._reader.fed = 0
                if self._drafter is not None:
                    self._reader.teach(now, token_id)
                step = None if now.shared is None else now.shared.after.get(token_id)
                if step is None:
                    step = self._found(token_id, now)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._broke(f"accepting id {token_id}", error)
            return False
        if step is None:
            return False
        if self._deadline is not None:
            in_text = now.grammar is not None and step.grammar is now.grammar
            self._deadline.spend(token_id, in_text=in_text)
        if step is not now:
            self._history.push(self._accepted, (now, self._reader.fed))
            self._now = step
            if step.grammar is not None:
                self._look_at(step)
        self._accepted += 1
        if not self._accepted % _LET_GO:
            self._let_go()
        return True

    def _left_text(self, token_id: int, now: Position) -> Position | None:
        """Return where a token leads within which a text has ended."""
        step = self._reader.behind(now, token_id)
        return None if step is None else self._transitions.share(step)

    def _found(self, token_id: int, now: Position) -> Position | None:
        """Return where a token id leads, and keep it where turns with the same tools share that."""
        step = None if now.shared is None else self._transitions.told(token_id, now.shared)
        if step is None:
            step = self._step(token_id)
            if step is not None and step is not now and step.grammar is None:
                step = self._transitions.share(step)
                self._transitions.lead(token_id, now, step)
        return step

    def _look_at(self, now: Position) -> None:
        """Note a position in arguments where the engine alone says what may come."""
        is_plain = now.failure is None and bool(now.tool) and self._deadline is None
        if is_plain:
            self._in_text, self._text = now, now.grammar

    def _let_go(self) -> None:
        """Let go of what can no longer be taken back, here and in the engine's text."""
        most = self._history.most
        self._history.let_go(self._accepted)
        keep = getattr(self._now.grammar, "keep", None)  # that of `machine`; others hold little
        if most is not None and keep is not None:
            keep(most)

    def _step(self, token_id: int) -> Position | None:
        now = self._now
        if now.failure is not None:
            if token_id not in self._table.turn_end_ids:
                return None
            final = self._transitions.enter(self._table.dialect.final, now.calls, 0)
            return final.but(failure=now.failure)
        if self._deadline is not None and not self._fits(now, token_id):
            return None
        return self._reader.read(now, token_id, counts=self._started)

    def _fits(self, now: Position, token_id: int) -> bool:
        if self._deadline is None or (left := self._left()) == inf:
            return True
        return self._deadline.fits(now, token_id, int(left), self._reader)

    def _left(self) -> float:
        """Return how many ids may still come; without end where nothing has to be finished."""
        # What comes after the last id that may come is nobody's, such as a draft's mask.
        left = inf if self._deadline is None else self._deadline.total - self._accepted
        return left if left > 0 and self._started else inf

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids.

        Raises:
            ConfigurationError: fewer can be taken back, or it is no whole number; nothing is
                taken back then.

        """
        count = number(count, "how many token ids to roll back")
        most = self._history.let_go(self._accepted)
        if not 0 <= count <= most:
            raise ConfigurationError(
                f"cannot roll back {count} token ids: {self._accepted} were accepted, of "
                f"which the last {most} can be rolled back"
            )
        self._back(count)

    def _back(self, count: int) -> None:
        """Go back; what fails on the way stays closed as long as the turn stands in it."""
        to = self._accepted - count
        for (before, fed), ids in self._history.pop(self._accepted, to):
            # The first of them led from one text into another, or stayed in it.
            stayed = self._now.grammar is before.grammar
            self._back_in(self._now.grammar, ids if stayed else ids - 1)
            if not stayed:
                self._back_in(before.grammar, fed)
            self._now = before
            self._accepted -= ids
        if self._accepted > to:
            self._back_in(self._now.grammar, self._accepted - to)
            if self._now.failure is not None:  # which came after these ids
                self._now = self._now.but(failure=None)
                if self._now.grammar is not None:
                    self._look_at(self._now)
        self._accepted = to
        if self._deadline is not None:
            self._deadline.go_back()
        if self._lost is not None and self._now.grammar is self._lost[0]:
            self.fail(self._lost[1])

    def _back_in(self, grammar: ArgumentMatcher | None, count: int) -> None:
        if not count or grammar is None or (self._lost is not None and self._lost[0] is grammar):
            return
        try:
            grammar.rollback(count)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this turn alone
            self._lost = (grammar, named(error, f"taking back {count} ids"))

    def propose(self, limit: int, *, likely: bool = True) -> list[int]:
        """Return legal token ids that the model likely writes next; the state is unchanged.

        They are draft tokens for speculative decoding: the model verifies them in one pass.

        Args:
            limit: how many at most.
            likely: whether declared names, closing brackets and the end of the calls are guessed
                by what models usually write; if not, only what is forced up to white space and
                escapes is proposed.

        Raises:
            ConfigurationError: the limit is no whole number.

        """
        limit, now = number(limit, "limit"), self._now
        if now.grammar is None and now.row.text:
            return []
        drafter = self._drafter or Drafter(self._envelope, self._reader, self._transitions)
        found = drafter.propose(now, limit, likely=likely)
        # Each symbol is legal, but for a budget, and where a text's end is that of all calls.
        if self._deadline is not None or drafter.has_ended:
            self._drafter = None  # a trial teaches nothing
            deadline = copy(self._deadline)
            if deadline is not None:
                deadline.is_hasty = True
            found = found[: self._count_legal(found, deadline)]
        self._drafter = drafter
        return found

    def validate(self, token_ids: Sequence[int]) -> int:
        """Count how many leading ids are legal; the state is unchanged.

        Raises:
            ConfigurationError: one of them is no whole number.

        """
        return self._count_legal(token_ids, copy(self._deadline))

    def _count_legal(self, token_ids: Sequence[int], tried: Deadline | None) -> int:
        """Count the leading ids that are legal by another deadline than the turn's own."""
        # Drafts may be longer than what can be taken back otherwise.
        now, history, deadline = self._now, self._history, self._deadline
        self._history, self._deadline = RollbackStack(None), tried
        legal = 0
        try:
            for token_id in token_ids:
                if not self.accept(token_id):
                    break
                legal += 1
        finally:
            self._back(legal)
            self._history, self._deadline = history, deadline
            if self._lost is None or self._lost[0] is not now.grammar:
                self._now = now  # a draft may fail where the turn never comes
        return legal
