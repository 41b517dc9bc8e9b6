"""Search for the first token id of the generated turn in a prompt.

Owns: finding the opening of a turn that a template has written, for a dialect and a vocabulary.
Must not know: requests, the contents of a turn.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import compress, dropwhile, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.turn.dialect import Dialect
    from enforcer.vocabulary import Vocabulary


_TAIL = 16  # last ids of a prompt, in which its turn is mostly opened
_TAILS = 256


class TurnStart:
    """Finds the turn that a prompt has opened.

    Args:
        dialect: the format.
        vocabulary: the tokens.
        ends: the ids that end a turn.

    """

    def __init__(self, dialect: Dialect, vocabulary: Vocabulary, ends: frozenset[int]) -> None:
        turn, controls = dialect.turn, vocabulary.controls
        self._dialect = dialect
        self._vocabulary = vocabulary
        self._ends = ends
        self._begin = frozenset(controls[name] for name in turn.begin if name in controls)
        self._end = None if turn.end is None else controls[turn.end]
        self._role = None if turn.role is None else turn.role.encode()
        self._named = {token: name.encode() for name, token in controls.items()}
        # Templates end prompts in a few ways.
        self._in_tail = lru_cache(_TAILS)(self._behind)

    def find(self, prompt_ids: Sequence[int]) -> tuple[str, Sequence[int]]:
        """Find the turn that a prompt has opened.

        Returns:
            The state right after the turn's opening, and the ids that the prompt has
            after it; the dialect's start state and nothing if it opens no turn, or none that
            has not ended. White space that leads nowhere else is left out: a template may
            write it where a request that demands a call allows no text.

        """
        behind = self._behind_near(prompt_ids, len(prompt_ids))
        if behind is None:
            return self._dialect.start, ()
        state, begun = self._dialect.turn_state, prompt_ids[behind:]
        if self._dialect.states[state].blank_to != state:
            return state, begun
        return state, tuple(dropwhile(self._vocabulary.blank_ids.__contains__, begun))

    def is_near(self, prompt_ids: Sequence[int], most: int) -> bool:
        """Return whether so many of a prompt's last ids have the opening of its turn in them."""
        return len(prompt_ids) <= most or self._behind_near(prompt_ids, most) is not None

    def _behind_near(self, prompt_ids: Sequence[int], most: int) -> int | None:
        """Return the index behind the opening of the turn; None where it is not in so many ids."""
        tail = tuple(prompt_ids[-_TAIL:])
        behind = self._in_tail(tail)
        if behind is not None:
            return len(prompt_ids) - len(tail) + behind
        return self._behind(prompt_ids, max(0, len(prompt_ids) - most))

    def _behind(self, prompt_ids: Sequence[int], first: int = 0) -> int | None:
        """Return the index behind the opening of the turn; None where it opens before `first`."""
        said = len(prompt_ids)
        while said and prompt_ids[said - 1] in self._ends:
            said -= 1  # nothing has come after it: the turn that has ended is the last one
        control = said  # where the next control token stands
        for at in self._controls(prompt_ids, said, first):
            token = prompt_ids[at]
            found = None
            if self._role is None and self._end is not None:
                if token == self._end:
                    before = next(self._controls(prompt_ids, at, first), None)
                    has_begun = before is not None and prompt_ids[before] in self._begin
                    return at + 1 if has_begun else None
            elif token in self._begin:
                found = self._behind_role(prompt_ids, at + 1, control)
            if found is not None:
                return found
            if token in self._ends and token not in self._begin:
                return None
            control = at
        return None

    def _controls(self, prompt_ids: Sequence[int], end: int, first: int) -> Iterator[int]:
        """Return where control tokens stand from `first` to before `end`, the last first."""
        # A prompt may be all text: some ten nanoseconds an id, without a step of Python's.
        said = len(prompt_ids)
        backwards = islice(reversed(prompt_ids), said - end, said - first)
        are_controls = map(self._vocabulary.control_ids.__contains__, backwards)
        return compress(range(end - 1, -1, -1), are_controls)

    def _behind_role(self, prompt_ids: Sequence[int], at: int, control: int) -> int | None:
        """Return the index behind the assistant's role, and what ends it; None if it is another.

        Args:
            prompt_ids: the prompt's ids.
            at: where the role begins.
            control: where the next control token stands.

        """
        wanted, said = self._role or b"", b""
        stop = len(prompt_ids) if self._end is None else control
        # No more is read than the role has: what follows may be as long as the prompt.
        while at < stop and len(said) < len(wanted):
            token = prompt_ids[at]
            if token not in self._vocabulary.control_ids:
                said += self._vocabulary.token_bytes(token)
            elif token not in self._begin:
                said += self._named[token]  # a role may be a token of its own: `<|assistant|>`
            else:
                break
            at += 1
        if not said.startswith(wanted):
            return None
        if self._end is None:
            return at
        return control + 1 if list(prompt_ids[control : control + 1]) == [self._end] else None
