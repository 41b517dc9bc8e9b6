"""The engine of the machine (`enforcer.machine`): it makes tables of grammars and binds them.

Owns: that as an engine of `enforcer.engines`. Must not know: how tables are made and read.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.layouts import LayoutKind
from enforcer.machine import wire
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.tables import make_usual, tables_of
from enforcer.machine.text_formats import text_tables
from enforcer.regex.charset import CharSet
from enforcer.request.response_format import FormatKind

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.machine import kernel
    from enforcer.machine.tables import Tables
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_REGULAR = frozenset({FormatKind.REGEX, FormatKind.CHOICE})


class MachineEngine(ArgumentEngine):
    """Masks texts by the machine; a grammar that it cannot hold raises `UnsupportedSchema`."""

    name = "machine"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def _tree(self) -> kernel.Tree:
        return bound_vocabulary(self.vocabulary)

    @cached_property
    def _raw_tree(self) -> kernel.Tree:
        return bound_vocabulary(self.vocabulary, is_raw=True)

    @cached_property
    def _python_tree(self) -> kernel.Tree:
        return bound_vocabulary(self.vocabulary, is_python=True)

    @cached_property
    def _grammars(self) -> ClientGrammars:
        return ClientGrammars(self.vocabulary)

    def _bound(self, tables: Tables) -> MachineGrammar:
        if tables.is_python:
            return MachineGrammar(tables, self._python_tree)
        return MachineGrammar(tables, self._raw_tree if tables.is_raw else self._tree)

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build the vocabulary's trees and usual automata."""
        _ = self._tree, self._raw_tree
        make_usual()
        if find_spec("llguidance") is not None:
            _ = self._grammars  # a server stands still for the half second that it takes
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            self._bound(make_usual(layout))
        if layout is not None and layout.layout.kind is LayoutKind.PYTHON:
            _ = self._python_tree

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise `UnsupportedSchema` if a grammar cannot be held."""
        tables_of(grammar, layout)

    def write(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> str:
        """Write the tables of a grammar."""
        return b64encode(wire.write(tables_of(grammar, layout))).decode()

    def read(self, written: str) -> CompiledGrammar:
        """Bind tables to the vocabulary."""
        return self._bound(wire.read(b64decode(written)))

    def compile(
        self, grammar: ArgumentGrammar, layout: BoundLayout | None = None
    ) -> CompiledGrammar:
        """Bind the tables of a grammar, which are not written."""
        return self._bound(tables_of(grammar, layout))

    def check_text(self, wanted: ResponseFormat) -> None:
        """Refuse a format of text that is no JSON Schema if it cannot be held."""
        if wanted.kind is FormatKind.GRAMMAR:
            self._grammars.check(wanted.source)
        else:
            self._text_tables(wanted)

    @property
    def written_formats(self) -> frozenset[FormatKind]:
        """Formats of which tables are written: none that depend on the vocabulary."""
        return _REGULAR if self.vocabulary.is_complete else frozenset()

    def write_text(self, wanted: ResponseFormat) -> str:
        """Write the tables of a format of text."""
        return b64encode(wire.write(self._text_tables(wanted))).decode()

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Bind the tables of a regular expression or of choices; compile a client's grammar."""
        if wanted.kind is FormatKind.GRAMMAR:
            return self._grammars.compile(wanted.source)
        return self._bound(self._text_tables(wanted))

    def _text_tables(self, wanted: ResponseFormat) -> Tables:
        return text_tables(wanted, CharSet.of(self.vocabulary.writable))
