"""llguidance as an argument engine.

Owns: the only use of the package `llguidance`: its tokenizer table, its matcher, and
turning its error states into exceptions. Must not know: schemas, envelopes, hosts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

import llguidance
import numpy as np
from llguidance.gbnf_to_lark import GbnfToLarkError, any_to_lark

from enforcer.engines._json_text import may_occur
from enforcer.errors import EnforcerError, InvalidSchema, Problem, SchemaLimit
from enforcer.response_format import Kind
from enforcer.schema.lark import to_lark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from enforcer.engines import ArgumentEngine
    from enforcer.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_T = TypeVar("_T")

_LIMITS = llguidance.LLParserLimits(
    max_items_in_row=40_000,
    initial_lexer_fuel=20_000_000,
    step_lexer_fuel=4_000_000,
    step_max_items=500_000,
    # Some 400 bytes each, kept for later texts; over this, a new lexer begins without them. Of
    # 145 schemas of MaskBench, its 25 largest among them, none needs 20,000.
    max_lexer_states=100_000,
    max_grammar_size=2_000_000,
    verbose_errors=False,
)

# By itself llguidance permits a forced text in one split into tokens only, the
# tokenizer's; a model that splits it otherwise must not be blocked.
_ANY_SPLIT = '%llguidance {"no_forcing": true}\n'


_READ, _READ_EACH = 100_000, 40  # bytes that a grammar holds, and for each character of it


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
        _checked(_read(self._bytes, _written(grammar)))

    def compile(self, grammar: ArgumentGrammar) -> LLGuidanceGrammar:
        """Compile a grammar.

        Raises:
            UnsupportedSchema: what llguidance cannot express.
            SchemaLimit: over one of llguidance's own limits.

        """
        text = _written(grammar)
        return LLGuidanceGrammar(_checked(_read(self._json.tokenizer, text)), text, self._json)

    def compile_text(self, wanted: ResponseFormat) -> LLGuidanceGrammar:
        """Compile a regular expression, choices, or a grammar in Lark's or GBNF's notation.

        Raises:
            InvalidSchema: llguidance cannot read the source.

        """
        try:
            text = _text_grammar(wanted)
        except (ValueError, IndexError, RecursionError, GbnfToLarkError) as error:
            raise _unreadable(wanted, str(error)) from error
        matcher = _read(self._any_text.tokenizer, text)
        if matcher.is_error():
            raise _unreadable(wanted, matcher.get_error())
        return LLGuidanceGrammar(matcher, text, self._any_text)


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


def _written(grammar: ArgumentGrammar) -> str:
    return _ANY_SPLIT + to_lark(grammar)


def _read(tokenizer: llguidance.LLTokenizer, text: str) -> llguidance.LLMatcher:
    return llguidance.LLMatcher(tokenizer, text, log_level=0, limits=_LIMITS)


def _checked(matcher: llguidance.LLMatcher) -> llguidance.LLMatcher:
    if matcher.is_error():
        reason = matcher.get_error().strip().splitlines()[0][:300]
        raise SchemaLimit((Problem("$", "", f"the engine cannot hold this schema: {reason}"),))
    return matcher


class LLGuidanceGrammar:
    """A compiled grammar: a matcher that is never advanced, only copied.

    All copies of one matcher share a lexer, which finds out its states as texts reach them and
    keeps them. When it comes to a limit it is lost, for all copies: each goes on with another,
    so that only the text that no lexer can bear ends there.
    """

    def __init__(self, start: llguidance.LLMatcher, text: str, table: _Table) -> None:
        self._start: llguidance.LLMatcher | None = start
        self._text = text
        self.table = table

    @property
    def weight(self) -> int:
        """Bytes: what reading the text has built, some tens for each of its characters."""
        return _READ + _READ_EACH * len(self._text)

    def matcher(self) -> LLGuidanceMatcher:
        """Start a new text."""
        return LLGuidanceMatcher(self)

    def start(self) -> llguidance.LLMatcher:
        """Return the matcher that new texts begin as copies of."""
        start = self._start
        if start is None:
            start = self._start = self.new_start()
        return start

    def new_start(self) -> llguidance.LLMatcher:
        """Return one with a lexer of its own."""
        return _read(self.table.tokenizer, self._text)

    def lose(self, start: llguidance.LLMatcher) -> bool:
        """Give up a start whose lexer is lost; tell whether there is none now."""
        if self._start is start:
            self._start = None
        return self._start is None

    def share(self, start: llguidance.LLMatcher) -> None:
        """Take a start whose lexer has shown to be sound, unless there is one."""
        if self._start is None:
            self._start = start


class LLGuidanceMatcher:
    """The state of one argument text."""

    def __init__(self, grammar: LLGuidanceGrammar) -> None:
        self._grammar = grammar
        self._start = grammar.start()
        self._matcher = self._start.deep_copy()
        self._ids: list[int] = []
        self._is_alone = False  # nobody shares the lexer, so no other text can have lost it
        self._row = grammar.table.row
        self._special_ids = grammar.table.special_ids
        self._size = grammar.table.size

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next; all zero if nothing may.

        Raises:
            EngineFailure: the engine gives up on this text.

        """
        self._fill(row)
        if self._matcher.is_error():
            self._again(lambda _: self._fill(row))

    def _fill(self, row: npt.NDArray[np.int32]) -> None:
        if self._matcher.is_stopped():
            row[:] = 0
            return
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        # The end of the text is the envelope's business, never a bit in here.
        np.bitwise_and(row, self._row, out=row)

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then.

        Raises:
            EngineFailure: the engine gives up on this text; the state is unchanged too.

        """
        if not 0 <= token_id < self._size or token_id in self._special_ids:
            return False
        # A token that is refused while being consumed would leave an error behind.
        taken = self._matcher.try_consume_tokens([token_id])
        if self._matcher.is_error():
            taken = self._again(lambda matcher: matcher.try_consume_tokens([token_id]))
        if taken != 1:
            return False
        self._ids.append(token_id)
        return True

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        if not count:
            return
        del self._ids[-count:]
        if not self._matcher.is_error():
            self._matcher.rollback(count)
        if self._matcher.is_error():
            self._is_alone = False  # the ids taken back may have been what was too much
            self._again(lambda _: None)

    def is_accepting(self) -> bool:
        """Tell whether the text so far is complete."""
        accepting = self._matcher.is_accepting()
        if self._matcher.is_error():
            accepting = self._again(llguidance.LLMatcher.is_accepting)
        return bool(accepting)

    def _again(self, what: Callable[[llguidance.LLMatcher], _T]) -> _T:
        """Do what the engine gave up on with another lexer; raises if that gives up too."""
        while True:
            if self._is_alone:
                raise EngineFailure(
                    f"llguidance gave up within the arguments: {self._matcher.get_error():.300}"
                )
            self._is_alone = self._grammar.lose(self._start)
            self._start = self._grammar.new_start() if self._is_alone else self._grammar.start()
            self._matcher = self._start.deep_copy()
            # One at a time, for an engine's limits are for a step.
            if any(self._matcher.try_consume_tokens([each]) != 1 for each in self._ids):
                continue  # where it stands is unknown, so nothing may be asked of it
            done = what(self._matcher)
            if not self._matcher.is_error():
                self._grammar.share(self._start)
                self._is_alone = False
                return done


def build(vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine for a vocabulary; reads all of its tokens once."""
    return LLGuidanceEngine(vocabulary)
