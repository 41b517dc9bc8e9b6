"""From the root formula to the values that it reaches.

Owns: working out the normal form of each, settling it, and giving equal ones one name. Must not
know: keywords, how a value is settled, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enforcer.errors import Problem, SchemaLimit
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.schema.limits import Limits
    from enforcer.schema.nodes import Formula, Value


def children(value: Value) -> Iterator[Formula]:
    """Yield every value grammar that a value's shapes mention."""
    for array in value.arrays:
        yield from array.prefix
        yield array.rest
        for choices in array.choices:
            for choice in choices:
                yield choice.value
    for shape in value.objects:
        for _, child in shape.names:
            yield child
        for _, child in shape.classes:
            yield child
        for mark in shape.marks:
            yield mark.value
    for _, parts in value.cells:
        yield from parts


@dataclass(frozen=True, slots=True)
class Unfolded:
    """All that a root formula reaches.

    Attributes:
        definitions: values by formula, each of which stands for all formulas of equal values.
        root: the root among them.
        alias: which of them stands for a formula.
        mentioned: the same definitions, their children being the formulas that they were made
            of: positions of equal values are still told apart by these.

    """

    definitions: dict[Formula, Value]
    root: Formula
    alias: dict[Formula, Formula]
    mentioned: dict[Formula, Value]


def unfold(root: Formula, limits: Limits, settle: Callable[[Formula], Value]) -> Unfolded:
    """Expand the root and all that it reaches; equal values become one definition.

    Args:
        root: the formula of the whole value.
        limits: bounds.
        settle: gives the normal form of a formula, in which constraints that cannot be kept
            are replaced, having noted them.

    Raises:
        SchemaLimit: more definitions than the limit.

    """
    canonical: dict[Value, Formula] = {}
    alias: dict[Formula, Formula] = {}
    definitions: dict[Formula, Value] = {}
    queue = [root]
    for formula in queue:
        if formula in alias:
            continue
        value = settle(formula)
        found = canonical.setdefault(value, formula)
        alias[formula] = found
        if found == formula:
            definitions[formula] = value
            queue.extend(children(value))
        if len(definitions) > limits.definitions:
            raise SchemaLimit(
                (
                    Problem(
                        "$",
                        "",
                        f"the schema unfolds to more than {limits.definitions} distinct values "
                        f"{named('definitions')}; combine fewer recursive references",
                    ),
                )
            )
    renamed = definitions
    if len(definitions) < len(alias):
        renamed = {formula: _renamed(value, alias) for formula, value in definitions.items()}
    return Unfolded(renamed, alias[root], alias, definitions)


def _renamed(value: Value, alias: dict[Formula, Formula]) -> Value:
    if all(alias[child] == child for child in children(value)):
        return value
    return replace(
        value,
        arrays=tuple(
            replace(
                array,
                prefix=tuple(alias[x] for x in array.prefix),
                rest=alias[array.rest],
                choices=tuple(
                    tuple(replace(x, value=alias[x.value]) for x in choices)
                    for choices in array.choices
                ),
            )
            for array in value.arrays
        ),
        objects=tuple(
            replace(
                shape,
                names=tuple((name, alias[x]) for name, x in shape.names),
                classes=tuple((names, alias[x]) for names, x in shape.classes),
                marks=tuple(replace(x, value=alias[x.value]) for x in shape.marks),
            )
            for shape in value.objects
        ),
        cells=tuple(
            ((name, alias[whole]), tuple(alias[part] for part in parts))
            for (name, whole), parts in value.cells
        ),
    )
