"""The automaton over token ids around the calls: a dialect bound to a vocabulary.

Owns: which ids are legal in which state, as precomputed rows, and the allowed
headers of a request. No text is compiled here, so the cost of an envelope does
not depend on what the tools' schemas look like. Must not know: schemas, engines,
hosts, or how a turn is advanced (that is `matcher`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from enforcer.turn.dialect import Guard, Segment
from enforcer.turn.header import HeaderTrie

_HEADER_TRIES = 256  # kept per table; one is a few hundred bytes a tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentMatcher
    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary


class Due(Enum):
    """What a turn must have before it may end."""

    NOTHING = "nothing"
    WORD = "text or a call"
    CALL = "a call"


@dataclass(frozen=True, slots=True)
class Opening:
    """What the request's state of affairs permits at one moment.

    Attributes:
        call: another call may begin.
        finish: the turn may end.
        text: text outside a think may go on (a demanded call cannot be put off for ever).
        empty: the turn may end though it has said nothing.

    """

    call: bool
    finish: bool
    text: bool
    empty: bool


@dataclass(frozen=True, slots=True)
class Row:
    """The ids that are legal at one moment, apart from headers and arguments.

    Attributes:
        markers: legal control id to the state it leads to.
        mask: int32, shape `(vocabulary.words,)`: the markers, and all text if it is free.
        text: whether text is free.

    """

    markers: Mapping[int, str]
    mask: npt.NDArray[np.int32]
    text: bool


class Table:
    """A dialect bound to a vocabulary: the rows of every state.

    Raises:
        InvalidVocabulary: the tokenizer lacks a control token that the dialect needs.

    """

    def __init__(self, dialect: Dialect, vocabulary: Vocabulary) -> None:
        self.dialect = dialect
        self.vocabulary = vocabulary
        present = vocabulary.controls
        self._ids: dict[str, tuple[int, ...]] = {
            role: tuple(
                vocabulary.control(name)
                for name in names
                if name in present or name not in dialect.optional
            )
            for role, names in dialect.markers.items()
        }
        self._turn_begin = vocabulary.control(dialect.turn_begin)
        self._turn_end = vocabulary.control(dialect.turn_end)
        # Computed here, so that no request waits for them.
        _ = vocabulary.sorted_text, vocabulary.blank_ids
        self.headers = lru_cache(_HEADER_TRIES)(partial(HeaderTrie, dialect, vocabulary))
        self._rows: dict[tuple[str, Opening], Row] = {}
        nothing = vocabulary.row(())
        nothing.setflags(write=False)
        self.nothing = Row({}, nothing, text=False)
        # Every marker of a state, whatever the request: for the parser.
        self.leaves: Mapping[str, Mapping[int, str]] = {
            name: {
                token: transition.to
                for role, transition in state.on.items()
                for token in self._ids[role]
            }
            for name, state in dialect.states.items()
        }

    def segment(self, state: str) -> Segment:
        """Tell what the text of a state is."""
        return self.dialect.states[state].segment

    def row(self, state: str, opening: Opening) -> Row:
        """Look up what is legal; computed once for each state and opening."""
        key = (state, opening)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._build(state, opening)
        return row

    def _build(self, name: str, opening: Opening) -> Row:
        state = self.dialect.states[name]
        closed = {
            role
            for role, transition in state.on.items()
            if (transition.when is Guard.CALL and not opening.call)
            or (transition.when is Guard.FINISH and not opening.finish)
            or (transition.when is Guard.EMPTY and not (opening.finish and opening.empty))
        }
        markers = {
            token: transition.to
            for role, transition in state.on.items()
            if role not in closed
            for token in self._ids[role]
        }
        free = state.segment is Segment.REASONING or (
            state.segment is Segment.CONTENT and opening.text
        )
        mask = self.vocabulary.row(markers)
        if free:
            mask |= self.vocabulary.text_row
        mask.setflags(write=False)
        return Row(markers, mask, free)

    def step(self, state: str, token_id: int, markers: Mapping[int, str]) -> str | None:
        """Give the state after one id: the one reading of the table, by matcher and parser.

        Args:
            state: where the turn stands.
            token_id: any number at all.
            markers: those that are open, with the states that they lead to: all of `leaves`
                for whoever reads a turn, fewer for a request that does not allow each.

        Returns:
            None if the format does not allow the id there. Of text it only says that some
            text may stand there: which, an open request and the text itself decide.

        """
        vocabulary = self.vocabulary
        to = markers.get(token_id)
        if to is not None:
            return to
        found = self.dialect.states[state]
        if (
            found.segment is Segment.NONE
            or not 0 <= token_id < vocabulary.size
            or token_id in vocabulary.control_ids
            or not vocabulary.token_bytes(token_id)
        ):
            return None
        return found.blank_to if token_id in vocabulary.blank_ids else found.text_to

    @cached_property
    def turn_end_ids(self) -> frozenset[int]:
        """The ids that end a turn."""
        return frozenset(self.leaves[self.dialect.final])

    def opened(self, prompt_ids: Sequence[int]) -> tuple[str, Sequence[int]]:
        """Find the turn that a prompt has opened.

        Returns:
            The state right after the turn's opening, and the ids that the prompt has
            after it; the dialect's start state and nothing if it opens no turn.

        """
        controls = self.vocabulary.control_ids
        for end in range(len(prompt_ids) - 1, -1, -1):
            if prompt_ids[end] == self._turn_end:
                begin = end - 1
                while begin >= 0 and prompt_ids[begin] not in controls:
                    begin -= 1
                if begin >= 0 and prompt_ids[begin] == self._turn_begin:
                    return self.dialect.turn_state, prompt_ids[end + 1 :]
                break
        return self.dialect.start, ()


class Envelope:
    """What one request allows: a table, the names it may call, and from which index on.

    Args:
        names: the tools that may be called; empty means that no call may be made.
        due: what the turn must have before it may end.
        most: how many calls the turn may have.
        first: index of the turn's first call.
        preamble: how many text ids may precede a demanded call outside a think.
        text_format: starts the grammar that content must fit; None for free text.

    """

    def __init__(
        self,
        table: Table,
        names: tuple[str, ...],
        *,
        due: Due,
        most: int,
        first: int,
        preamble: int,
        text_format: Callable[[], ArgumentMatcher] | None = None,
    ) -> None:
        self.table = table
        self.names = names
        self.due = due
        self.most = most if names else 0
        self.first = first
        self.preamble = preamble
        self.text_format = text_format

    def opening(self, calls: int, text: int) -> Opening:
        """Say what is open after so many calls and ids of text outside a think."""
        owed = self.due is Due.CALL and calls == 0
        return Opening(
            call=calls < self.most,
            finish=not owed,
            text=not owed or text < self.preamble,
            # Where text has a format, it is for the format to say whether none at all fits.
            empty=self.due is Due.NOTHING and self.text_format is None,
        )

    def headers(self, calls: int) -> HeaderTrie:
        """Give the trie of the headers that are legal for the next call."""
        return self.table.headers(self.names, self.first + calls)
