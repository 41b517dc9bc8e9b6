"""xgrammar with its own compiler of JSON Schema, as vLLM calls it and less strictly.

Owns: how it is called. Must not know: what is timed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xgrammar

from bench.peers.engines import RefusedError, end_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary

_CACHE = 512 << 20  # bytes; vLLM's default


class _Matcher:
    def __init__(self, compiled: Any) -> None:
        self._matcher = xgrammar.GrammarMatcher(compiled)

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        # It writes nothing where all ids are legal.
        if not self._matcher.fill_next_token_bitmask(row.reshape(1, -1)):
            row.fill(-1)

    def accept(self, token_id: int) -> bool:
        return bool(self._matcher.accept_token(token_id))

    def is_accepting(self) -> bool:
        return bool(self._matcher.is_completed())


@dataclass(frozen=True, slots=True)
class _Grammar:
    compiled: Any

    def matcher(self) -> Matcher:
        return _Matcher(self.compiled)


@dataclass(frozen=True, slots=True)
class XGrammar:
    """xgrammar's compiler."""

    compiler: Any
    is_open: bool

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema."""
        text = json.dumps(schema, ensure_ascii=False)
        try:
            compiled = self.compiler.compile_json_schema(text, strict_mode=not self.is_open)
        except (RuntimeError, ValueError) as error:
            raise RefusedError(str(error)) from error
        return _Grammar(compiled)


def build(vocabulary: Vocabulary, *, is_open: bool = False) -> Engine:
    """Build xgrammar's compiler for a vocabulary."""
    controls = vocabulary.control_ids
    tokens = [b"" if i in controls else vocabulary.token_bytes(i) for i in range(vocabulary.size)]
    info = xgrammar.TokenizerInfo(
        tokens,
        xgrammar.VocabType.RAW,
        vocab_size=vocabulary.size,
        stop_token_ids=[end_of(vocabulary)],
    )
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_limit_bytes=_CACHE)
    return XGrammar(compiler, is_open)
