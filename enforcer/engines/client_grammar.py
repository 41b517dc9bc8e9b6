"""Compiler of a client's own grammars, in Lark's or GBNF's notation, an adapter of llguidance.

The extra `grammar` installs it. Each text has its own parser and its own limits, so one that
reaches a limit does not affect others. Must not know: schemas, layouts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from enforcer.engines.mask_rows import members
from enforcer.errors import EngineFailure, InvalidSchema, SchemaLimit, UnsupportedSchema, brief
from enforcer.extras import message

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.vocabulary import Vocabulary

_PATH = "$.response_format.grammar"
_KIND = "grammar"
# By default llguidance permits a forced text in one tokenization only.
_ANY_SPLIT = '%llguidance {"no_forcing": true}\n'
_OVER_A_LIMIT = re.compile(r"[Tt]oo many (?:items|states|expressions)|fuel")
_NOTHING_FITS = "NoExtension"  # llguidance's name of a dead end
_TEXTS = 8  # sampled to find dead ends
_IDS = 48  # token ids of each text
_SECONDS = 0.5  # of processor time, for all texts
# Limits of a step: 25,000 of fuel are a millisecond, and so are 20,000 items. The check has less.
_LIMITS = {"step_lexer_fuel": 300_000, "step_max_items": 30_000, "max_items_in_row": 4_000}
_LESS = {"step_lexer_fuel": 240_000, "step_max_items": 24_000, "max_items_in_row": 3_200}


class ClientGrammars:
    """The compiler of clients' grammars for one vocabulary.

    Raises:
        UnsupportedSchema: llguidance is not installed.

    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        try:
            import llguidance
        except ModuleNotFoundError as error:
            reason = f"a grammar {message(error)}"
            raise UnsupportedSchema.of(_PATH, _KIND, reason) from error
        self.vocabulary = vocabulary
        wrapped = llguidance.TokenizerWrapper(_Tokenizer(vocabulary))
        self.tokenizer = llguidance.LLTokenizer(wrapped, n_vocab=vocabulary.size)

    def compile(self, source: str, limits: Mapping[str, int] = _LIMITS) -> ClientGrammar:
        """Return a compiled grammar, with limits on each step of its texts.

        Raises:
            InvalidSchema: it cannot be read, or no text fits it.
            SchemaLimit: its first step is over llguidance's limits.

        """
        from llguidance.gbnf_to_lark import any_to_lark

        try:
            lark = str(any_to_lark(source))
        except Exception as error:  # noqa: BLE001 - whatever a parser that is not ours raises
            _unreadable(str(error), error)
        if "%llguidance" not in lark:  # a grammar may have options of its own
            lark = _ANY_SPLIT + lark
        return ClientGrammar(self, lark, limits)

    def check(self, source: str) -> None:
        """Sample some texts of a grammar, and refuse it if one reaches a dead end.

        Raises:
            InvalidSchema: as `compile` does; or a text reached a dead end.
            SchemaLimit: a text reached one of llguidance's limits.

        """
        grammar = self.compile(source, _LESS)
        until = time.thread_time() + _SECONDS
        for seed in range(_TEXTS):
            ids: list[int] = []
            try:
                is_stuck = self._is_stuck(grammar, Random(seed), ids, until)  # noqa: S311
            except EngineFailure as error:
                is_stuck = _NOTHING_FITS in str(error)
                if not is_stuck:
                    reason = f"the engine cannot hold this grammar: {error}"
                    raise SchemaLimit.of(_PATH, _KIND, reason) from error
            if is_stuck:
                text = b"".join(map(self.vocabulary.token_bytes, ids)).decode(errors="replace")
                reason = (
                    f"a text that begins with {brief(text)} can be neither complete nor continued; "
                    "correct the rule that leads there"
                )
                raise InvalidSchema.of(_PATH, _KIND, reason)

    def _is_stuck(
        self, grammar: ClientGrammar, random: Random, ids: list[int], until: float
    ) -> bool:
        """Sample a text, appending its token ids to `ids`; return whether it reached a dead end."""
        text = grammar.matcher()
        row = np.zeros(self.vocabulary.words, np.int32)
        while len(ids) < _IDS and time.thread_time() < until:
            text.fill(row)
            legal = members(row)
            if not len(legal):
                return not text.is_accepting()
            ids.append(int(legal[random.randrange(len(legal))]))
            text.accept(ids[-1])
        return False


