"""Intersection and complement of array shapes.

Children are combined as formulas, and only asked whether they are empty or overlap. Must not know:
keywords, engines, how formulas are stored.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from enforcer.schema.grammar import ALWAYS, NEVER, ArrayShape, Contains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.schema.algebra.children import Children


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two maxima, None being no maximum."""
    return b if a is None else a if b is None else min(a, b)


class ArraySets:
    """Set operations on array shapes whose children are formulas of one algebra."""

    def __init__(self, children: Children) -> None:
        self._children = children

    def meet(self, a: ArrayShape, b: ArrayShape) -> ArrayShape | None:
        """Return the intersection; None if it is surely empty."""
        conj = self._children.conj
        length = max(len(a.prefix), len(b.prefix))
        return self.tidy(
            ArrayShape(
                tuple(conj((a.child(i), b.child(i))) for i in range(length)),
                conj((a.rest, b.rest)),
                max(a.minimum, b.minimum),
                least(a.maximum, b.maximum),
                tuple(dict.fromkeys(a.contains + b.contains)),
                a.unique or b.unique,
                a.repeated or b.repeated,
                path=a.path,
            )
        )

    def tidy(self, shape: ArrayShape) -> ArrayShape | None:
        """Return the shape cut off before the first element that nothing fits.

        None if the shape is surely empty. Trivial constraints are dropped.
        """
        prefix = list(shape.prefix)
        empty = (i for i, x in enumerate((*prefix, shape.rest)) if self._children.is_empty(x))
        maximum = least(shape.maximum, next(empty, None))
        if maximum is not None and shape.minimum > maximum:
            return None
        if maximum is not None and maximum <= len(prefix):
            del prefix[maximum:]
            shape = replace(shape, rest=NEVER)
        if shape.repeated and (shape.unique or (maximum is not None and maximum < 2)):  # noqa: PLR2004 - two elements make a repetition
            return None
        contains = []
        minimum = shape.minimum
        for each in shape.contains:
            if each.maximum is not None and each.minimum > each.maximum:
                return None
            slots = {*prefix[each.start :], *(() if shape.rest == NEVER else (shape.rest,))}
            if not any(self._children.overlap(slot, each.value) for slot in slots):
                if each.minimum:
                    return None
                continue
            if each.minimum and maximum is not None and each.start + each.minimum > maximum:
                return None
            misses = self._children.neg(each.value)
            if not any(self._children.overlap(slot, misses) for slot in slots):
                # Every element there is counted, so that this bounds the length only.
                if each.maximum is not None:
                    maximum = least(maximum, each.start + each.maximum)
                if each.minimum:
                    minimum = max(minimum, each.start + each.minimum)
                continue
            if each.minimum or each.maximum is not None:
                contains.append(each)
        if (minimum, maximum) != (shape.minimum, shape.maximum):
            bare = replace(shape, prefix=tuple(prefix), minimum=minimum, maximum=maximum)
            return self.tidy(replace(bare, contains=tuple(contains)))
        while prefix and prefix[-1] == shape.rest and len(prefix) != maximum:
            prefix.pop()
        return replace(shape, prefix=tuple(prefix), maximum=maximum, contains=tuple(contains))

    def complement(self, shape: ArrayShape) -> tuple[ArrayShape, ...]:
        """Return array shapes whose union is every array that is not in the shape."""
        neg, make = self._children.neg, partial(ArrayShape, path=shape.path)
        out = [
            make(prefix=(*(ALWAYS for _ in range(i)), neg(value)), minimum=i + 1)
            for i, value in enumerate(shape.prefix)
            if value != ALWAYS
        ]
        if shape.rest == NEVER:
            out.append(make(minimum=len(shape.prefix) + 1))
        elif shape.rest != ALWAYS:
            wrong = Contains(neg(shape.rest), len(shape.prefix), 1, None, shape.path)
            out.append(make(contains=(wrong,)))
        if shape.minimum > 0:
            out.append(make(maximum=shape.minimum - 1))
        if shape.maximum is not None:
            out.append(make(minimum=shape.maximum + 1))
        for each in shape.contains:
            if each.minimum:
                fewer = replace(each, minimum=0, maximum=each.minimum - 1)
                out.append(make(contains=(fewer,)))
            if each.maximum is not None:
                more = replace(each, minimum=each.maximum + 1, maximum=None)
                out.append(make(contains=(more,)))
        if shape.unique:
            out.append(make(repeated=True))
        if shape.repeated:
            out.append(make(unique=True))
        return tuple(each for each in map(self.tidy, out) if each is not None)

    def without_covered(self, shapes: Sequence[ArrayShape]) -> list[ArrayShape]:
        """Return the shapes without duplicates; only "any array" if that is among them."""
        unique = list(dict.fromkeys(shapes))
        return [ArrayShape()] if ArrayShape() in unique else unique
