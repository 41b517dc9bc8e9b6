"""The Enforcer: its compiler of schemas over its default engine.

Owns: what of its refusals is one. Must not know: what is timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.peers.engines import RefusedError
from enforcer import engines
from enforcer.errors import EnforcerError
from enforcer.schema import compile_schema

if TYPE_CHECKING:
    from bench.peers.engines import Engine, Grammar, Matcher
    from enforcer import Vocabulary


@dataclass(frozen=True, slots=True)
class _Grammar:
    compiled: engines.CompiledGrammar

    def matcher(self) -> Matcher:
        return self.compiled.matcher()


@dataclass(frozen=True, slots=True)
class Ours:
    """The schema compiler and an argument engine."""

    engine: engines.ArgumentEngine

    def compile(self, schema: Any) -> Grammar:
        """Compile a schema."""
        try:
            return _Grammar(self.engine.compile(compile_schema(schema)))
        except EnforcerError as error:
            raise RefusedError(f"{type(error).__name__}: {error}") from error


def build(vocabulary: Vocabulary) -> Engine:
    """Build the default engine."""
    return Ours(engines.load("machine", vocabulary))
