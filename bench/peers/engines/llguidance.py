"""llguidance with its own compiler of JSON Schema.

Owns: how it is called. Must not know: what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import llguidance

from bench.peers.engines import RefusedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary


class _Tokenizer:
    """What `llguidance.TokenizerWrapper` asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        self.special_token_ids = sorted(vocabulary.control_ids)
        self.eos_token_id = min(vocabulary.control_ids, default=0)
        self._encode = vocabulary.encode

    def __call__(self, text: str) -> list[int]:
        return self._encode(text)


class _Matcher:
    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)

    def accept(self, token_id: int) -> bool:
        return int(self._matcher.try_consume_tokens([token_id])) == 1

    def is_accepting(self) -> bool:
        return bool(self._matcher.is_accepting())


@dataclass(frozen=True, slots=True)
class _Grammar:
    compiled: Any

    def matcher(self) -> Matcher:
        return _Matcher(self.compiled.deep_copy())


@dataclass(frozen=True, slots=True)
class LLGuidance:
    """llguidance's tokenizer table."""

    tokenizer: Any

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> LLGuidance:
        """Build the table of a vocabulary, with llguidance's own settings."""
        wrapped = llguidance.TokenizerWrapper(_Tokenizer(vocabulary))
        return cls(llguidance.LLTokenizer(wrapped, n_vocab=vocabulary.size))

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema with llguidance's own options."""
        try:
            text = llguidance.LLMatcher.grammar_from_json_schema(schema)
        except ValueError as error:
            raise RefusedError(str(error)) from error
        matcher = llguidance.LLMatcher(self.tokenizer, text, log_level=0)
        if matcher.is_error():
            raise RefusedError(matcher.get_error())
        return _Grammar(matcher)


def build(vocabulary: Vocabulary) -> Engine:
    """Build llguidance's table of a vocabulary, with its own settings."""
    return LLGuidance.of(vocabulary)
