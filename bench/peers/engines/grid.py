"""GRID (`grid-guardrail`) with its own compiler of JSON Schema.

Owns: how it is called, which is what its vLLM backend does for a request. Must not know: what is
timed.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grid.errors import GridError, LALRConflictError
from grid.grammar.projection import RoleProjection
from grid.guide import GridGuide
from grid.jsonschema import Unsupported, compile_json_schema_grammar
from grid.jsonschema.rx import RxUnsupported
from grid.serving.artifact_store import (
    load_or_build_scanner,
    load_or_build_trie,
    load_or_compile_tables,
)

from bench.peers.engines import RefusedError, end_of

# The session's module defines vLLM's half beside it where vLLM is there, whose memory would then
# count as GRID's.
_HIDDEN = [name for name in ("vllm",) if name not in sys.modules]
sys.modules.update(dict.fromkeys(_HIDDEN))  # type: ignore[arg-type]
try:
    from grid.models.vllm_structured import GridGrammarSession
finally:
    for name in _HIDDEN:
        del sys.modules[name]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary


class _Tokenizer:
    """What GRID asks of a tokenizer."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        controls = vocabulary.control_ids
        self._tokens = [
            b"" if i in controls else vocabulary.token_bytes(i) for i in range(vocabulary.size)
        ]
        self.vocabulary = {str(i): i for i in range(vocabulary.size)}
        self.eos_token_id = self.pad_token_id = end_of(vocabulary)
        self.special_token_ids = frozenset(i for i, data in enumerate(self._tokens) if not data)

    def token_bytes(self, token_id: int) -> bytes:
        return self._tokens[token_id]


class _Matcher:
    def __init__(self, guide: Any) -> None:
        self._session = GridGrammarSession(guide)
        self._end = [guide.eos_token_id]

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        self._session.fill_bitmask(row.reshape(1, -1), 0)

    def accept(self, token_id: int) -> bool:
        return bool(self._session.accept_tokens("", [token_id]))

    def is_accepting(self) -> bool:
        return bool(self._session.validate_tokens(self._end) == self._end)


@dataclass(frozen=True, slots=True)
class _Grammar:
    guide: Any
    unenforced: tuple[str, ...]

    def matcher(self) -> Matcher:
        return _Matcher(self.guide.copy())


@dataclass(frozen=True, slots=True)
class Grid:
    """GRID's trie of a vocabulary."""

    tokenizer: _Tokenizer
    trie: Any

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema."""
        try:
            try:
                return self._compiled(schema, unify=False)
            except LALRConflictError:
                return self._compiled(schema, unify=True)
        except (GridError, Unsupported, RxUnsupported) as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error

    def _compiled(self, schema: Any, *, unify: bool) -> Grammar:
        grammar, recorded = compile_json_schema_grammar(schema, unify_string_values=unify)
        tables = load_or_compile_tables(RoleProjection.full(grammar).build())
        scanner = load_or_build_scanner(grammar)
        guide = GridGuide(tables=tables, dfa=scanner, trie=self.trie, adapter=self.tokenizer)
        return _Grammar(guide, tuple(sorted(recorded)))


def build(vocabulary: Vocabulary) -> Engine:
    """Build GRID's trie of a vocabulary."""
    warnings.simplefilter("ignore")  # a line for each rule that is right-recursive
    tokenizer = _Tokenizer(vocabulary)
    return Grid(tokenizer, load_or_build_trie(tokenizer))
