r"""The engine `outlines-core`, an adapter of that package.

Its index has a row of token ids for every state of a byte automaton, found by trying the whole
vocabulary in each: about 15 ms a state for a vocabulary of Kimi's size. So it suits small, closed
schemas, and the number of states is bounded.

A text may be a prefix of another, and a match of the first ends the search; so the expression ends
with `\z`. The index also builds an automaton for matches that begin anywhere, with up to two to the
power of n states for n digits; so a token id of its own precedes the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import outlines_core

from enforcer.engines import CompiledGrammar
from enforcer.engines._rules import RuleEngine, unsupported

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.errors import UnsupportedSchema
    from enforcer.vocabulary import Vocabulary

_STATES = 5_000
_WORK = 200_000_000  # states times ids: some 20 seconds
_TRANSITION = 16  # bytes that the index holds for each: two numbers, in tables half full
_START = "\U0010ffff"  # rare in texts, where it costs states
_BYTES = outlines_core.Vocabulary(256, {bytes([byte]): [byte] for byte in range(256)})


class OutlinesCoreEngine(RuleEngine):
    """Compiles argument grammars with outlines-core for one vocabulary."""

    name = "outlines-core"
    properties = 4
    is_inline = True

    def __init__(self, vocabulary: Vocabulary) -> None:
        ids: dict[bytes, list[int]] = {}
        for data, token_id in zip(*vocabulary.sorted_text, strict=True):
            ids.setdefault(data, []).append(token_id)
        # Two more token ids: the one before the text, and what outlines calls the end.
        ids.setdefault(_START.encode(), []).append(vocabulary.size)
        self._tokens = outlines_core.Vocabulary(vocabulary.size + 1, ids)
        self.vocabulary = vocabulary
        self._states = min(_STATES, _WORK // vocabulary.size)

    def checked(self, written: str) -> str:
        """Return the regular expression of a text, if its automaton is small enough."""
        pattern = rf"{_START}(?:{written})\z"
        try:
            states = len(outlines_core.Index(pattern, _BYTES).get_transitions())
        except ValueError as error:
            raise _too_large(str(error)) from error
        if states > self._states:
            raise _too_large(f"{states} states, {self._states} at most")
        return pattern

    def read(self, written: bytes) -> OutlinesCoreGrammar:
        """Return the compiled grammar of bytes that `write` returned."""
        return OutlinesCoreGrammar(
            outlines_core.Index(written.decode(), self._tokens), self.vocabulary
        )


def _too_large(detail: str) -> UnsupportedSchema:
    return unsupported("$", "", f"the schema is too large for one regular expression ({detail})")


class OutlinesCoreGrammar(CompiledGrammar):
    """A compiled grammar: the index, and cached mask rows by state."""

    def __init__(self, index: outlines_core.Index, vocabulary: Vocabulary) -> None:
        self.index = index
        self.vocabulary = vocabulary
        self.start: int = index.get_next_state(index.get_initial_state(), vocabulary.size)
        self._masks: dict[int, npt.NDArray[np.int32]] = {}
        self._transitions = sum(map(len, index.get_transitions().values()))

    @property
    def weight(self) -> int:
        """Its size in bytes: the index's transitions, and the cached mask rows."""
        return self._transitions * _TRANSITION + len(self._masks) * 4 * self.vocabulary.words

    def matcher(self) -> OutlinesCoreMatcher:
        """Return the matcher of a new text."""
        return OutlinesCoreMatcher(self)

    def mask(self, state: int) -> npt.NDArray[np.int32]:
        """Return the mask row of a state; cached."""
        mask = self._masks.get(state)
        if mask is None:
            ids = self.index.get_allowed_tokens(state) or ()
            mask = self.vocabulary.row(i for i in ids if i < self.vocabulary.size)
            self._masks[state] = mask
        return mask


class OutlinesCoreMatcher:
    """The state of one argument text: the states of the automaton so far."""

    def __init__(self, grammar: OutlinesCoreGrammar) -> None:
        self._grammar = grammar
        self._states = [grammar.start]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the bitmask of the token ids that may come next; all zero if none may."""
        row[:] = self._grammar.mask(self._states[-1])

    def accept(self, token_id: int) -> bool:
        """Advance by one token id; return False, and change nothing, if it is illegal."""
        if not 0 <= token_id < self._grammar.vocabulary.size:
            return False
        following = self._grammar.index.get_next_state(self._states[-1], token_id)
        if following is None:
            return False
        self._states.append(following)
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted token ids."""
        if count:
            del self._states[-count:]

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        return bool(self._grammar.index.is_final_state(self._states[-1]))
