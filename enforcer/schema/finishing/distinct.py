"""Arrays whose elements must differ, and objects whose names must, beyond what bits can tell apart.

They are kept distinct by a memory, which is outside of any grammar. Such an array stays `unique` in
a finished grammar, without choices; such an object has `distinct_names`.

Owns: which these are, and doing without. Must not know: keywords' syntax, how a memory keeps them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.schema.finishing.infinite import is_infinite
from enforcer.schema.grammar import NEVER, ObjectShape

if TYPE_CHECKING:
    from enforcer.schema.grammar import ArrayShape, Value


def is_remembered(shape: ArrayShape) -> bool:
    """Return whether an array of a finished grammar is for whoever follows a text to keep."""
    return shape.unique and not shape.choices


def remembered(value: Value) -> list[ArrayShape | ObjectShape]:
    """List what of a value of a finished grammar is for whoever follows a text to keep."""
    if not (value.arrays or value.objects):
        return []
    arrays = [shape for shape in value.arrays if is_remembered(shape)]
    return [*arrays, *[shape for shape in value.objects if shape.distinct_names]]


def offence(shape: ArrayShape | ObjectShape) -> tuple[str, str]:
    """Return the path and the keyword that ask for a memory."""
    if not isinstance(shape, ObjectShape):
        return f"{shape.path}.uniqueItems", "uniqueItems"
    if shape.witnesses:
        return shape.witnesses[0].path, "not"
    return f"{shape.path}.minProperties", "minProperties"


def may_run_out(shape: ObjectShape) -> bool:
    """Return whether undeclared names may be fewer than are counted."""
    if not shape.distinct_names:
        return False
    names = [language for language, value in shape.classes if value != NEVER]
    endless = {mark.witness for mark in shape.marks if is_infinite(mark.names)}
    is_short = len(endless) < len(shape.witnesses)
    return is_short or (bool(names) and not any(map(is_infinite, names)))


def is_text(value: Value) -> bool:
    """Return whether a value is a language of strings and nothing else."""
    others = value.null or value.booleans or value.numbers or value.arrays or value.objects
    return value.strings is not None and not others


def uncounted(shape: ObjectShape) -> ObjectShape:
    """Return an object shape without the counts that distinct names are needed for."""
    return replace(
        shape,
        minimum=min(shape.minimum, len(shape.required) + 1),
        witnesses=(),
        marks=(),
        distinct_names=False,
    )
