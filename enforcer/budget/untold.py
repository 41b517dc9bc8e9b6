"""Grammars and text formats whose shortest completion is unknown.

Owns: finding them, by the grammar alone, and their error messages. Must not know: token ids.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.budget.elements import MOST_PLACES
from enforcer.errors import Problem, UnsupportedSchema
from enforcer.schema.grammar import ArrayShape
from enforcer.schema.lowering.counting import tallies_of
from enforcer.schema.lowering.distinct import offence, remembered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.schema.grammar import ArgumentGrammar, Value

_LONGEST = 100_000
_LONG = f"a text must have more than {_LONGEST} characters"
_TOO_MANY = "an array has elements to count that are too many to tell its shortest end"
_DISTINCT = (
    "the shortest completion of an array of distinct elements cannot be "
    "computed: list the values in an `enum`, or drop `uniqueItems`"
)
_COUNTED = (
    "the shortest completion of an object cannot be computed where undeclared "
    "properties are counted: declare the names"
)
_ENFORCED = (
    "without `finish_within_budget`, which may be the server's own setting, it is enforced exactly"
)


def untold(grammar: ArgumentGrammar) -> tuple[Problem, ...]:
    """Return the problems of a grammar without a known shortest completion, if it has any."""
    found = (problem for value in grammar.definitions.values() for problem in _problems(value))
    return tuple(dict.fromkeys(found))


def _problems(value: Value) -> Iterator[Problem]:
    for shape in remembered(value):
        path, keyword = offence(shape)
        yield Problem(path, keyword, _DISTINCT if isinstance(shape, ArrayShape) else _COUNTED)
    names = (names for shape in value.objects for names, _ in shape.classes)
    texts = names if value.strings is None else (value.strings, *names)
    if any(each.shortest > _LONGEST for each in texts):
        yield Problem("$", "", _LONG)
    if any(map(_is_large, value.arrays)):
        yield Problem("$", "", _TOO_MANY)


def _is_large(array: ArrayShape) -> bool:
    if not array.choices or array.unique:
        return False
    top = max(array.minimum, len(array.prefix), array.maximum or 0, 1)
    return tallies_of(array).sums * (top + 1) > MOST_PLACES


def untimed(*problems: Problem) -> UnsupportedSchema:
    """Return the error for grammars that cannot be finished within a required budget."""
    told = (replace(each, reason=f"{each.reason}; {_ENFORCED}") for each in problems)
    return UnsupportedSchema(tuple(told))


def unknown_text(kind: str) -> Problem:
    """Return the problem of a text format that is no JSON Schema."""
    reason = "how many tokens such a text needs to end is not known"
    return Problem(f"$.response_format.{kind}", kind, reason)
