"""The engine process's `Enforcer`, which says what its compiling costs.

Owns: timing the compiler and publishing the state of its caches. Must not know: what is
compiled, masks.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from enforcer.api import Enforcer
from enforcer.vllm import metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.engines import ArgumentMatcher, CompiledGrammar
    from enforcer.matcher import Matcher
    from enforcer.response_format import ResponseFormat
    from enforcer.schema import OnUnsupported
    from enforcer.spec import Spec


class MeasuredEnforcer(Enforcer):
    """An enforcer whose compile times and caches are seen on `/metrics`."""

    def start(
        self, spec: Spec, prompt_ids: Sequence[int] | None, *, rollback: int | None = None
    ) -> Matcher:
        """Start a turn; the grammar of a response format is looked up here."""
        try:
            return super().start(spec, prompt_ids, rollback=rollback)
        finally:
            self._publish()

    def _begin(self, schema: str, on_unsupported: OnUnsupported | None) -> ArgumentMatcher:
        try:
            return super()._begin(schema, on_unsupported)
        finally:
            self._publish()

    def _compile(self, schema: str, on_unsupported: OnUnsupported | None) -> CompiledGrammar:
        begun = perf_counter_ns()
        try:
            return super()._compile(schema, on_unsupported)
        finally:
            metrics.timed(metrics.COMPILE, begun)

    def _compile_format(
        self, wanted: ResponseFormat, on_unsupported: OnUnsupported | None
    ) -> CompiledGrammar:
        begun = perf_counter_ns()
        try:
            return super()._compile_format(wanted, on_unsupported)
        finally:
            metrics.timed(metrics.COMPILE, begun)

    def _publish(self) -> None:
        metrics.cached(self._compiled.cache_info(), self._format.cache_info())
