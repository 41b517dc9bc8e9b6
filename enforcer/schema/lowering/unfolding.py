"""From the root formula to the values that it reaches.

Owns: working out the normal form of each, lowering it, and giving equal ones one name. Must not
know: keywords, how a value is lowered, engines.
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
    """All that a root formula reaches.

    Attributes:
        definitions: values by number.
        root: the number of the whole.
        alias: the number of each formula's value; of equal values there is one.

    """

    definitions: dict[ValueId, Value]
    root: ValueId
    alias: dict[Formula, ValueId]


def unfold(root: Formula, limits: Limits, lower: Callable[[Formula], Value]) -> Unfolded:
    """Expand the root and all that it reaches; equal values become one definition.

    Args:
        root: the formula of the whole value.
        limits: bounds.
        lower: gives the normal form of a formula, in which constraints that cannot be kept
            are replaced, having noted them.

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
