"""Unfolding of the root formula: all values that it reaches, equal ones with one number.

Must not know: keywords, how a value is lowered, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.errors import SchemaLimit
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.schema.grammar import Formula, Value, ValueId
    from enforcer.schema.limits import Limits


@dataclass(frozen=True, slots=True)
class Unfolded:
    """The values that a root formula reaches.

    Attributes:
        definitions: values by number.
        root: the number of the whole value.
        alias: the number of each formula's value; equal values share one.

    """

    definitions: dict[ValueId, Value]
    root: ValueId
    alias: dict[Formula, ValueId]


def unfold(root: Formula, limits: Limits, lower: Callable[[Formula], Value]) -> Unfolded:
    """Return all values that the root reaches; equal values become one definition.

    Args:
        root: the formula of the whole value.
        limits: bounds.
        lower: returns the lowered value of a formula.

    Raises:
        SchemaLimit: more definitions than the limit.

    """
    canonical: dict[Value, ValueId] = {}
    alias: dict[Formula, ValueId] = {}
    definitions: dict[ValueId, Value] = {}
    queue = [root]
    for formula in queue:
        if formula in alias:
            continue
        value = lower(formula)
        found = alias[formula] = canonical.setdefault(value, formula)
        if found == formula:
            definitions[found] = value
            if not value.is_scalar:
                queue.extend(value.children())
        if len(definitions) > limits.definitions:
            raise SchemaLimit.of(
                "$",
                "",
                f"the schema unfolds to more than {limits.definitions} distinct values "
                f"{named('definitions')}; combine fewer recursive references",
            )
    renamed = definitions
    if len(definitions) < len(alias):
        renamed = {
            number: value
            if all(alias[child] == child for child in value.children())
            else value.mapped(alias.__getitem__)
            for number, value in definitions.items()
        }
    return Unfolded(renamed, alias[root], alias)
