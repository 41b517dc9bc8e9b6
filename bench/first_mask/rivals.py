"""The rivals behind one interface.

Owns: how each is given a request and asked for masks. Must not know: what is timed.
Each rival is imported in a process of its own.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer import Vocabulary

Tools = list[dict[str, Any]]
clock = time.perf_counter  # `run` may set the processor's


class Turn(Protocol):
    """One turn of one request."""

    def fill(self) -> None:
        """Compute the mask of the next id."""
        ...

    def accept(self, token_id: int) -> bool:
        """Advance by one id."""
        ...


class Rival(Protocol):
    """A way of constraining a request's tool calls."""

    name: str

    def forget(self) -> None:
        """Drop all caches, as if no tool had ever been seen."""
        ...

    def begin(self, tools: Tools) -> tuple[Turn, dict[str, float]]:
        """Go from a request to its first mask; return the seconds of each stage."""
        ...


class EnforcerRival:
    """The Enforcer: the front end's check, then the engine's start and first mask."""

    name = "enforcer"

    def __init__(self, vocabulary: Vocabulary) -> None:
        from enforcer import Enforcer

        self._enforcer = Enforcer(vocabulary)
        self._enforcer.warm()

    def forget(self) -> None:
        """Drop what has been compiled, checked and looked at."""
        from enforcer.cache import Cache
        from enforcer.request import tools
        from enforcer.schema.reading import plain

        kept = self._enforcer._grammars  # noqa: SLF001 - what a restart would do
        kept.cache = Cache(kept.cache.budget)
        plain._remembered_cost.cache_clear()  # noqa: SLF001 - what a restart would do
        tools._sets = Cache(tools._sets.budget)  # noqa: SLF001 - what a restart would do

    def begin(self, tools: Tools) -> tuple[Turn, dict[str, float]]:
        """Go from a request to its first mask."""
        from enforcer.request import tools as tools_
        from enforcer.request.spec import Spec

        start = clock()
        spec = Spec(tools_.parse(tools, "auto", True), 0)
        parsed = clock()
        self._enforcer.check(spec)
        checked = clock()
        turn = _EnforcerTurn(self._enforcer.start(spec, None), self._enforcer.vocabulary)
        turn.fill()
        end = clock()
        stages = {"parse": parsed - start, "check": checked - parsed, "start": end - checked}
        return turn, stages


class _EnforcerTurn:
    def __init__(self, matcher: Any, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._mask = np.zeros((1, vocabulary.words), dtype=np.int32)

    def fill(self) -> None:
        self._matcher.fill(self._mask)

    def accept(self, token_id: int) -> bool:
        return bool(self._matcher.accept(token_id))


class XGrammarRival:
    """xgrammar's own `kimi` structural tag over the same vocabulary."""

    name = "xgrammar"
    settings: ClassVar[dict[str, bool]] = {}

    def __init__(self, vocabulary: Vocabulary) -> None:
        import xgrammar

        self._xgrammar = xgrammar
        self._vocabulary = vocabulary
        # As vLLM has it, marker tokens are in the vocabulary by their names.
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        end = vocabulary.control("<|im_end|>")
        self._info = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=[end]
        )
        self._compiler = xgrammar.GrammarCompiler(self._info, **self.settings)

    def forget(self) -> None:
        """Drop what has been compiled and checked."""
        self._compiler.clear_cache()

    def begin(self, tools: Tools) -> tuple[Turn, dict[str, float]]:
        """Go from a request to its first mask."""
        from xgrammar.builtin_structural_tag import get_model_structural_tag

        start = clock()
        tag = get_model_structural_tag("kimi", tools=tools, reasoning="disabled")
        tagged = clock()
        compiled = self._compiler.compile_structural_tag(tag)
        turn = _XGrammarTurn(self._xgrammar.GrammarMatcher(compiled), self._vocabulary)
        turn.fill()
        end = clock()
        return turn, {"check": tagged - start, "start": end - tagged}


class DynamicXGrammarRival(XGrammarRival):
    """The same, its masks compiled as they are needed; from 0.2.9 on."""

    name = "xgrammar-dynamic"
    settings: ClassVar[dict[str, bool]] = {"enable_dynamic_compilation": True}


class _XGrammarTurn:
    def __init__(self, matcher: Any, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._mask = np.zeros((1, vocabulary.words), dtype=np.int32)

    def fill(self) -> None:
        self._matcher.fill_next_token_bitmask(self._mask)

    def accept(self, token_id: int) -> bool:
        return bool(self._matcher.accept_token(token_id))


RIVALS = {rival.name: rival for rival in (EnforcerRival, XGrammarRival, DynamicXGrammarRival)}


def turn_ids(vocabulary: Vocabulary, name: str, arguments: object) -> dict[str, Sequence[int]]:
    """Give the ids of a turn with one call, by segment; each begins with its marker."""
    control = vocabulary.control
    return {
        "text": vocabulary.encode("Let me look that up for you, it will only take a moment."),
        "open": [control("<|tool_calls_section_begin|>"), control("<|tool_call_begin|>")],
        "header": vocabulary.encode(f"functions.{name}:0"),
        "begin": [control("<|tool_call_argument_begin|>")],
        "arguments": vocabulary.encode(json.dumps(arguments, ensure_ascii=False)),
    }
