"""The choice between the machine and another engine, for each grammar.

The machine (`engines.machine`, with distinct elements kept beside it) holds JSON without counted
parts; any other grammar goes to the engine beside it. Owns: the choice. Must not know: how either
works.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.engines.distinct.engine import DistinctEngine
from enforcer.engines.machine import MachineEngine
from enforcer.machine.holding import NotHeld
from enforcer.request.response_format import FormatKind

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.engines.capacity import Capacity
    from enforcer.layouts import BoundLayout
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_MARK = "\0machine "


class ChosenEngine(ArgumentEngine):
    """The machine for what it can hold, and an engine for everything else."""

    def __init__(self, engine: ArgumentEngine, vocabulary: Vocabulary) -> None:
        self.machine = DistinctEngine(MachineEngine(vocabulary), vocabulary, keeps_strings=True)
        self.engine = engine
        self.vocabulary = vocabulary

    @property
    def name(self) -> str:
        """The name by which `load` finds it."""
        return self.machine.name

    @property
    def capacity(self) -> Capacity:
        """What the engine for everything else holds."""
        return self.engine.capacity

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build what both need."""
        self.machine.warm(layout)
        self.engine.warm(layout)
        if find_spec("llguidance") is not None:
            _ = self._grammars  # a server stands still for the half second that it takes

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise `UnsupportedSchema` if neither can hold a grammar."""
        try:
            self.machine.check(grammar, layout)
        except NotHeld:
            self.engine.check(grammar, layout)

    def chosen(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Return which of the two masks texts of a grammar, and why not the machine."""
        try:
            self.machine.check(grammar, layout)
        except NotHeld as error:
            return f"{self.engine.name}, for the machine cannot hold it: {error}"
        return self.machine.name

    def write(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> str:
        """Write the tables of a grammar, or what the other engine reads."""
        try:
            return _MARK + self.machine.write(grammar, layout)
        except NotHeld:
            return self.engine.write(grammar, layout, quick=quick)

    def read(self, written: str) -> CompiledGrammar:
        """Bind tables to the vocabulary, or have the other engine compile."""
        if not written.startswith(_MARK):
            return self.engine.read(written)
        return self.machine.read(written.removeprefix(_MARK))

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None, *, quick: bool = False
    ) -> CompiledGrammar:
        """Bind the tables of a grammar, or have the other engine compile it."""
        try:
            return self.machine.compile(grammar, layout)
        except NotHeld:
            return self.engine.compile(grammar, layout, quick=quick)

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text that is no JSON Schema if it cannot be held."""
        if wanted.kind is FormatKind.GRAMMAR:
            self._grammars.check(wanted.source)
        else:
            self.machine.check_text(wanted)

    @property
    def written_formats(self) -> frozenset[FormatKind]:
        """Formats that the machine writes."""
        return self.machine.written_formats

    def write_text(self, wanted: ResponseFormat) -> str:
        """Write a format of text for the machine."""
        return _MARK + self.machine.write_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Compile a format of text that is no JSON Schema."""
        if wanted.kind is FormatKind.GRAMMAR:
            return self._grammars.compile(wanted.source)
        return self.machine.compile_text(wanted)

    @cached_property
    def _grammars(self) -> ClientGrammars:
        return ClientGrammars(self.vocabulary)
