"""The seam between the envelope and the grammars inside a call.

Owns: the protocol that every argument engine implements, and the choice of one by name. Must not
know: any engine's package (each is imported only when chosen), the envelope, and of requests no
more than the format of their text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from enforcer.errors import ConfigurationError, UnknownEngine, brief

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import FormatKind, ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

MACHINE = "machine"
_MODULES = {  # and the class of each
    "xgrammar": ("enforcer.engines.xgrammar", "XGrammarEngine"),
    "outlines-core": ("enforcer.engines.outlines_core", "OutlinesCoreEngine"),
}
ENGINES = (MACHINE, *_MODULES)
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
        """Tell whether the text so far is complete."""
        ...


class Startable(Protocol):
    """What starts the texts of one grammar; compared by identity, and may be referred to weakly."""

    def matcher(self) -> ArgumentMatcher:
        """Start a new text."""
        ...


class CompiledGrammar(Startable, Protocol):
    """A grammar compiled for one vocabulary, shared across requests and threads.

    Any thread may start texts, and texts of one grammar may be followed by several threads at
    once; one text by one thread at a time.
    """

    @property
    def weight(self) -> int:
        """Bytes that it holds now, roughly; it may grow as texts are matched."""
        ...

    def matcher(self) -> ArgumentMatcher:
        """Start a new text; cheap (tens of microseconds)."""
        ...


@runtime_checkable
class ArgumentEngine(Protocol):
    """Compiles argument grammars for one vocabulary."""

    @property
    def name(self) -> str:
        """The name by which `load` finds it."""
        ...

    def warm(self, layout: BoundLayout | None = None) -> None:  # noqa: ARG002 - most build nothing
        """Build what only some grammars need, before the first of them.

        Args:
            layout: how their texts will be laid out.

        """
        return

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise `UnsupportedSchema` if `write` or `read` would; may take as long as both."""
        self.write(grammar, layout)

    def write(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Write a grammar as the text that `read` compiles, in any process.

        This is the part of compiling that is done in Python, and so keeps every other thread
        of the process waiting; `read` does not. It does not depend on the vocabulary's ids, but
        for those that the layout is bound to.

        Args:
            grammar: a finished one.
            layout: how the text is laid out; None for JSON with the usual white space.

        Raises:
            UnsupportedSchema: this engine cannot do it exactly, or the layout cannot write it.
            ConfigurationError: this engine has no layouts; another one does.

        """
        ...

    def read(self, written: str) -> CompiledGrammar:
        """Compile what `write` has given.

        Raises:
            UnsupportedSchema: this engine cannot do it exactly for this vocabulary.

        """
        ...

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None
    ) -> CompiledGrammar:
        """Compile a grammar in this process, as `write` and `read` do; raises what these do."""
        return self.read(self.write(grammar, layout))

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text that is no JSON Schema if it cannot be held, or leads nowhere.

        Raises:
            InvalidSchema: as `compile_text`; or a text was begun that nothing may follow.
            UnsupportedSchema: as `compile_text`; or texts are too much.

        """
        ...

    @property
    def written_formats(self) -> frozenset[FormatKind]:
        """Formats of text that `write_text` writes; `compile_text` is quick for the others."""
        return frozenset()

    def write_text(self, wanted: ResponseFormat) -> str:
        """Write a format of text, one of `written_formats`, as `read` compiles it in any process.

        Raises:
            InvalidSchema, UnsupportedSchema: as `compile_text`.

        """
        raise ConfigurationError(f"engine {self.name!r} writes no {wanted.kind.value}")

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text that is no JSON Schema: regex, choice or grammar.

        Raises:
            InvalidSchema: the source is not one of its kind.
            UnsupportedSchema: this engine cannot do it exactly.

        """
        ...


def present_name(name: str) -> str:
    """Return this release's name of an engine, by that or by the one of an earlier release."""
    return FORMER[name] if name in [*FORMER] else name  # which may be anything


def load(name: str, vocabulary: Vocabulary) -> ArgumentEngine:
    """Build the engine of that name for a vocabulary.

    Raises:
        UnknownEngine: no such engine, or its package is not installed.

    """
    name = present_name(name)
    if name == MACHINE:
        from enforcer.engines.machine import MachineEngine

        return MachineEngine(vocabulary)
    if name not in ENGINES:
        raise UnknownEngine(f"unknown engine {brief(name)}; choose one of {', '.join(ENGINES)}")
    module, kind = _MODULES[name]
    try:
        build: Callable[[Vocabulary], ArgumentEngine] = getattr(import_module(module), kind)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("enforcer"):
            raise
        raise UnknownEngine(
            f"engine {name!r} needs the package {error.name!r}: pip install {error.name}"
        ) from error
    return build(vocabulary)
