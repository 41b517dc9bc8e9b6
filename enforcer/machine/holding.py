"""Which grammars the machine can hold, and what it says of those that it cannot.

Owns: the question that looks at a grammar alone; limits that show while tables are made are raised
there, by the same error. Must not know: how tables are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.schema.finishing.distinct import is_remembered, is_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, Value, ValueId


def why_not_held(grammar: ArgumentGrammar) -> UnsupportedSchema | None:
    """Return why the machine cannot hold a grammar; None if its tables may tell more."""
    for value in grammar.definitions.values():
        for array in value.arrays:
            for keyword, reason in _of_array(array, grammar.definitions):
                return UnsupportedSchema.of(array.path, keyword, reason)
    return None


def keeps_distinct(array: ArrayShape) -> bool:
    """Return whether elements of an array are compared with those before them."""
    return is_remembered(array) and (array.maximum is None or array.maximum > 1)


def _of_array(array: ArrayShape, definitions: Mapping[ValueId, Value]) -> Iterator[tuple[str, str]]:
    if keeps_distinct(array) and not is_text(definitions[array.rest]):
        yield "uniqueItems", "elements that are not strings are kept distinct"
