"""Removal of useless values from a lowered grammar, so that no prefix of a text is a dead end.

As with useless symbols of context-free grammars (Bar-Hillel, Perles, Shamir 1961). Must not know:
keywords, formulas, engines.
"""

from __future__ import annotations

from dataclasses import replace

from enforcer.schema.grammar import NEVER, NOTHING, ArrayShape, ObjectShape, Value, ValueId
from enforcer.schema.lowering.counting import tallies_of


def prune(definitions: dict[ValueId, Value], root: ValueId) -> dict[ValueId, Value] | None:
    """Return the definitions that have a finite member and are reached from the root.

    Children without a finite member become `NEVER`. None if the root itself has none.
    """
    productive = _productive(definitions)
    if root not in productive:
        return None
    pruned = {NEVER: NOTHING}
    queue = [root]
    for number in queue:
        if number not in pruned:
            pruned[number] = _without(definitions[number], productive)
            queue.extend(pruned[number].children())
    return pruned


def _productive(definitions: dict[ValueId, Value]) -> set[ValueId]:
    """Return the numbers of the values that have a finite member (a least fixed point)."""
    found: set[ValueId] = set()
    # Children come after their parents, so that all are known at once where nothing recurs.
    backwards = tuple(reversed(definitions))
    for number in backwards:
        if _has_member(definitions[number], found):
            found.add(number)
    queue = [x for x in backwards if x not in found and definitions[x] != NOTHING]
    parents: dict[ValueId, set[ValueId]] = {}
    for parent in queue:
        for child in definitions[parent].children():
            parents.setdefault(child, set()).add(parent)
    for number in queue:
        if number not in found and _has_member(definitions[number], found):
            found.add(number)
            queue.extend(parents.get(number, ()))
    return found


def _has_member(value: Value, productive: set[ValueId]) -> bool:
    if value.null or value.booleans or value.numbers or value.strings is not None:
        return True
    return any(_array_has_member(array, productive) for array in value.arrays) or any(
        _object_has_member(shape, productive) for shape in value.objects
    )


def _array_has_member(array: ArrayShape, productive: set[ValueId]) -> bool:
    if array.choices and not array.unique:
        return tallies_of(_with_choices(array, productive)).can_complete()
    if array.choices:
        usable = sum(choice.value in productive for choice in array.choices[-1])
        return usable >= array.minimum
    return all(child in productive for child in array.prefix[: array.minimum]) and (
        array.minimum <= len(array.prefix) or array.rest in productive
    )


def _with_choices(array: ArrayShape, productive: set[ValueId]) -> ArrayShape:
    kept = (tuple(x for x in choices if x.value in productive) for choices in array.choices)
    return replace(array, choices=tuple(kept))


def _object_has_member(shape: ObjectShape, productive: set[ValueId]) -> bool:
    if not (shape.required or shape.minimum or shape.witnesses):
        return True
    names = dict(shape.names)
    if not all(names[name] in productive for name in shape.required):
        return False
    reachable = {mark.witness for mark in shape.marks if mark.value in productive}
    if len(reachable) < len(shape.witnesses):
        return False
    if shape.minimum and not any(child in productive for _, child in shape.classes):
        return sum(child in productive for child in names.values()) >= shape.minimum
    return True


def _without(value: Value, productive: set[ValueId]) -> Value:
    if not (value.arrays or value.objects):
        return value
    return value._replace(
        arrays=tuple(
            _trimmed(array, productive)
            for array in value.arrays
            if _array_has_member(array, productive)
        ),
        objects=tuple(
            _reduced(shape, productive)
            for shape in value.objects
            if _object_has_member(shape, productive)
        ),
    )


def _reduced(shape: ObjectShape, productive: set[ValueId]) -> ObjectShape:
    names = {name: child if child in productive else NEVER for name, child in shape.names}
    return replace(
        shape,
        names=tuple(names.items()),
        classes=tuple((n, x if x in productive else NEVER) for n, x in shape.classes),
        marks=tuple(mark for mark in shape.marks if mark.value in productive),
    )


def _trimmed(array: ArrayShape, productive: set[ValueId]) -> ArrayShape:
    """Return the array shape cut off before the first element that has no finite member."""
    if array.choices:
        return _with_choices(array, productive)
    end = next(
        (i for i, child in enumerate(array.prefix) if child not in productive),
        None if array.rest in productive else len(array.prefix),
    )
    if end is None:
        return array
    maximum = end if array.maximum is None else min(end, array.maximum)
    return replace(array, prefix=array.prefix[:end], rest=NEVER, maximum=maximum)
