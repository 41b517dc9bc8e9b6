"""The default engine, an adapter of `enforcer.machine`: it builds tables and binds them.

Must not know: how tables are made and read.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

from enforcer import kernel
from enforcer.engines import ArgumentEngine, CompiledGrammar, Wanted
from enforcer.engines.client_grammar import ClientGrammars
from enforcer.layouts import BoundLayout, LayoutKind
from enforcer.machine import wire
from enforcer.machine.grammar import MachineGrammar, any_grammar, bound_vocabulary
from enforcer.machine.tables import CompiledTables, make_usual, tables_of, text_tables
from enforcer.request.response_format import FormatKind, ResponseFormat

if TYPE_CHECKING:
    from enforcer.vocabulary import Vocabulary


class MachineEngine(ArgumentEngine):
    """Masks texts by tables; raises `UnsupportedSchema` for grammars that they cannot hold."""

    name = "machine"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._trees: dict[tuple[bool, bool], kernel.Tree] = {}

    @cached_property
    def memory(self) -> kernel.MemoryCounter:
        """The counter of bytes of cached mask rows."""
        return kernel.MemoryCounter()

    @cached_property
    def _grammars(self) -> ClientGrammars:
        return ClientGrammars(self.vocabulary)

    def _tree(self, *, is_raw: bool = False, is_python: bool = False) -> kernel.Tree:
        """Return the vocabulary, bound to a kind of strings; cached."""
        kind = is_raw, is_python
        if kind not in self._trees:
            self._trees[kind] = bound_vocabulary(
                self.vocabulary, self.memory, is_raw=is_raw, is_python=is_python
            )
        return self._trees[kind]

    def _bound(self, tables: CompiledTables) -> MachineGrammar:
        is_raw = tables.is_raw and not tables.is_python
        return MachineGrammar(tables, self._tree(is_raw=is_raw, is_python=tables.is_python))

    def _tables(self, wanted: Wanted, layout: BoundLayout | None) -> CompiledTables:
        if isinstance(wanted, ResponseFormat):
            return text_tables(wanted, self.vocabulary.writable)
        return tables_of(wanted, layout)

    @cached_property
    def any_text(self) -> MachineGrammar:
        """A grammar over all tokens; see `Table`."""
        return any_grammar(self.vocabulary, self._tree(is_raw=True))

    def warm(self, layout: BoundLayout | None = None) -> None:
        """Build the vocabulary's trees, usual automata, and tables of the layout."""
        self._tree()
        self._tree(is_raw=True)
        make_usual()
        if find_spec("llguidance") is not None:
            _ = self._grammars  # a server stands still for the half second that it takes
        if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
            self._bound(make_usual(layout))
        if layout is not None and layout.layout.kind is LayoutKind.PYTHON:
            self._tree(is_python=True)

    def check(self, wanted: Wanted, layout: BoundLayout | None = None) -> None:
        """Raise what `compile` would raise; see `ArgumentEngine.check`."""
        if isinstance(wanted, ResponseFormat) and wanted.kind is FormatKind.GRAMMAR:
            self._grammars.check(wanted.source)
        else:
            self._tables(wanted, layout)

    def write(self, wanted: Wanted, layout: BoundLayout | None = None) -> bytes:
        """Return the tables of a grammar as bytes; see `ArgumentEngine.write`."""
        return wire.write(self._tables(wanted, layout))

    def read(self, written: bytes) -> CompiledGrammar:
        """Return the grammar of tables as `write` returned them, bound to the vocabulary."""
        return self._bound(wire.read(written))

    def compile(self, wanted: Wanted, layout: BoundLayout | None = None) -> CompiledGrammar:
        """Return the compiled grammar of a source; see `ArgumentEngine.compile`."""
        if isinstance(wanted, ResponseFormat) and wanted.kind is FormatKind.GRAMMAR:
            return self._grammars.compile(wanted.source)
        return self._bound(self._tables(wanted, layout))
