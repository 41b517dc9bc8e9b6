"""The protocol of argument engines, and their registry by name.

An engine compiles grammars of arguments and response formats for one vocabulary and masks their
texts. Each engine's package is imported only when it is chosen. Must not know: the turn around a
call, and of requests more than the response format.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from enforcer.errors import UnknownEngine, brief
from enforcer.extras import needed_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from enforcer.cache import ByteCounter
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

# The source of a compilation: a schema's grammar, or a response format that is no JSON Schema.
Wanted: TypeAlias = "ArgumentGrammar | ResponseFormat"
MACHINE = "machine"
_MODULES = {  # module and class by name
    MACHINE: ("enforcer.engines.machine", "MachineEngine"),
    "xgrammar": ("enforcer.engines.xgrammar", "XGrammarEngine"),
    "outlines-core": ("enforcer.engines.outlines_core", "OutlinesCoreEngine"),
}
ENGINES = (*_MODULES,)


class ArgumentMatcher(Protocol):
    """The state of one argument text. Of special tokens, only its layout's are legal in it.

    It may also have `weight` (bytes of this text alone) and `keep(count)` (forget what only a
    rollback of more than `count` token ids needs); the turn's matcher asks for both.
    """

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the bitmask of the token ids that may come next.

        Args:
            row: int32, shape `(ceil(vocabulary.size / 32),)`, contiguous; every word is
                overwritten. Bit `i % 32` of word `i // 32` is token id `i`.

        """

    def accept(self, token_id: int) -> bool:
        """Advance by one token id; return False, and change nothing, if it is illegal."""

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted token ids."""

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""


class Startable(Protocol):
    """A factory of matchers of one grammar; compared by identity, weakly referable."""

    def matcher(self) -> ArgumentMatcher:
        """Return the matcher of a new text; takes tens of microseconds."""


class CompiledGrammar(Startable, Protocol):
    """A grammar compiled for one vocabulary, shared across requests and threads.

    Several threads may start and advance matchers of one grammar at once, each matcher by one
    thread at a time.
    """

    @property
    def weight(self) -> int:
        """Its present size in bytes, roughly, without what its engine's `memory` counts."""


@runtime_checkable
class ArgumentEngine(Protocol):
    """Compiles argument grammars for one vocabulary.

    Attributes:
        name: the name by which `load` finds it.
        vocabulary: the vocabulary whose token ids it masks.

    """

    name: str
    vocabulary: Vocabulary

    @property
    def memory(self) -> ByteCounter | None:
        """The counter of bytes that matchers share; None if `CompiledGrammar.weight` has all."""
        return None

    def warm(self, layout: BoundLayout | None = None) -> None:  # noqa: ARG002 - most build nothing
        """Build lazily built tables ahead of the first grammar.

        Args:
            layout: the layout of arguments; None for JSON with the usual white space.

        """
        return

    def check(self, wanted: Wanted, layout: BoundLayout | None = None) -> None:
        """Raise what `compile` would raise; may take as long.

        Raises:
            InvalidSchema: also if a sampled text of a client's grammar comes to a dead end.

        """
        self.write(wanted, layout)

    def write(self, wanted: Wanted, layout: BoundLayout | None = None) -> bytes:
        """Return a grammar as bytes that `read` compiles, in any process.

        This part of compiling holds the interpreter's lock; `read` does not. The bytes depend on
        the token ids that the layout is bound to, and for a regular expression or a choice on the
        characters that the vocabulary can write.

        Args:
            wanted: a lowered grammar, a regular expression or a choice.
            layout: the layout of a grammar's text; None for JSON with the usual white space.

        Raises:
            InvalidSchema: the source is malformed.
            UnsupportedSchema: this engine cannot enforce it exactly, or the layout cannot write it.
            ConfigurationError: this engine supports no layouts but JSON.

        """

    def read(self, written: bytes) -> CompiledGrammar:
        """Return the compiled grammar of bytes that `write` returned.

        Raises:
            UnsupportedSchema: this engine cannot enforce it exactly for this vocabulary.

        """

    def compile(self, wanted: Wanted, layout: BoundLayout | None = None) -> CompiledGrammar:
        """Return the compiled grammar of a source; also of a client's own grammar.

        Raises:
            InvalidSchema, UnsupportedSchema, ConfigurationError: as `write` and `read` do.

        """
        return self.read(self.write(wanted, layout))


def load(name: str, vocabulary: Vocabulary) -> ArgumentEngine:
    """Return a new engine for a vocabulary, by name.

    Raises:
        UnknownEngine: no engine has the name.
        MissingPackage: its package is not installed.

    """
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine {brief(name)}; choose one of {', '.join(ENGINES)}")
    module, kind = _MODULES[name]
    with needed_for(f"engine {name!r}"):
        build: Callable[[Vocabulary], ArgumentEngine] = getattr(import_module(module), kind)
    return build(vocabulary)
