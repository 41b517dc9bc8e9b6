"""The seam between the envelope and the grammars inside a call.

Owns: the protocol that every argument engine implements, and the choice of one by name. Must not
know: any engine's package (each is imported only when chosen), the envelope, and of requests no
more than the format of their text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from enforcer.errors import UnknownEngine, brief
from enforcer.extras import needed_for

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from enforcer.cache import ByteCounter
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

# What is compiled: a schema's grammar, or a format of text that is no JSON Schema.
Wanted: TypeAlias = "ArgumentGrammar | ResponseFormat"
MACHINE = "machine"
_MODULES = {  # and the class of each
    MACHINE: ("enforcer.engines.machine", "MachineEngine"),
    "xgrammar": ("enforcer.engines.xgrammar", "XGrammarEngine"),
    "outlines-core": ("enforcer.engines.outlines_core", "OutlinesCoreEngine"),
}
ENGINES = (*_MODULES,)
# Names of earlier releases, accepted in settings and specs until the next one.
FORMER = {"llguidance": MACHINE}


class ArgumentMatcher(Protocol):
    """The state of one argument text. No control ids are legal in it but its layout's."""

    def fill(self, row: npt.NDArray[np.int32]) -> None:
        """Write the mask of the ids that may come next.

        Args:
            row: int32, shape `(ceil(vocabulary.size / 32),)`, contiguous; every word is
                overwritten. Bit `i % 32` of word `i // 32` is id `i`.

        """
        ...

    def accept(self, token_id: int) -> bool:
        """Advance by one id; False if it is illegal, the state being unchanged then."""
        ...

    def rollback(self, count: int) -> None:
        """Take back the last `count` accepted ids."""
        ...

    def is_accepting(self) -> bool:
        """Return whether the text so far is complete."""
        ...


class Startable(Protocol):
    """What starts the texts of one grammar; compared by identity, and may be referred to weakly."""

    def matcher(self) -> ArgumentMatcher:
        """Start a new text; cheap (tens of microseconds)."""
        ...


class CompiledGrammar(Startable, Protocol):
    """A grammar compiled for one vocabulary, shared across requests and threads.

    Any thread may start texts, and texts of one grammar may be followed by several threads at
    once; one text by one thread at a time.
    """

    @property
    def weight(self) -> int:
        """Bytes that it holds now, roughly, but for those that its engine's `memory` counts."""
        ...


@runtime_checkable
class ArgumentEngine(Protocol):
    """Compiles argument grammars for one vocabulary.

    Attributes:
        name: the one by which `load` finds it.
        vocabulary: what it masks.

    """

    name: str
    vocabulary: Vocabulary

    @property
    def memory(self) -> ByteCounter | None:
        """What counts the bytes that texts of its grammars make; None where grammars weigh them."""
        return None

    def warm(self, layout: BoundLayout | None = None) -> None:  # noqa: ARG002 - most build nothing
        """Build what only some grammars need, before the first of them.

        Args:
            layout: how their texts will be laid out.

        """
        return

    def check(self, wanted: Wanted, layout: BoundLayout | None = None) -> None:
        """Raise what `compile` would; may take as long.

        Raises:
            InvalidSchema: also where a text of a client's grammar may come to a dead end.

        """
        self.write(wanted, layout)

    def write(self, wanted: Wanted, layout: BoundLayout | None = None) -> bytes:
        """Write a grammar as `read` compiles it, in any process.

        This is the part of compiling that is done in Python, and so keeps every other thread
        of the process waiting; `read` does not. It does not depend on the vocabulary's ids, but
        for those that the layout is bound to; a regular expression or a choice depends on the
        characters that it can write.

        Args:
            wanted: a finished grammar, a regular expression or a choice.
            layout: how a grammar's text is laid out; None for JSON with the usual white space.

        Raises:
            InvalidSchema: the source is not one of its kind.
            UnsupportedSchema: this engine cannot do it exactly, or the layout cannot write it.
            ConfigurationError: this engine has no layouts; another one does.

        """
        ...

    def read(self, written: bytes) -> CompiledGrammar:
        """Compile what `write` has given.

        Raises:
            UnsupportedSchema: this engine cannot do it exactly for this vocabulary.

        """
        ...

    def compile(self, wanted: Wanted, layout: BoundLayout | None = None) -> CompiledGrammar:
        """Compile in this process, as `write` and `read` do; also a client's own grammar."""
        return self.read(self.write(wanted, layout))


def present_name(name: str) -> str:
    """Return this release's name of an engine, by that or by the one of an earlier release."""
    return FORMER[name] if name in [*FORMER] else name  # which may be anything


def load(name: str, vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine of that name for a vocabulary.

    Raises:
        UnknownEngine: no such engine.
        MissingPackage: its package is not installed.

    """
    name = present_name(name)
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine {brief(name)}; choose one of {', '.join(ENGINES)}")
    module, kind = _MODULES[name]
    with needed_for(f"engine {name!r}"):
        build: Callable[[Vocabulary], ArgumentEngine] = getattr(import_module(module), kind)
    return build(vocabulary)
