"""Which grammars the machine can hold, and what it says of those that it cannot.

Owns: the question that looks at a grammar alone; limits that show while tables are made are raised
there, by the same error. Must not know: how tables are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.layouts import LayoutKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape


class NotHeld(UnsupportedSchema):
    """The machine cannot hold a grammar; `path` and `reason` say where and why."""


def why_not_held(grammar: ArgumentGrammar, layout: BoundLayout | None) -> NotHeld | None:
    """Return why the machine cannot hold texts of a grammar; None if its tables may tell more."""
    if layout is not None and layout.layout.kind is not LayoutKind.JSON:
        return NotHeld.of("$", "", "the format does not write arguments as JSON")
    for value in grammar.definitions.values():
        for array in value.arrays:
            for keyword, reason in _of_array(array):
                return NotHeld.of(array.path, keyword, reason)
    return None


def _of_array(array: ArrayShape) -> Iterator[tuple[str, str]]:
    if array.unique and not array.choices:
        yield "uniqueItems", "elements are kept distinct"
