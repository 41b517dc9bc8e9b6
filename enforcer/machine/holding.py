"""Which grammars the machine can hold, and what it says of those that it cannot.

Owns: the question that looks at a grammar alone; limits that show while tables are made are raised
there, by the same error. Must not know: how tables are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.layouts import LayoutKind
from enforcer.regex.syntax import Literal, Union
from enforcer.schema.finishing.distinct import is_remembered, is_text
from enforcer.schema.grammar import NEVER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from enforcer.layouts import BoundLayout
    from enforcer.regex import Regex
    from enforcer.schema import ArgumentGrammar
    from enforcer.schema.grammar import ArrayShape, Value, ValueId

MOST_COUNTED = 64  # characters of a raw value


class NotHeld(UnsupportedSchema):
    """The machine cannot hold a grammar; `path` and `reason` say where and why."""


def why_not_held(grammar: ArgumentGrammar, layout: BoundLayout | None) -> NotHeld | None:
    """Return why the machine cannot hold texts of a grammar; None if its tables may tell more."""
    if layout is not None and layout.layout.kind is LayoutKind.PAIRS:
        for shape in grammar.definitions[grammar.root].objects:
            for _, child in (*shape.names, *shape.classes):
                strings = grammar.definitions[child].strings if child != NEVER else None
                if strings is not None and _is_counted(strings):
                    return NotHeld.of(shape.path, "maxLength", "raw values are counted")
    for value in grammar.definitions.values():
        for array in value.arrays:
            for keyword, reason in _of_array(array, grammar.definitions):
                return NotHeld.of(array.path, keyword, reason)
    return None


def _is_counted(strings: Regex) -> bool:
    """Return whether texts that are not listed have a greatest length of which states are made.

    Each character takes a millisecond or more.
    """
    parts = strings.parts if isinstance(strings, Union) else (strings,)
    listed = all(isinstance(part, Literal) for part in parts)
    return not listed and strings.longest is not None and strings.longest > MOST_COUNTED


def keeps_distinct(array: ArrayShape) -> bool:
    """Return whether elements of an array are compared with those before them."""
    return is_remembered(array) and (array.maximum is None or array.maximum > 1)


def _of_array(array: ArrayShape, definitions: Mapping[ValueId, Value]) -> Iterator[tuple[str, str]]:
    if keeps_distinct(array) and not is_text(definitions[array.rest]):
        yield "uniqueItems", "elements that are not strings are kept distinct"
