"""Arrays (`uniqueItems`) and objects whose distinctness needs a memory of the text.

Elements of a small domain need none: `lowering/arrays.py` gives each value a choice, and a tally
of bits enforces them (`kernel/arrays.py`). Of all others the kernel remembers strings and names by
their characters (`kernel/names.py`), and other elements by fingerprints, with a search for an end
that differs (`kernel/values.py`, `kernel/search.py`). An array of this kind stays `unique` in a
lowered grammar, without choices; an object has `distinct_names`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.regex.automata.alphabet import TooLargeError
from enforcer.regex.automata.exploring import explore
from enforcer.regex.automata.minimizing import FAR, heights, trimmed
from enforcer.regex.syntax import cached
from enforcer.schema.grammar import NEVER, ObjectShape

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.grammar import ArrayShape, Value

_MOST_STATES = 1_000  # explored to find out whether a language is infinite


def is_remembered(shape: ArrayShape) -> bool:
    """Return whether the elements of a lowered array are kept distinct by a memory."""
    return shape.unique and not shape.choices


def remembered(value: Value) -> list[ArrayShape | ObjectShape]:
    """Return the shapes of a lowered value whose elements or names a memory keeps distinct."""
    if not (value.arrays or value.objects):
        return []
    arrays = [shape for shape in value.arrays if is_remembered(shape)]
    return [*arrays, *[shape for shape in value.objects if shape.distinct_names]]


def offence(shape: ArrayShape | ObjectShape) -> tuple[str, str]:
    """Return the path and the keyword for which a shape needs a memory."""
    if not isinstance(shape, ObjectShape):
        return f"{shape.path}.uniqueItems", "uniqueItems"
    if shape.witnesses:
        return shape.witnesses[0].path, "not"
    return f"{shape.path}.minProperties", "minProperties"


def may_run_out(shape: ObjectShape) -> bool:
    """Return whether there may be fewer undeclared names than the shape counts."""
    if not shape.distinct_names:
        return False
    names = [language for language, value in shape.classes if value != NEVER]
    endless = {mark.witness for mark in shape.marks if is_infinite(mark.names)}
    is_short = len(endless) < len(shape.witnesses)
    return is_short or (bool(names) and not any(map(is_infinite, names)))


@cached
def is_infinite(language: Regex) -> bool:
    """Return whether a language is infinite; False if its automaton has too many states."""
    if not language.boolean:
        return language.longest is None
    try:
        found, leads, _ = trimmed(explore((language,), _MOST_STATES))
    except TooLargeError:
        return False
    return bool(leads[0]) and FAR in heights(found.rows)


def is_text(value: Value) -> bool:
    """Return whether a value is a language of strings and nothing else."""
    others = value.null or value.booleans or value.numbers or value.arrays or value.objects
    return value.strings is not None and not others


def uncounted(shape: ObjectShape) -> ObjectShape:
    """Return an object shape without the counts that need distinct names."""
    return replace(
        shape,
        minimum=min(shape.minimum, len(shape.required) + 1),
        witnesses=(),
        marks=(),
        distinct_names=False,
    )
