"""The engine `xgrammar`, an adapter of that package's compiler and matcher."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import xgrammar

from enforcer.engines import CompiledGrammar
from enforcer.engines._rules import RuleEngine
from enforcer.engines.mask_rows import is_member
from enforcer.errors import InvalidVocabulary

if TYPE_CHECKING:
    import numpy.typing as npt

    from enforcer.vocabulary import Vocabulary


class XGrammarEngine(RuleEngine):
    """Compiles argument grammars with xgrammar for one vocabulary."""

    name = "xgrammar"
    properties = 8
    is_inline = False

    def __init__(self, vocabulary: Vocabulary) -> None:
        controls = vocabulary.control_ids
        if not controls:
            raise InvalidVocabulary("xgrammar needs a control token, and the tokenizer has none")
        self.vocabulary = vocabulary
        # A token id without bytes matches nothing. Some token id has to be named the end of the
        # text; no mask row returned here has it.
        tokens = [
            b"" if i in controls else vocabulary.token_bytes(i) for i in range(vocabulary.size)
        ]
        self._compiler = xgrammar.GrammarCompiler(
            xgrammar.TokenizerInfo(
                tokens,
                xgrammar.VocabType.RAW,
                vocab_size=vocabulary.size,
                stop_token_ids=[min(controls)],
            ),
            max_threads=1,
            cache_enabled=False,
        )
        self._compiling = threading.Lock()

    def read(self, written: bytes) -> XGrammarGrammar:
        """Return the compiled grammar of bytes that `write` returned."""
        with self._compiling:
            compiled = self._compiler.compile_grammar(written.decode())
        return XGrammarGrammar(compiled, self.vocabulary)


class XGrammarGrammar(CompiledGrammar):
    """A compiled grammar."""

    def __init__(self, compiled: xgrammar.CompiledGrammar, vocabulary: Vocabulary) -> None:
        self._compiled = compiled
        self._vocabulary = vocabulary

    @property
    def weight(self) -> int:
        """Its size in bytes, as xgrammar counts them."""
        return int(self._compiled.memory_size_bytes)

    def matcher(self) -> XGrammarMatcher:
        """Return the matcher of a new text."""
        return XGrammarMatcher(xgrammar.GrammarMatcher(self._compiled), self._vocabulary)


class XGrammarMatcher:
    """The state of one argument text."""

    def __init__(self, matcher: xgrammar.GrammarMatcher, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._size = vocabulary.size
        self._text_row = vocabulary.text_row

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the bitmask of the token ids that may come next; all zero if none may."""
        self._matcher.fill_next_token_bitmask(row.reshape(1, -1))
        np.bitwise_and(row, self._text_row, out=row)

    def accept(self, token_id: int) -> bool:
        """Advance by one token id; return False, and change nothing, if it is illegal."""
        # xgrammar logs a warning about ids that stand for nothing.
        if not (0 <= token_id < self._size and is_member(self._text_row, token_id)):
            return False
        return bool(self._matcher.accept_token(token_id))

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted token ids."""
        if count:
            self._matcher.rollback(count)

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        return bool(self._matcher.is_completed())
