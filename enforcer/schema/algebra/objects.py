"""Intersection and complement of object shapes.

Owns: the set operations on one shape at a time; children are combined as formulas and
not looked into, except to drop what is plainly empty. Must not know:
keywords, engines, how formulas are kept.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product
from typing import TYPE_CHECKING

from enforcer.errors import SchemaLimit
from enforcer.regex import ANY, both, either, fullmatch, inverse, literal
from enforcer.schema.algebra.arrays import least
from enforcer.schema.grammar import ALWAYS, NEVER, ObjectShape, Witness
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from enforcer.regex import Regex
    from enforcer.schema.algebra.children import Children
    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Limits

_COMPARED = 64  # shapes compared with each other to drop those that others cover


class ObjectSets:
    """Set operations on object shapes, of whose children `Children` can tell."""

    def __init__(self, children: Children, limits: Limits) -> None:
        self._children = children
        self._limits = limits

    def meet(self, a: ObjectShape, b: ObjectShape) -> ObjectShape | None:
        """Intersect; None if surely no object is left."""
        # Work grows with the names, not only with the shapes.
        self._children.spend((len(a.names) + len(b.names)) // 2)
        narrowed = self._children.narrowed
        of_a, of_b = dict(a.names), dict(b.names)
        names = {
            name: narrowed(value, of_b[name] if name in of_b else b.undeclared(name))
            for name, value in a.names
        }
        for name, value in b.names:
            if name not in of_a:
                names[name] = narrowed(a.undeclared(name), value)
        return self.tidy(
            ObjectShape(
                names=tuple(names.items()),
                classes=self._meet_classes(a.classes, b.classes),
                required=a.required | b.required,
                minimum=max(a.minimum, b.minimum),
                maximum=least(a.maximum, b.maximum),
                witnesses=tuple(dict.fromkeys(a.witnesses + b.witnesses)),
                path=a.path,
            )
        )

    def _meet_classes(
        self, a: tuple[tuple[Regex, Formula], ...], b: tuple[tuple[Regex, Formula], ...]
    ) -> tuple[tuple[Regex, Formula], ...]:
        if a == b:
            return a
        merged: dict[Formula, Regex] = {}
        self._children.spend(len(a) * len(b))
        for (x, f), (y, g) in product(a, b):
            names = self._children.meet_strings(x, y)
            if names is not None:
                value = self._children.conj((f, g))
                merged[value] = either(merged[value], names) if value in merged else names
        if len(merged) == 1:
            return ((ANY, next(iter(merged))),)
        if len(merged) > self._limits.branches:
            reason = f"too many overlapping name patterns {named('branches')}"
            raise SchemaLimit.of("$", "patternProperties", reason)
        return tuple((names, value) for value, names in merged.items())

    def _is_tidy(self, shape: ObjectShape) -> bool:
        """Return by a look that `tidy` would change nothing, as of nearly all that is written."""
        if shape.witnesses or shape.minimum or shape.maximum is not None:
            return False
        left = len(shape.required)
        for name, value in shape.names if left else ():
            if name in shape.required:
                if self._children.is_empty(value):
                    return False
                left -= 1
        return not left

    def tidy(self, shape: ObjectShape) -> ObjectShape | None:
        """Declare the required names and drop the shape if a property cannot exist."""
        if self._is_tidy(shape):
            return shape
        shape, witnesses = replace(shape, witnesses=()), shape.witnesses
        for witness in witnesses:
            placed = [*islice(self.placed(shape, witness), 2)]
            if not placed:
                return None
            shape = placed[0] if len(placed) == 1 else _with_witness(shape, witness)
        names, required = dict(shape.names), shape.required
        for name in sorted(required):
            if name not in names:
                names[name] = shape.undeclared(name)
            if self._children.is_empty(names[name]):
                return None
        maximum = shape.maximum
        minimum = max(shape.minimum, len(required))
        if maximum is not None and minimum > maximum:
            return None
        if maximum is not None and maximum == len(required):
            # No room is left: the required names, and no others.
            return self.tidy(
                replace(
                    shape,
                    names=tuple((name, names[name]) for name in names if name in required),
                    classes=((ANY, NEVER),),
                    minimum=0,
                    maximum=None,
                )
            )
        if all(value == NEVER for _, value in shape.classes):
            count = sum(value != NEVER for value in names.values())
            if count < minimum:
                return None
            if maximum is not None and maximum >= count:
                maximum = None
        return replace(
            shape,
            names=tuple(names.items()),
            minimum=0 if minimum <= len(required) else minimum,
            maximum=maximum,
        )

    def placed(self, shape: ObjectShape, witness: Witness) -> Iterator[ObjectShape]:
        """Split a shape by the property that is a witness.

        A declared name that is one is required. In the last shape it is an undeclared property.
        """
        children = self._children
        for i, (name, value) in enumerate(shape.names):
            if witness.names == ANY or fullmatch(witness.names, name):
                hit = children.conj((value, witness.value))
                if not children.is_empty(hit):
                    names = (*shape.names[:i], (name, hit), *shape.names[i + 1 :])
                    yield replace(shape, names=names, required=shape.required | {name})
        if any(
            children.meet_strings(names, witness.names) is not None
            and not children.is_empty(children.conj((value, witness.value)))
            for names, value in shape.classes
        ):
            yield _with_witness(shape, witness)

    def violating(
        self, shape: ObjectShape, other: ObjectShape, violations: Sequence[ObjectShape]
    ) -> list[ObjectShape]:
        """Return shapes whose union is every object of `shape` that is not in `other`.

        Args:
            shape: the shape to start from.
            other: the shape to leave out.
            violations: the complement of that shape.

        """
        if self.meet(shape, self._children.three_valued.widened_object(other)) is None:
            return [shape]
        # A property with few values (a `kind`) tells alternatives apart: having settled that
        # it is wrong, it is right in all that follows, and those exclude one another.
        pivots = {name: value for name, value in other.names if self._children.is_listed(value)}
        out: list[ObjectShape] = []
        room: ObjectShape | None = shape
        for each in sorted(violations, key=lambda x: _wrong_name(x) not in pivots):
            met = None if room is None else self.meet(room, each)
            if met is not None and room is not None and self._covers(met, room):
                return [*out, room]
            if met is not None:
                out.append(met)
            name = _wrong_name(each)
            if room is not None and name in pivots:
                right = ObjectShape(names=((name, pivots[name]),), required=other.required & {name})
                room = self.meet(room, right)
        return out

    def complement(self, shape: ObjectShape) -> tuple[ObjectShape, ...]:
        """Return object shapes whose union is every object that is not in the shape."""
        neg, path = self._children.neg, shape.path
        # A required name is not there, or it is and its value is wrong: one shape is both.
        out = [
            ObjectShape(names=((name, neg(shape.child(name))),), path=path)
            for name in sorted(shape.required)
        ]
        for name, value in shape.names:
            if value != ALWAYS and name not in shape.required:
                out.append(
                    ObjectShape(names=((name, neg(value)),), required=frozenset({name}), path=path)
                )
        undeclared = inverse(either(*(literal(name) for name, _ in shape.names)))
        if not shape.names:
            undeclared = ANY
        for regex, value in shape.classes:
            if value != ALWAYS:
                names = both(regex, undeclared)
                if not self._children.is_empty_regex(names):
                    out.extend(self._witness(names, neg(value), path))
        if shape.minimum > 0:
            out.append(ObjectShape(maximum=shape.minimum - 1, path=path))
        if shape.maximum is not None:
            out.append(ObjectShape(minimum=shape.maximum + 1, path=path))
        out.extend(
            ObjectShape(
                classes=((witness.names, neg(witness.value)), (inverse(witness.names), ALWAYS)),
                path=path,
            )
            for witness in shape.witnesses
        )
        tidied = (self.tidy(each) for each in out)
        return tuple(each for each in tidied if each is not None)

    def _witness(self, names: Regex, value: Formula, path: str) -> list[ObjectShape]:
        members = self._children.members(names, self._limits.name_bits)
        if members is None:
            return [ObjectShape(witnesses=(Witness(names, value, path),), path=path)]
        return [
            ObjectShape(names=((name, value),), required=frozenset({name}), path=path)
            for name in members
        ]

    def without_covered(self, shapes: Sequence[ObjectShape]) -> list[ObjectShape]:
        """Drop shapes that another one plainly contains."""
        if len(shapes) <= 1:
            return list(shapes)
        unique = list(dict.fromkeys(shapes))
        if not 1 < len(unique) <= _COMPARED:
            return unique
        self._children.spend(len(unique) ** 2 // 4)
        kept: list[ObjectShape] = []
        for shape in sorted(unique, key=_constraints):
            if not any(self._covers(other, shape) for other in kept):
                kept.append(shape)
        order = {shape: i for i, shape in enumerate(unique)}
        return sorted(kept, key=order.__getitem__)

    def _covers(self, big: ObjectShape, small: ObjectShape) -> bool:
        """Return whether every object of `small` is plainly one of `big` (names compared too)."""
        implies = self._children.implies
        if big.classes not in (small.classes, ((ANY, ALWAYS),)):
            return False
        if (
            not big.required <= small.required
            or big.minimum > max(small.minimum, len(small.required))
            or (big.maximum is not None and big.maximum != small.maximum)
            or not set(big.witnesses) <= set(small.witnesses)
        ):
            return False
        for name, value in big.names:
            if value != ALWAYS and not implies(small.child(name), value):
                return False
        declared = {name for name, _ in big.names}
        return big.classes == ((ANY, ALWAYS),) or all(
            implies(value, big.undeclared(name))
            for name, value in small.names
            if name not in declared
        )


def _wrong_name(violation: ObjectShape) -> str | None:
    """Return the one name whose value is wrong; None for another violation."""
    return violation.names[0][0] if len(violation.names) == 1 else None


def _with_witness(shape: ObjectShape, witness: Witness) -> ObjectShape:
    return replace(shape, witnesses=(*shape.witnesses, witness))


def _constraints(shape: ObjectShape) -> int:
    return (
        len(shape.required)
        + len(shape.witnesses)
        + sum(value != ALWAYS for _, value in shape.names)
        + 2 * sum(value != ALWAYS for _, value in shape.classes)
        + bool(shape.minimum)
        + (shape.maximum is not None)
    )
