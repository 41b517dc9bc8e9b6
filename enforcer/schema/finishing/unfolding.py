"""From the root formula to the values that it reaches.

Owns: working out the normal form of each, settling it, and giving equal ones one name. Must not
know: keywords, how a value is settled, engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.errors import Problem, SchemaLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from enforcer.schema.algebra.normal_form import Algebra
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


def unfold(
    algebra: Algebra, root: Formula, limits: Limits, settle: Callable[[Value], Value]
) -> tuple[dict[Formula, Value], Formula]:
    """Expand the root and all that it reaches; equal values become one definition.

    Args:
        algebra: the arena of the formulas.
        root: the formula of the whole value.
        limits: bounds.
        settle: replaces constraints that cannot be kept, noting them.

    Returns:
        Definitions by formula, and the root among them.

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
        value = settle(algebra.normal(formula))
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
                        f"the schema unfolds to more than {limits.definitions} distinct values; "
                        "combine fewer recursive references",
                    ),
                )
            )
    if len(definitions) < len(alias):
        definitions = {formula: _renamed(value, alias) for formula, value in definitions.items()}
    return definitions, alias[root]


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
