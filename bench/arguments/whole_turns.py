"""Whole turns of one tool-call format, with drawn arguments, timed beside xgrammar.

A turn is one call of the one tool that its request declares, with `tool_choice` `auto`, as the
format's chat template writes it. xgrammar's grammar is the structural tag that vLLM builds for
`strict` tools. A tool's first turn is walked and not counted: its tables and rows are made there.
The accept that begins arguments includes looking up their grammar, which vLLM's engine does on
another thread.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import xgrammar
from transformers import PreTrainedTokenizerFast

from bench.arguments import drawn
from bench.arguments.walks import Walk, clock_cost, follow
from bench.formats import vocabularies, writers
from bench.formats.catalogue import FORMATS
from bench.formats.writers import Call, Style, Turn
from enforcer import Enforcer, Vocabulary
from enforcer.errors import EnforcerError
from enforcer.turn import dialects
from enforcer.turn.dialect import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.formats.catalogue import Format

    Begin = Callable[[], Walk]

OURS, PEER = "ours", "xgrammar"
REFUSED = (EnforcerError, RuntimeError, ValueError)
TURNS = 5  # of a tool; all but the first are counted
_CACHE = Path(__file__).resolve().parents[2] / ".cache"
# xgrammar's tag has no newlines between a call's parts, as GLM 4.7 writes them.
_STYLES = {"glm45": Style(tight=True)}


class Ours:
    """The library's matcher, from where the prompt opens the turn.

    It is started as a server starts it: `Enforcer.matcher` returns one that explains itself too.
    """

    def __init__(self, row: Format, vocabulary: Vocabulary) -> None:
        self._enforcer = Enforcer(vocabulary, row.name)
        self._enforcer.warm()
        self._prompt = vocabulary.encode(row.opening, markers=True)
        self._states = dialects.load(row.name).states
        self._bitmask = np.zeros((1, vocabulary.words), np.int32)

    def compile(self, tool: dict[str, Any]) -> Begin:
        """Return a function that begins a turn; raises `EnforcerError`."""
        spec = self._enforcer.read_request([tool])  # checked once, as a server does

        def begin() -> Walk:
            matcher = self._enforcer.start(spec, self._prompt)
            return Walk(lambda: matcher.fill(self._bitmask), matcher.accept)

        return begin

    def inside(self, tool: dict[str, Any], ids: Sequence[int]) -> list[bool]:
        """Return whether each token begins inside arguments; shorter if a token is refused."""
        matcher = self._enforcer.start(self._enforcer.read_request([tool]), self._prompt)
        found = []
        for token_id in ids:
            segment = self._states[matcher.state].segment
            if not matcher.accept(token_id):
                break
            found.append(segment is Segment.ARGUMENTS)
        return found


class XGrammar:
    """xgrammar's matcher of the structural tag that vLLM builds."""

    def __init__(self, row: Format, vocabulary: Vocabulary) -> None:
        model = structural_tag_model(row)
        if model is None:
            raise ValueError(f"{row.name} has no structural tag")
        self._model = model
        tokens = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        ends = [vocabulary.control(name) for name in (row.end, *row.ends)]
        info = xgrammar.TokenizerInfo(
            tokens, xgrammar.VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=ends
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self._bitmask = xgrammar.allocate_token_bitmask(1, vocabulary.size)

    def compile(self, tool: dict[str, Any]) -> Begin:
        """Return a function that begins a turn; raises RuntimeError or ValueError."""
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
        from vllm.tool_parsers.structural_tag_registry import get_model_structural_tag
        from vllm.tool_parsers.tool_strict_level import ToolStrictLevel

        declared = [ChatCompletionToolsParam.model_validate(tool)]
        tag = get_model_structural_tag(
            self._model, declared, "auto", reasoning=False, strict_level=ToolStrictLevel.PARAMETER
        )
        compiled = self._compiler.compile_structural_tag(json.dumps(tag.model_dump()))

        def begin() -> Walk:
            matcher = xgrammar.GrammarMatcher(compiled)
            return Walk(
                lambda: matcher.fill_next_token_bitmask(self._bitmask), matcher.accept_token
            )

        return begin


def structural_tag_model(row: Format) -> str | None:
    """Return the name by which vLLM builds a format's structural tags; None if it has none."""
    from vllm.tool_parsers import ToolParserManager

    found: str | None = ToolParserManager.get_tool_parser(row.parser).structural_tag_model
    return found


@dataclass(slots=True)
class Times:
    """Microseconds by token of the counted turns of one engine, inside arguments and around."""

    masks: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    accepts: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})

    def add(self, inside: Sequence[bool], masks: Sequence[float], accepts: Sequence[float]) -> None:
        """Append the times of one turn."""
        for at, place in enumerate(inside):
            self.masks[place].append(masks[at])
            self.accepts[place].append(accepts[at])


@dataclass(slots=True)
class Measured:
    """One format's times by engine, and what was counted and left out.

    Attributes:
        refused: turns that an engine refused, by engine, and tools that one did not compile.

    """

    name: str
    times: dict[str, Times]
    tools: int = 0
    turns: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def vocabulary_of(row: Format) -> Vocabulary:
    """Build the vocabulary of a format's models; raises FileNotFoundError if it is not there."""
    tokens = vocabularies.build(row.vocabulary, _CACHE)
    return Vocabulary.from_transformers(PreTrainedTokenizerFast(tokenizer_object=tokens))


def turns(name: str, tool: dict[str, Any], random: Random) -> Iterator[str]:
    """Yield a tool's turns, the values of each drawn anew."""
    function = tool["function"]
    for value in drawn.texts(function["parameters"], tool["valid_arguments"][0], random, TURNS):
        call = Call(function["name"], drawn.in_order(value, function["parameters"]))
        yield writers.write(name, Turn(calls=(call,)), _STYLES.get(name))


def measure(name: str, tools: Sequence[dict[str, Any]], seed: int) -> Measured:
    """Return the times of a format's turns; those that an engine refuses are left out of both."""
    row = FORMATS[name]
    vocabulary = vocabulary_of(row)
    ours = Ours(row, vocabulary)
    engines: dict[str, Ours | XGrammar] = {OURS: ours}
    if structural_tag_model(row) is not None:
        engines[PEER] = XGrammar(row, vocabulary)
    found = Measured(name, {engine: Times() for engine in engines})
    clock = clock_cost()
    for at, tool in enumerate(tools):
        declared = {"type": "function", "function": tool["function"]}
        begins: dict[str, Begin] = {}
        try:
            for engine, compiles in engines.items():
                begins[engine] = compiles.compile(declared)
        except REFUSED:
            found.refused[f"tools by {engine}"] += 1
            continue
        counted = 0
        for number, text in enumerate(turns(name, tool, Random(f"{seed} {at}"))):
            ids = vocabulary.encode(text, markers=True)
            taken = {engine: follow(begin(), ids, clock) for engine, begin in begins.items()}
            refusing = [engine for engine, times in taken.items() if times is None]
            found.refused.update(f"turns by {engine}" for engine in refusing)
            if refusing or number == 0:
                continue
            counted += 1
            inside = ours.inside(declared, ids)
            for engine, times in taken.items():
                if times is not None:
                    found.times[engine].add(inside, *times)
        found.tools += counted > 0
        found.turns += counted
        if at % 20 == 0:
            gc.collect()
    return found
