"""llguidance as an argument engine.

Owns: the only use of the package `llguidance`: its tokenizer table, its compiler, and the
limits that it is given. Must not know: schemas, envelopes, hosts, how a text is followed.
"""

from __future__ import annotations

import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import llguidance
import numpy as np
from llguidance.gbnf_to_lark import any_to_lark

from enforcer.engines import ArgumentEngine
from enforcer.engines.capacity import ALL_FORMATS, Capacity
from enforcer.engines.llguidance.grammar import PATIENCE, LLGuidanceGrammar, LLGuidanceMatcher
from enforcer.engines.llguidance.lark import (
    has_bounds,
    has_divisors,
    has_patterns,
    to_lark,
    write_usual,
)
from enforcer.engines.llguidance.lexer import Table
from enforcer.engines.llguidance.probes import probes, probes_of_pairs
from enforcer.engines.llguidance.terminals import expression
from enforcer.engines.llguidance.wandering import dead_end
from enforcer.errors import EngineFailure, InvalidSchema, SchemaLimit, brief
from enforcer.layouts import LayoutKind
from enforcer.machine.json_text import may_occur
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, repeat
from enforcer.request.response_format import FormatKind
from enforcer.schema.limits import BITS
from enforcer.spelling import RAW

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary


def _limits(
    step_lexer_fuel: int, step_max_items: int, max_items_in_row: int, max_lexer_states: int
) -> llguidance.LLParserLimits:
    """Give the bounds on a step, and those on the whole."""
    return llguidance.LLParserLimits(
        max_items_in_row=max_items_in_row,
        initial_lexer_fuel=5_000_000,
        step_lexer_fuel=step_lexer_fuel,
        step_max_items=step_max_items,
        # Some 500 bytes each, kept for later texts; over this, a new lexer begins without them.
        max_lexer_states=max_lexer_states,
        max_grammar_size=2_000_000,
        verbose_errors=False,
    )


# Some 25,000 of fuel are a millisecond, and 20,000 items, or 1,000 with conditions; see decision
# 0010.
_LIMITS = _limits(300_000, 30_000, 4_000, 30_000)
# Those of the check, either of which will do. A mask may take much fuel where there are few states
# to be found: they are found when the grammar is compiled. Where there are many, texts find new
# ones all along, so each has to take little.
_LESS = (_limits(48_000, 24_000, 2_000, 24_000), _limits(240_000, 24_000, 2_000, 12_000))

# What llguidance says where the first mask is already too much.
_OVER_A_LIMIT = re.compile(r"[Tt]oo many (?:items|states|expressions)|fuel")

# Four fifths, for the check of a format that is a client's own.
_LESS_OF_TEXT = _limits(240_000, 24_000, 3_200, 24_000)

# By itself llguidance permits a forced text in one split into tokens only, the
# tokenizer's; a model that splits it otherwise must not be blocked.
_ANY_SPLIT = '%llguidance {"no_forcing": true}\n'


# Characters of a grammar without patterns and divisors that is compiled without trying texts again:
# of such in MaskBench, none of fewer than 40,000 takes much for a mask that finds states.
_PLAIN = 30_000
# Seconds of processor time after which no further text is tried. Of MaskBench's 4,530 schemas
# one takes longer (4 s), and it must not be refused for that.
_TRYING = 0.6
# Behind the check a text may take several times as long: a machine that is slower then refuses
# nothing that has passed. Not endlessly, for what is isolated is compiled though it has not.
_COMPILED = 4 * PATIENCE


_Text: TypeAlias = "str | list[str | int]"

