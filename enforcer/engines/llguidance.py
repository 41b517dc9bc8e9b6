"""llguidance as an argument engine.

Owns: the only use of the package `llguidance`: its tokenizer table, its matcher, and
turning its error states into exceptions. Must not know: schemas, envelopes, hosts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import llguidance
import numpy as np
from llguidance.gbnf_to_lark import GbnfToLarkError, any_to_lark

from enforcer.engines._json_text import may_occur
from enforcer.errors import EnforcerError, InvalidSchema, Problem, SchemaLimit
from enforcer.response_format import Kind
from enforcer.schema.lark import to_lark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from enforcer.engines import ArgumentEngine
    from enforcer.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_LIMITS = llguidance.LLParserLimits(
    max_items_in_row=20_000,
    initial_lexer_fuel=20_000_000,
    step_lexer_fuel=2_000_000,
    step_max_items=500_000,
    max_lexer_states=1_000_000,
    max_grammar_size=2_000_000,
    verbose_errors=False,
)

# By itself llguidance permits a forced text in one split into tokens only, the
# tokenizer's; a model that splits it otherwise must not be blocked.
_ANY_SPLIT = '%llguidance {"no_forcing": true}\n'


class EngineFailure(EnforcerError):  # noqa: N818 - named for what happened, as its siblings
    """The engine gave up in the middle of a text; the text must not go on."""


class _Tokenizer:
    """What `llguidance.TokenizerWrapper` asks of a tokenizer."""

    def __init__(self, vocabulary: Vocabulary, special_ids: frozenset[int]) -> None:
        self._vocabulary = vocabulary
        self.tokens: Sequence[bytes] = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        self.special_token_ids = sorted(special_ids)
        # Some id has to be named the end of the text; no mask that leaves here has it.
        self.eos_token_id = min(vocabulary.control_ids, default=0)
        self.bos_token_id = None

    def __call__(self, text: str) -> list[int]:
        return self._vocabulary.encode(text)


class _Table:
    """A vocabulary as llguidance holds it, less the ids that are never legal.

    Attributes:
        tokenizer: the engine's own table.
        special_ids: the ids that are never legal; the engine has them as special tokens.
        row: mask of the others, int32.
        size: ids in the vocabulary.

    """

    def __init__(self, vocabulary: Vocabulary, without: Iterable[int] = ()) -> None:
        self.special_ids = vocabulary.control_ids.union(without)
        self.row = vocabulary.text_row & ~vocabulary.row(self.special_ids)
        self.size = vocabulary.size
        wrapped = llguidance.TokenizerWrapper(_Tokenizer(vocabulary, self.special_ids))
        self.tokenizer = llguidance.LLTokenizer(wrapped, n_vocab=self.size)


class LLGuidanceEngine:
    """Compiles argument grammars with llguidance for one vocabulary."""

    name = "llguidance"
    holds_plain = True

    def __init__(self, vocabulary: Vocabulary) -> None:
        never = (i for i in range(vocabulary.size) if not may_occur(vocabulary.token_bytes(i)))
        self._json = _Table(vocabulary, without=never)
        # For text that need not be JSON. Built now, since a server stands still for the half
        # second that it takes.
        self._any_text = _Table(vocabulary)
        self._bytes = llguidance.LLTokenizer("byte")

    def check(self, grammar: ArgumentGrammar) -> None:
        """Compile for single bytes only; raises what `compile` would."""
        _compiled(self._bytes, grammar)

    def compile(self, grammar: ArgumentGrammar) -> LLGuidanceGrammar:
        """Compile a grammar.

        Raises:
            UnsupportedSchema: what llguidance cannot express.
            SchemaLimit: over one of llguidance's own limits.

        """
        return LLGuidanceGrammar(_compiled(self._json.tokenizer, grammar), self._json)

    def compile_text(self, wanted: ResponseFormat) -> LLGuidanceGrammar:
        """Compile a regular expression, choices, or a grammar in Lark's or GBNF's notation.

        Raises:
            InvalidSchema: llguidance cannot read the source.

        """
        try:
            text = _text_grammar(wanted)
        except (ValueError, IndexError, RecursionError, GbnfToLarkError) as error:
            raise _unreadable(wanted, str(error)) from error
        matcher = llguidance.LLMatcher(self._any_text.tokenizer, text, log_level=0, limits=_LIMITS)
        if matcher.is_error():
            raise _unreadable(wanted, matcher.get_error())
        return LLGuidanceGrammar(matcher, self._any_text)


def _text_grammar(wanted: ResponseFormat) -> str:
    source = wanted.source
    if wanted.kind is Kind.REGEX:
        # The whole text has to match, so anchors at the ends say nothing more; llguidance
        # knows none.
        ends = source.endswith("$") and not source.endswith("\\$")
        source = source.removeprefix("^")
        wrapped = llguidance.LLMatcher.grammar_from_regex(source[:-1] if ends else source)
        lark = json.loads(wrapped)["grammars"][0]["lark_grammar"]
    elif wanted.kind is Kind.CHOICE:
        lark = "start: " + " | ".join(json.dumps(choice) for choice in json.loads(source))
    else:
        lark = any_to_lark(source)
        if "%llguidance" in lark:
            return str(lark)  # a grammar of the client's has options of its own
    return _ANY_SPLIT + str(lark)


def _unreadable(wanted: ResponseFormat, why: str) -> InvalidSchema:
    kind = wanted.kind.value
    reason = f"llguidance cannot read this {kind}: {why.strip().splitlines()[0]:.300}"
    return InvalidSchema((Problem(f"$.response_format.{kind}", kind, reason),))


def _compiled(tokenizer: llguidance.LLTokenizer, grammar: ArgumentGrammar) -> llguidance.LLMatcher:
    text = _ANY_SPLIT + to_lark(grammar)
    matcher = llguidance.LLMatcher(tokenizer, text, log_level=0, limits=_LIMITS)
    if matcher.is_error():
        reason = matcher.get_error().strip().splitlines()[0][:300]
        raise SchemaLimit((Problem("$", "", f"the engine cannot hold this schema: {reason}"),))
    return matcher


class LLGuidanceGrammar:
    """A compiled grammar: a matcher that is never advanced, only copied."""

    def __init__(self, matcher: llguidance.LLMatcher, table: _Table) -> None:
        self._matcher = matcher
        self._table = table

    def matcher(self) -> LLGuidanceMatcher:
        """Start a new text."""
        return LLGuidanceMatcher(self._matcher.deep_copy(), self._table)


class LLGuidanceMatcher:
    """The state of one argument text."""

    def __init__(self, matcher: llguidance.LLMatcher, table: _Table) -> None:
        self._matcher = matcher
        self._row = table.row
        self._special_ids = table.special_ids
        self._size = table.size

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; all zero if nothing may."""
        if self._matcher.is_stopped():
            self._raise_error()
            row[:] = 0
            return
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        self._raise_error()
        # The end of the text is the envelope's business, never a bit in here.
        np.bitwise_and(row, self._row, out=row)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        if not 0 <= token_id < self._size or token_id in self._special_ids:
            return False
        # A token that is refused while being consumed would leave an error behind.
        taken = self._matcher.try_consume_tokens([token_id])
        self._raise_error()
        return bool(taken == 1)

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        if count:
            self._matcher.rollback(count)
            self._raise_error()

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        accepting = self._matcher.is_accepting()
        self._raise_error()
        return bool(accepting)

    def _raise_error(self) -> None:
        if self._matcher.is_error():
            raise EngineFailure(
                f"llguidance gave up within the arguments: {self._matcher.get_error():.300}"
            )


def build(vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine for a vocabulary; reads all of its tokens once."""
    return LLGuidanceEngine(vocabulary)
