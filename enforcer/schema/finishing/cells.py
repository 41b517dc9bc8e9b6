"""What the values of one name are told apart by, where many alternatives differ in them.

A `oneOf` of open objects multiplies out: each object that fits one branch fails every other,
by any of its properties. Hundreds of alternatives, all alive at once, take the engine
milliseconds a token. But they differ in few names, and the values of each fall into few cells,
so that one shape with a bit for each cell says the same (`presence`). Cells are the atoms of the
Boolean algebra that the values generate, found by refining a partition value by value.

Owns: when cells are worth it, and finding them. Must not know: how shapes are merged, engines.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from enforcer.errors import SchemaLimit, UnsupportedSchema
from enforcer.schema.finishing.presence import stays_above
from enforcer.schema.grammar import NEVER, ValueId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.algebra.shapes import Formula
    from enforcer.schema.grammar import ObjectShape

_FEW_SHAPES = 8  # from which on a mask is worth more than the time to compile
_MOST_VALUES = 8
_MOST_CELLS = 16


def cells(
    algebra: Algebra, shapes: Sequence[ObjectShape], is_writable: Callable[[Formula], bool]
) -> tuple[tuple[tuple[str, ValueId], tuple[ValueId, ...]], ...]:
    """Return `Value.cells` for alternatives; none where they are few.

    Args:
        algebra: the arena of the formulas.
        shapes: lowered ones.
        is_writable: tells whether a formula can be enforced exactly.

    """
    if len(shapes) <= _FEW_SHAPES or not stays_above(shapes, _FEW_SHAPES):
        return ()
    declared = dict.fromkeys(name for shape in shapes for name, _ in shape.names)
    found = {}
    for name in declared:
        values = dict.fromkeys(shape.child(name) for shape in shapes)
        values.pop(NEVER, None)
        if 1 < len(values) <= _MOST_VALUES and all(map(algebra.three_valued.is_exact, values)):
            for whole, parts in _partition(algebra, tuple(values), is_writable).items():
                found[name, whole] = parts
    return tuple(found.items())


def _partition(
    algebra: Algebra, values: tuple[ValueId, ...], is_writable: Callable[[Formula], bool]
) -> dict[ValueId, tuple[ValueId, ...]]:
    """Split values into disjoint parts; nothing if those are many, or cannot be enforced."""
    found: dict[Formula, set[int]] = {}
    try:
        with algebra.aside():
            for i, value in enumerate(values):
                algebra.spend(1)
                found = _refined(algebra, found, i, value)
                if len(found) > _MOST_CELLS:
                    return {}
            if not all(map(is_writable, found)):
                return {}
    except (SchemaLimit, UnsupportedSchema):
        return {}  # the alternatives say the same, and may be within the limits
    wholes: dict[ValueId, list[ValueId]] = defaultdict(list)
    for part, of in found.items():
        for i in of:
            wholes[values[i]].append(ValueId(part))
    return {whole: tuple(parts) for whole, parts in wholes.items()}


def _refined(
    algebra: Algebra, parts: dict[Formula, set[int]], number: int, value: Formula
) -> dict[Formula, set[int]]:
    """Split parts, each with the numbers of the values that it belongs to, by one more value."""
    refined: dict[Formula, set[int]] = {}
    rest = value
    for part, of in parts.items():
        inside = algebra.conj((part, value))
        if algebra.is_empty(inside):
            refined[part] = of
            continue
        refined[inside] = of | {number}
        outside = algebra.conj((part, algebra.neg(value)))
        if not algebra.is_empty(outside):
            refined[outside] = of
        rest = algebra.conj((rest, algebra.neg(part)))
    if not algebra.is_empty(rest):
        refined[rest] = {number}
    return refined
