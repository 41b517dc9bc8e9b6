"""Intersection and complement of array shapes.

Owns: the set operations on one shape at a time; children are combined as formulas and
not looked into, except to drop what is plainly empty. Must not know:
keywords, engines, how formulas are kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from enforcer.schema.grammar import ALWAYS, NEVER, ArrayShape, Contains

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from enforcer.schema.algebra.children import Children
    from enforcer.schema.grammar import Formula


def least(a: int | None, b: int | None) -> int | None:
    """Return the smaller of two maxima, None being no maximum."""
    return b if a is None else a if b is None else min(a, b)


class ArraySets:
    """Set operations on array shapes, of whose children `Children` can tell."""

    def __init__(self, children: Children) -> None:
        self._children = children

    def meet(self, a: ArrayShape, b: ArrayShape) -> ArrayShape | None:
        """Intersect; None if surely no array is left."""
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
        """Cut the shape off where no element can follow; None if it must follow."""
        prefix, maximum = list(shape.prefix), shape.maximum
        for i in range(len(prefix)):
            if self._children.is_empty(prefix[i]):
                maximum = least(maximum, i)
                break
        else:
            if self._children.is_empty(shape.rest):
                maximum = least(maximum, len(prefix))
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
            if self._all_fit(slots, each.value):
                # Whatever stands there is counted, so that this is about the length only.
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

    def _all_fit(self, parts: Iterable[Formula], value: Formula) -> bool:
        return not any(self._children.overlap(part, self._children.neg(value)) for part in parts)

    def complement(self, shape: ArrayShape) -> tuple[ArrayShape, ...]:
        """Return array shapes whose union is every array that is not in the shape."""
        neg, path = self._children.neg, shape.path
        out = [
            ArrayShape(prefix=(*(ALWAYS for _ in range(i)), neg(value)), minimum=i + 1, path=path)
            for i, value in enumerate(shape.prefix)
            if value != ALWAYS
        ]
        if shape.rest != ALWAYS:
            out.append(
                ArrayShape(
                    contains=(Contains(neg(shape.rest), len(shape.prefix), 1, None, path),),
                    path=path,
                )
                if shape.rest != NEVER
                else ArrayShape(minimum=len(shape.prefix) + 1, path=path)
            )
        if shape.minimum > 0:
            out.append(ArrayShape(maximum=shape.minimum - 1, path=path))
        if shape.maximum is not None:
            out.append(ArrayShape(minimum=shape.maximum + 1, path=path))
        for each in shape.contains:
            if each.minimum:
                out.append(
                    ArrayShape(
                        contains=(replace(each, minimum=0, maximum=each.minimum - 1),), path=path
                    )
                )
            if each.maximum is not None:
                out.append(
                    ArrayShape(
                        contains=(replace(each, minimum=each.maximum + 1, maximum=None),), path=path
                    )
                )
        if shape.unique:
            out.append(ArrayShape(repeated=True, path=path))
        if shape.repeated:
            out.append(ArrayShape(unique=True, path=path))
        tidied = (self.tidy(each) for each in out)
        return tuple(each for each in tidied if each is not None)

    def without_covered(self, shapes: Sequence[ArrayShape]) -> list[ArrayShape]:
        """Drop shapes that another one plainly contains."""
        unique = list(dict.fromkeys(shapes))
        if ArrayShape() in unique:
            return [ArrayShape()]
        return unique
