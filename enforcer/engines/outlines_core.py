"""outlines-core as an argument engine.

Owns: the only use of the package `outlines_core`: its vocabulary, its index, and walking
its states. Must not know: schemas, envelopes, hosts.

Its index has a row of ids for every state of a byte automaton, found by trying the whole
vocabulary in each: about 15 ms a state for a vocabulary of Kimi's size. So it suits
small, closed schemas, and bounds the number of states by that of the ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import outlines_core

from enforcer.engines import CompiledGrammar
from enforcer.engines._pattern import BORDER, PatternSizeError, escaped, to_pattern
from enforcer.engines._rule_engine import RuleEngine
from enforcer.engines._rules import OTHER_ENGINE
from enforcer.errors import InvalidVocabulary, UnsupportedSchema
from enforcer.regex import RegexBudget

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.engines import ArgumentEngine
    from enforcer.engines._rules import Rules
    from enforcer.vocabulary import Vocabulary

_PATTERN = 200_000  # characters of one regular expression
_STATES = 4_000
_WORK = 200_000_000  # states times ids: some 20 seconds
_TRANSITION = 16  # bytes that the index holds for each: two numbers, in tables half full
_BYTES = outlines_core.Vocabulary(256, {bytes([byte]): [byte] for byte in range(256)})
_BORDER = BORDER.encode()
_OUTSIDE = 2  # states that are not a text's: before its first border, and behind its last


class OutlinesCoreEngine(RuleEngine):
    """Compiles argument grammars with outlines-core for one vocabulary."""

    name = "outlines-core"
    orders = 16
    rules = 1_000
    nests = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        controls = vocabulary.control_ids
        if not controls:
            raise InvalidVocabulary(
                "outlines-core needs a control token, and the tokenizer has none"
            )
        ids: dict[bytes, list[int]] = {}
        for data, token_id in zip(*vocabulary.sorted_text, strict=True):
            ids.setdefault(escaped(data), []).append(token_id)
        # Some id has to stand for the border; no mask that leaves here has it. So has what
        # outlines calls the end, which comes behind that.
        self._border = min(controls)
        self._tokens = outlines_core.Vocabulary(vocabulary.size, {**ids, _BORDER: [self._border]})
        self._vocabulary = vocabulary
        self._states = min(_STATES, _WORK // vocabulary.size)

    def notate(self, rules: Rules) -> str:
        """Write rules as one regular expression, whose automaton is small enough."""
        try:
            pattern = to_pattern(rules, _PATTERN, _STATES)
        except (PatternSizeError, RegexBudget) as error:
            raise _too_large(str(error)) from error
        try:
            states = len(outlines_core.Index(pattern, _BYTES).get_transitions()) - _OUTSIDE
        except ValueError as error:
            raise _too_large(str(error)) from error
        if states > self._states:
            raise _too_large(f"{states} states, {self._states} at most")
        return pattern

    def read(self, written: str) -> OutlinesCoreGrammar:
        """Compile what `write` has given."""
        index = outlines_core.Index(written, self._tokens)
        return OutlinesCoreGrammar(index, self._vocabulary, self._border)


def _too_large(detail: str) -> UnsupportedSchema:
    reason = f"the schema is too large for one regular expression ({detail}); {OTHER_ENGINE}"
    return UnsupportedSchema.of("$", "", reason)


class OutlinesCoreGrammar(CompiledGrammar):
    """A compiled grammar: the index, and the mask of every state that was asked for."""

    def __init__(self, index: outlines_core.Index, vocabulary: Vocabulary, border: int) -> None:
        self.index = index
        self.vocabulary = vocabulary
        self.border = border
        self.start: int = index.get_next_state(index.get_initial_state(), border)
        self._masks: dict[int, npt.NDArray[np.int32]] = {}
        self._transitions = sum(map(len, index.get_transitions().values()))

    @property
    def weight(self) -> int:
        """Bytes: the index's transitions, and the masks of the states that were asked for."""
        return self._transitions * _TRANSITION + len(self._masks) * 4 * self.vocabulary.words

    def matcher(self) -> OutlinesCoreMatcher:
        """Start a new text."""
        return OutlinesCoreMatcher(self)

    def mask(self, state: int) -> npt.NDArray[np.int32]:
        """Give the mask row of a state, which is kept."""
        mask = self._masks.get(state)
        if mask is None:
            vocabulary = self.vocabulary
            mask = vocabulary.row(self.index.get_allowed_tokens(state) or ())
            mask &= vocabulary.text_row
            self._masks[state] = mask
        return mask


class OutlinesCoreMatcher:
    """The state of one argument text: the states it came through."""

    def __init__(self, grammar: OutlinesCoreGrammar) -> None:
        self._grammar = grammar
        self._states = [grammar.start]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; all zero if nothing may."""
        row[:] = self._grammar.mask(self._states[-1])

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        vocabulary = self._grammar.vocabulary
        if not 0 <= token_id < vocabulary.size or token_id in vocabulary.control_ids:
            return False
        following = self._grammar.index.get_next_state(self._states[-1], token_id)
        if following is None:
            return False
        self._states.append(following)
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        if count:
            del self._states[-count:]

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        grammar = self._grammar
        return grammar.index.get_next_state(self._states[-1], grammar.border) is not None


def build(vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine for a vocabulary; reads all of its tokens once."""
    return OutlinesCoreEngine(vocabulary)
