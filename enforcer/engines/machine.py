"""The engine of the machine (`enforcer.machine`): it makes tables of grammars and binds them.

Owns: that as an engine of `enforcer.engines`. Must not know: how tables are made and read.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from functools import cached_property
from typing import TYPE_CHECKING

from enforcer.engines import ArgumentEngine
from enforcer.engines.capacity import Capacity
from enforcer.machine import wire
from enforcer.machine.grammar import MachineGrammar, bound_vocabulary
from enforcer.machine.holding import NotHeld
from enforcer.machine.tables import make_usual, tables_of

if TYPE_CHECKING:
    from enforcer.engines import CompiledGrammar
    from enforcer.layouts import BoundLayout
    from enforcer.machine import kernel
    from enforcer.request.response_format import ResponseFormat
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary


class MachineEngine(ArgumentEngine):
    """Masks texts by the machine; a grammar that it cannot hold raises `NotHeld`."""

    name = "machine"
    capacity = Capacity(
        bits=62, orders=None, rules=None, states=None, length=None, nests=True, formats=frozenset()
    )

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def _tree(self) -> kernel.Tree:
        return bound_vocabulary(self.vocabulary)

    def warm(self, layout: BoundLayout | None = None) -> None:  # noqa: ARG002 - the same for all
        """Build the vocabulary's tree and usual automata."""
        _ = self._tree
        make_usual()

    def check(self, grammar: ArgumentGrammar, layout: BoundLayout | None = None) -> None:
        """Raise `NotHeld` if a grammar cannot be held."""
        tables_of(grammar, layout)

    def write(
        self,
        grammar: ArgumentGrammar,
        layout: BoundLayout | None = None,
        *,
        quick: bool = False,  # noqa: ARG002
    ) -> str:
        """Write the tables of a grammar."""
        return b64encode(wire.write(tables_of(grammar, layout))).decode()

    def read(self, written: str) -> CompiledGrammar:
        """Bind tables to the vocabulary."""
        return MachineGrammar(wire.read(b64decode(written)), self._tree)

    def compile(
        self,
        grammar: ArgumentGrammar,
        layout: BoundLayout | None = None,
        *,
        quick: bool = False,  # noqa: ARG002
    ) -> CompiledGrammar:
        """Bind the tables of a grammar, which are not written."""
        return MachineGrammar(tables_of(grammar, layout), self._tree)

    def check_text(self, wanted: ResponseFormat) -> None:
        """Raise `NotHeld`: only formats that are JSON Schemas have tables."""
        self.compile_text(wanted)

    def compile_text(self, wanted: ResponseFormat) -> CompiledGrammar:
        """Raise `NotHeld`: only formats that are JSON Schemas have tables."""
        raise NotHeld.of("$", "", f"the machine has no tables of a format of text ({wanted.kind})")