# Slices of the vocabulary, regular expressions: where all of one is known to be legal, none of its
# tokens is tried. Each makes compiling longer, so a grammar is given no more than its strings need.
# Any text, for most grammars have no other strings; what a greatest length leaves of it; and what
# patterns leave: text without the white space of other scripts (`.`), without any white space and
# what stands in markup and addresses, and letters and digits. With these a first mask of such a
# string takes 0.2 ms, without 1.6. The characters are those of a string's terminal as it is
# written, which llguidance thus reads once.
_ANY = r'[^"\\\x00-\x1F]'
_ENDLESS = [f"{_ANY}+"]
_BOUNDED = [f"{_ANY}{{1,10}}", f"{_ANY}{{1,30}}", *_ENDLESS]
_ODD_SPACES = (
    r"\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
_PATTERNED = [
    *_BOUNDED,
    rf'[^"\\\x00-\x1F\x7F{_ODD_SPACES}]{{1,30}}',
    rf'[^"\\\x00-\x20\x7F<>/:@{_ODD_SPACES}]{{1,30}}',
    "[A-Za-z0-9]{1,30}",
]


class _Tokenizer:
    """What `llguidance.TokenizerWrapper` asks of a tokenizer."""

    def __init__(
        self, vocabulary: Vocabulary, special_ids: frozenset[int], legal: frozenset[int]
    ) -> None:
        self._vocabulary = vocabulary
        self.tokens: Sequence[bytes] = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        self.special_token_ids = sorted(special_ids | legal)
        # Some id has to be named the end of the text; no mask that leaves here has it.
        self.eos_token_id = min(special_ids - legal, default=0)
        self.bos_token_id = None

    def __call__(self, text: str) -> list[int]:
        return self._vocabulary.encode(text)


def _table(
    vocabulary: Vocabulary,
    without: Iterable[int] = (),
    legal: frozenset[int] = frozenset(),
    slices: list[str] | None = None,
) -> Table:
    """Build a table.

    Args:
        vocabulary: the ids.
        without: ids of text that never occur.
        legal: control ids that do.
        slices: regular expressions; the tokens that match one are known to be legal at once
            where whatever matches it is. None for llguidance's own.

    """
    special_ids = vocabulary.control_ids.union(without) - legal
    wrapped = llguidance.TokenizerWrapper(_Tokenizer(vocabulary, special_ids, legal))
    return Table(
        llguidance.LLTokenizer(wrapped, n_vocab=vocabulary.size, slices=slices),
        special_ids,
        (vocabulary.text_row & ~vocabulary.row(special_ids)) | vocabulary.row(legal),
        vocabulary.size,
    )


class LLGuidanceEngine(ArgumentEngine):
    """Compiles argument grammars with llguidance for one vocabulary."""

    name = "llguidance"
    capacity = Capacity(
        bits=BITS,
        orders=None,
        rules=None,
        states=None,
        length=None,
        nests=True,
        formats=ALL_FORMATS,
    )

    def __init__(self, vocabulary: Vocabulary) -> None:
        never = [i for i in range(vocabulary.size) if not may_occur(vocabulary.token_bytes(i))]
        self._vocabulary = vocabulary
        self._endless = _table(vocabulary, without=never, slices=_ENDLESS)
        self._bounded = _table(vocabulary, without=never, slices=_BOUNDED)
        self._patterned = _table(vocabulary, without=never, slices=_PATTERNED)
        # For text that need not be JSON. Built now, since a server stands still for the half
        # second that it takes.
        self._any_text = _table(vocabulary)
        self._of_layouts: dict[tuple[frozenset[int], str], Table] = {}
        self._lock = threading.Lock()
        write_usual()

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Do what `write` and `read` do, with less for each step: what passes bears more later.

        Over the real vocabulary, for what is too much for the engine depends on it; and with more
        texts, whose states few others need.
        """
        written = self._write(grammar, layout, thorough=True)
        few, many = _LESS
        try:
            self._read(written, few, PATIENCE)
        except SchemaLimit:
            self._read(written, many, PATIENCE)

    def write(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> str:
        """Write a grammar in Lark's notation, and the texts to try it with; see `probes`.

        Args:
            grammar: a finished one.
            layout: how the text is laid out; its control ids become part of what is written.
                None for JSON with the usual white space.
            quick: without the texts; of JSON whose strings may have any length, that is Lark's
                notation and nothing around it.

        Raises:
            UnsupportedSchema: what llguidance cannot express, or the layout cannot write.

        """
        return self._write(grammar, layout, quick=quick)

    def _write(
        self,
        grammar: ArgumentGrammar,
        layout: BoundLayout | None,
        *,
        quick: bool = False,
        thorough: bool = False,
    ) -> str:
        try:
            text = _ANY_SPLIT + to_lark(grammar, layout)
            if layout is None or layout.layout.kind is LayoutKind.JSON:
                if quick:
                    return json.dumps([text, False]) if has_bounds(grammar) else text
                is_patterned = has_patterns(grammar)
                is_plain = not is_patterned and not has_divisors(grammar) and len(text) <= _PLAIN
                is_tried = thorough or not is_plain
                tried = probes(grammar, thorough=thorough) if is_tried else ()
                return json.dumps([text, is_patterned, *tried])
            # All that is avoided begins alike; Python's strings end at either quote.
            begins = "".join(layout.avoided)[:1] or "'"
            pairs = [] if quick else [*probes_of_pairs(grammar, layout, thorough=thorough)]
            ids = sorted(layout.ids)
            return json.dumps({"lark": text, "ids": ids, "begins": begins, "tried": pairs})
        except RecursionError as error:
            raise _too_large("$", "it is nested too deeply") from error

    def read(self, written: str) -> LLGuidanceGrammar:
        """Compile what `write` has given, and let it find the states that texts come to first.

        Raises:
            SchemaLimit: over one of llguidance's limits, at once or within a text.

        """
        return self._read(written, _LIMITS, _COMPILED)

    def _read(
        self, written: str, limits: llguidance.LLParserLimits, patience: int
    ) -> LLGuidanceGrammar:
        is_quick = written.startswith(_ANY_SPLIT)
        found: Any = written if is_quick else json.loads(written)
        if is_quick:
            lark, tried, table = written, [], self._endless
        elif isinstance(found, dict):
            table = self._table_of(frozenset(found["ids"]), found["begins"])
            lark, tried = found["lark"], found["tried"]
        else:
            lark, is_patterned, *tried = found
            table = self._patterned if is_patterned else self._bounded
        path = "$"
        try:
            compiled = _compiled(lark, table, limits)
            compiled.is_explored = not is_quick
            if not tried:
                return compiled
            matcher = compiled.matcher()
            begun = time.thread_time()
            for path, before, text in tried:  # noqa: B007 - used where it failed
                if time.thread_time() - begun > _TRYING:
                    break
                self._try(matcher, before, text, patience)
        except EngineFailure as error:
            raise _too_large(path, str(error)) from error
        return compiled

    def _table_of(self, ids: frozenset[int], begins: str) -> Table:
        """Give the table of texts with these control ids, and without some that begin alike.

        llguidance finds out that all of a slice is legal only where no token of it can begin what
        is not; without such slices a mask of a raw value takes 1.4 ms, with them 5 microseconds.
        """
        key = (ids, begins)
        with self._lock:
            if key not in self._of_layouts:
                slices = _slices(begins) if begins else None
                self._of_layouts[key] = _table(self._vocabulary, legal=ids, slices=slices)
            return self._of_layouts[key]

    def _try(self, matcher: LLGuidanceMatcher, before: _Text, text: _Text, patience: int) -> None:
        """Follow a text that may not be legal as far as it is, with a mask before each id.

        Args:
            matcher: where the text tried before has led; what both begin with is not repeated.
            before: what stands before it, which needs no masks of its own: names, mostly.
            text: it, or pieces of it with control ids between them.
            patience: ns that slow masks may take.

        """
        known = self._ids(before)
        ids = known + self._ids(text)
        row = np.empty_like(self._bounded.row)
        for at in range(matcher.begin_again(ids, patience), len(ids)):
            if at >= len(known):
                matcher.fill(row)
            if not matcher.accept(ids[at]):
                return
        matcher.fill(row)

    def _ids(self, text: _Text) -> list[int]:
        """Return the token ids of a text, up to a character that the vocabulary cannot write."""
        ids: list[int] = []
        for piece in [text] if isinstance(text, str) else text:
            if isinstance(piece, int):
                ids.append(piece)
            else:
                for char in piece:
                    if not self._vocabulary.can_write(char):
                        return ids
                    ids += self._vocabulary.encode(char)
        return ids

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text whose texts, some of them tried at random, lead nowhere.

        Raises:
            InvalidSchema: as `compile_text`; or nothing may follow what a text began with.
            SchemaLimit: a text was over one of llguidance's limits, or its masks took too long.

        """
        path = f"$.response_format.{wanted.kind.value}"
        compiled = self._compile_text(wanted, _LESS_OF_TEXT)
        try:
            text = dead_end(compiled, self._vocabulary)
        except EngineFailure as error:
            raise _too_large(path, str(error), wanted.kind.value) from error
        if text is not None:
            raise InvalidSchema.of(
                path,
                wanted.kind.value,
                f"a text that begins with {brief(text)} can be neither complete nor "
                "continued; correct the rule that leads there",
            )

    def compile_text(self, wanted: ResponseFormat) -> LLGuidanceGrammar:
        """Compile a regular expression, choices, or a grammar in Lark's or GBNF's notation.

        Raises:
            InvalidSchema: llguidance cannot read the source, or no text can begin to fit it.

        """
        return self._compile_text(wanted, _LIMITS)

    def _compile_text(
        self, wanted: ResponseFormat, limits: llguidance.LLParserLimits
    ) -> LLGuidanceGrammar:
        try:
            text = _text_grammar(wanted, self._vocabulary)
        except InvalidSchema:
            raise
        except Exception as error:  # whatever a parser that is not ours thinks of
            raise _unreadable(wanted, str(error)) from error
        try:
            compiled = _compiled(text, self._any_text, limits)
        except EngineFailure as error:
            if _OVER_A_LIMIT.search(str(error)):
                path = f"$.response_format.{wanted.kind.value}"
                raise _too_large(path, str(error), wanted.kind.value) from error
            raise _unreadable(wanted, str(error)) from error
        if compiled.fits_nothing:
            kind = wanted.kind.value
            is_complete = self._vocabulary.is_complete
            which = "no text" if is_complete else "no text that the model's tokenizer can write"
            reason = f"{which} fits it"
            raise InvalidSchema.of(f"$.response_format.{kind}", kind, reason)
        return compiled


def _compiled(lark: str, table: Table, limits: llguidance.LLParserLimits) -> LLGuidanceGrammar:
    def read() -> llguidance.LLMatcher:
        return llguidance.LLMatcher(table.tokenizer, lark, log_level=0, limits=limits)

    return LLGuidanceGrammar(read, len(lark), table)


def _slices(first: str) -> list[str]:
    """Give slices of tokens without the character that a stop begins with.

    And for keys, of those without characters that end or escape one, with a space before them or
    within, and without.
    """
    out = re.escape(first)
    inside = rf'[^"\\\x00-\x1F\x7F{out}]'
    of_keys = rf'[^"\\\x00-\x1F\x7F&>{out}{_ODD_SPACES}]{{1,30}}'
    solid = rf'[^"\\\x00-\x20\x7F&>{out}{_ODD_SPACES}]{{1,30}}'
    values = [f"{inside}{{1,10}}", f"{inside}+", f"(?s:[^{out}]{{1,10}})", f"(?s:[^{out}]+)"]
    return [*values, of_keys, solid, f" {solid}"]


def _too_large(path: str, reason: str, what: str = "schema") -> SchemaLimit:
    advice = ""
    if "too many states" in reason or "too many expressions" in reason:
        advice = (
            "; a text may go on in too many ways here: begin patterns with `^`, shorten what they"
            " repeat, or give alternatives less in common"
        )
    return SchemaLimit.of(path, "", f"the engine cannot hold this {what}: {reason:.300}{advice}")


def _text_grammar(wanted: ResponseFormat, vocabulary: Vocabulary) -> str:
    source = wanted.source
    if wanted.kind is FormatKind.REGEX:
        # The whole text has to match, so anchors at the ends say nothing more; llguidance
        # knows none.
        ends = source.endswith("$") and not source.endswith("\\$")
        source = source.removeprefix("^")
        wrapped = llguidance.LLMatcher.grammar_from_regex(source[:-1] if ends else source)
        lark = json.loads(wrapped)["grammars"][0]["lark_grammar"]
        if not vocabulary.is_complete:
            # A character that cannot be written may stand behind some that can.
            texts = repeat(chars(CharSet.of(vocabulary.writable)), 0, None)
            lark = f"start: TEXT\nTEXT: {lark.removeprefix('start: ')} & {expression(texts, RAW)}"
    elif wanted.kind is FormatKind.CHOICE:
        # One terminal, lest each choice be an item of the rows that it may go on in.
        every = [choice for choice in json.loads(source) if vocabulary.can_write(choice)]
        if not every:
            path, kind = f"$.response_format.{wanted.kind.value}", wanted.kind.value
            raise InvalidSchema.of(path, kind, "the model's tokenizer can write none of them")
        choices = " | ".join(json.dumps(choice) for choice in every if choice)
        start = "CHOICE?" if "" in every else "CHOICE"
        lark = f"start: {start}\nCHOICE: {choices}" if choices else 'start: ""'
    else:
        lark = any_to_lark(source)
        if "%llguidance" in lark:
            return str(lark)  # a grammar of the client's has options of its own
    return _ANY_SPLIT + str(lark)


def _unreadable(wanted: ResponseFormat, why: str) -> InvalidSchema:
    kind = wanted.kind.value
    reason = f"llguidance cannot read this {kind}: {(why.strip().splitlines() or [''])[0]:.300}"
    return InvalidSchema.of(f"$.response_format.{kind}", kind, reason)


def build(vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine for a vocabulary; reads all of its tokens once."""
    return LLGuidanceEngine(vocabulary)
