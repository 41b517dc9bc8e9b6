"""Intersection and complement of object shapes.

Children are combined as formulas, and only asked whether they are empty or overlap. Must not know:
keywords, engines, how formulas are stored.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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

    _Classes = tuple[tuple[Regex, Formula], ...]

_COMPARED = 64  # shapes compared with each other to drop those that others cover


class ObjectSets:
    """Set operations on object shapes whose children are formulas of one algebra."""

    def __init__(self, children: Children, limits: Limits) -> None:
        self._children = children
        self._limits = limits

    def meet(self, a: ObjectShape, b: ObjectShape) -> ObjectShape | None:
        """Return the intersection; None if it is surely empty."""
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

    def _meet_classes(self, a: _Classes, b: _Classes) -> _Classes:
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
        """Return whether `tidy` surely changes nothing, by a cheap test that most shapes pass."""
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
        """Return the shape with all required names declared; None if it is surely empty."""
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
            # The required names, and no others.
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
        """Yield the parts of a shape in which one certain property is the witness.

        In all but the last it is a declared name, which is required there; in the last, which keeps
        the witness, it is an undeclared one.
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
            violations: the complement of `other`.

        """
        if self.meet(shape, self._children.three_valued.widened_object(other)) is None:
            return [shape]
        # A property with few values is a discriminator. Its violation comes first, and in all
        # shapes that follow its value is right, so that they are disjoint.
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
        children, neg = self._children, self._children.neg
        make = partial(ObjectShape, path=shape.path)
        # A required name is missing, or its value is wrong: one shape is both.
        out = [make(names=((name, neg(shape.child(name))),)) for name in sorted(shape.required)]
        for name, value in shape.names:
            if value != ALWAYS and name not in shape.required:
                out.append(make(names=((name, neg(value)),), required=frozenset({name})))
        undeclared: Regex = ANY
        if shape.names:
            undeclared = inverse(either(*(literal(name) for name, _ in shape.names)))
        for regex, value in shape.classes:
            if value == ALWAYS or children.is_empty_regex(names := both(regex, undeclared)):
                continue
            members = children.members(names, self._limits.name_bits)
            if members is None:
                out.append(make(witnesses=(Witness(names, neg(value), shape.path),)))
            out += [
                make(names=((name, neg(value)),), required=frozenset({name}))
                for name in members or ()
            ]
        if shape.minimum > 0:
            out.append(make(maximum=shape.minimum - 1))
        if shape.maximum is not None:
            out.append(make(minimum=shape.maximum + 1))
        for witness in shape.witnesses:
            others = inverse(witness.names)
            out.append(make(classes=((witness.names, neg(witness.value)), (others, ALWAYS))))
        return tuple(each for each in map(self.tidy, out) if each is not None)

    def without_covered(self, shapes: Sequence[ObjectShape]) -> list[ObjectShape]:
        """Return the shapes without duplicates and without those that another one contains."""
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
        """Return whether `big` surely contains `small`, judged by comparing their parts."""
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
