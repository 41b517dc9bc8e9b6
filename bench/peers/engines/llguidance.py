"""llguidance with its own compiler of JSON Schema.

Owns: how it is called. Must not know: what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import llguidance

from bench.peers.engines import RefusedError
from enforcer.engines.llguidance import engine

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary


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
    unenforced: ClassVar[tuple[str, ...]] = ()  # it refuses instead

    def matcher(self) -> Matcher:
        return _Matcher(self.compiled.deep_copy())


@dataclass(frozen=True, slots=True)
class LLGuidance:
    """llguidance's tokenizer table."""

    tokenizer: Any

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema."""
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
    table = engine._table(vocabulary)  # noqa: SLF001 - of all its text, as llguidance has it
    return LLGuidance(table.tokenizer)
