"""The `Enforcer` of a process: one for each tokenizer, and one that only checks.

Owns: building enforcers from the operator's settings, and keeping what they have read
and checked. Must not know: requests, vLLM's classes.
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from enforcer import dialect as dialects
from enforcer import spec as specs
from enforcer.api import CACHE_BYTES, Enforcer
from enforcer.cache import Cache
from enforcer.vllm import metrics, settings
from enforcer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.matcher import Matcher
    from enforcer.spec import Spec

_PARSED_SPECS = 1024  # kept per process; clients repeat their tools from turn to turn
_building = threading.Lock()


def enforcer_for(tokenizer: Any) -> Enforcer:
    """Give the process's enforcer for a tokenizer of transformers; built on first use."""
    key = id(tokenizer)
    with _building:
        if key not in _enforcers:
            vocabulary = Vocabulary.from_transformers(tokenizer)
            built = _build(vocabulary, metrics.compiled)
            _enforcers[key] = (tokenizer, built)  # the tokenizer is kept: its id is the key
        return _enforcers[key][1]


_enforcers: dict[int, tuple[Any, Enforcer]] = {}


@cache
def kept() -> Cache:
    """Give what this process keeps between requests."""
    return Cache(CACHE_BYTES)


def _build(vocabulary: Vocabulary, on_compile: Callable[[int], None] | None = None) -> Enforcer:
    chosen = settings.current()
    return Enforcer(
        vocabulary,
        chosen.dialect,
        chosen.engine,
        chosen.options(),
        cache=kept(),
        on_compile=on_compile,
    )


@cache
def checker() -> Enforcer:
    """Give an enforcer over single bytes, which checks schemas without a tokenizer."""
    dialect = dialects.load(settings.current().dialect)
    markers = [name for names in dialect.markers.values() for name in names]
    return _build(Vocabulary.of_bytes([dialect.turn_begin, dialect.turn_end, *markers]))


@lru_cache(_PARSED_SPECS)
def read(text: str) -> Spec:
    """Read a spec's text, its schemas unchecked; specs repeat from turn to turn."""
    return specs.read(text)


def check(text: object) -> None:
    """Refuse a spec that is malformed or has a schema that cannot be enforced.

    Raises:
        RequestError: it is; the path leads to the offending part.

    """
    _check(text if isinstance(text, str) else "")


@lru_cache(_PARSED_SPECS)
def _check(text: str) -> None:
    begun = perf_counter_ns()
    try:
        checker().check(read(text))
    finally:
        metrics.timed(metrics.CHECK, begun)


def start(tokenizer: Any, text: str, prompt_ids: Sequence[int] | None) -> Matcher:
    """Start the turn that a checked spec describes."""
    return enforcer_for(tokenizer).start(read(text), prompt_ids)