class _Tokenizer:
    """The interface of a tokenizer that `llguidance.TokenizerWrapper` takes."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.tokens: Sequence[bytes] = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        self.special_token_ids = sorted(vocabulary.control_ids)
        self.eos_token_id = min(vocabulary.control_ids, default=0)

    def __call__(self, text: str) -> list[int]:
        return self._vocabulary.encode(text)


class ClientGrammar:
    """A compiled grammar; see `enforcer.engines.CompiledGrammar`."""

    def __init__(self, shared: ClientGrammars, lark: str, limits: Mapping[str, int]) -> None:
        self.vocabulary = shared.vocabulary
        self._tokenizer = shared.tokenizer
        self._lark = lark
        self._limits = limits
        try:
            text = self.matcher()
            row = np.zeros(self.vocabulary.words, np.int32)
            text.fill(row)
            fits = row.any() or text.is_accepting()
        except EngineFailure as error:
            if _OVER_A_LIMIT.search(str(error)):
                reason = f"the engine cannot hold this grammar: {error}"
                raise SchemaLimit.of(_PATH, _KIND, reason) from error
            if _NOTHING_FITS not in str(error):
                _unreadable(str(error), error)
            fits = False
        if not fits:
            is_complete = self.vocabulary.is_complete
            which = "no text" if is_complete else "no text that the model's tokenizer can write"
            raise InvalidSchema.of(_PATH, _KIND, f"{which} fits it")

    @property
    def weight(self) -> int:
        """Its size in bytes, without its texts."""
        return 2_000 + len(self._lark)

    def matcher(self) -> ClientText:
        """Return the matcher of a new text; compiles the grammar."""
        import llguidance

        def start() -> Any:
            limits = llguidance.LLParserLimits(verbose_errors=False, **self._limits)
            return llguidance.LLMatcher(self._tokenizer, self._lark, log_level=0, limits=limits)

        return ClientText(_tried(start), self.vocabulary)


class ClientText:
    """The state of one text; see `enforcer.engines.ArgumentMatcher`."""

    def __init__(self, matcher: Any, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._raise_if_lost()

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the bitmask of the token ids that may come next; all zero if none may."""
        row[:] = 0
        if _tried(self._matcher.is_stopped):
            self._raise_if_lost()
            return
        _tried(lambda: self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes))
        self._raise_if_lost()
        np.bitwise_and(row, self._vocabulary.text_row, out=row)

    def accept(self, token_id: int) -> bool:
        """Advance by one token id; return False, and change nothing, if it is illegal."""
        known = self._vocabulary
        if not 0 <= token_id < known.size or token_id in known.control_ids:
            return False
        # A token that is refused while being consumed would leave an error behind.
        taken = bool(_tried(lambda: self._matcher.try_consume_tokens([token_id])))
        self._raise_if_lost()
        return taken

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted token ids."""
        _tried(lambda: self._matcher.rollback(count))
        if not _tried(self._matcher.is_stopped):
            # llguidance keeps the bitmask from before the rollback until it computes another.
            _tried(self._matcher.compute_bitmask)
        self._raise_if_lost()

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        return bool(_tried(self._matcher.is_accepting))

    def _raise_if_lost(self) -> None:
        if self._matcher.is_error():
            raise EngineFailure(f"llguidance gave up: {self._matcher.get_error():.300}")


def _tried(what: Callable[[], Any]) -> Any:
    """Return a function's result; raise EngineFailure if it raises or, in Rust, panics."""
    try:
        return what()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise EngineFailure(f"llguidance failed: {brief(str(error))}") from error


def _unreadable(why: str, error: Exception) -> NoReturn:
    first = (why.strip().splitlines() or [""])[0]
    reason = f"llguidance cannot read this grammar: {first:.300}"
    raise InvalidSchema.of(_PATH, _KIND, reason) from error
