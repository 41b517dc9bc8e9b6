"""Object shapes that differ only in which declared names must or must not be there.

Owns: merging such shapes, which `anyOf` over `required`, `dependentRequired` and the
like produce by the hundred, into one shape with several terms. Must not know: engines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from enforcer.schema.nodes import NEVER
from enforcer.schema.objects import child_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.schema.nodes import ObjectShape

_MOST_TERMS = 200


@dataclass(frozen=True, slots=True)
class Term:
    """What must hold together.

    Attributes:
        required: names that must be present.
        forbidden: names that must not.
        some: sets of names, of each of which one must be present.

    """

    required: frozenset[str]
    forbidden: frozenset[str] = frozenset()
    some: frozenset[frozenset[str]] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """All names that matter."""
        return self.required.union(self.forbidden, *self.some)

    def implies(self, other: Term) -> bool:
        """Tell whether whatever fits this term fits the other."""
        return (
            other.required <= self.required
            and other.forbidden <= self.forbidden
            and all(x in self.some or not x.isdisjoint(self.required) for x in other.some)
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """A shape whose `required` is replaced by terms, one of which must hold."""

    shape: ObjectShape
    terms: tuple[Term, ...]


def merge(shapes: Sequence[ObjectShape]) -> list[Merged]:
    """Merge shapes where that is exact; others come back alone."""
    if len(shapes) == 1:
        return [_alone(shapes[0])]
    groups: list[tuple[dict[str, int], list[ObjectShape]]] = []
    out = []
    for shape in shapes:
        if shape.minimum or shape.maximum is not None or shape.witnesses:
            out.append(_alone(shape))
            continue
        for values, members in groups:
            if len(members) < _MOST_TERMS and _joins(values, members[0], shape):
                members.append(shape)
                break
        else:
            groups.append((dict(shape.names), [shape]))
    return out + [_merged(values, members) for values, members in groups]


def _alone(shape: ObjectShape) -> Merged:
    return Merged(shape, (Term(shape.required, some=shape.some),))


def _joins(values: dict[str, int], first: ObjectShape, shape: ObjectShape) -> bool:
    """Take a shape's names into a group; False, the group unchanged, if values differ."""
    if shape.classes != first.classes:
        return False
    own = dict(shape.names)
    joined: dict[str, int] = {}
    for name in {**values, **own}:
        a = values[name] if name in values else child_of(first, name)
        b = own[name] if name in own else child_of(shape, name)
        if NEVER not in (a, b) and a != b:
            return False
        joined[name] = b if a == NEVER else a
    values.update(joined)
    return True


def _merged(values: dict[str, int], members: list[ObjectShape]) -> Merged:
    terms: list[Term] = []
    for shape in members:
        forbidden = frozenset(
            name
            for name, value in values.items()
            if value != NEVER and child_of(shape, name) == NEVER
        )
        terms.append(Term(shape.required, forbidden, shape.some))
    terms = list(dict.fromkeys(terms))
    kept = [
        term
        for i, term in enumerate(terms)
        if not any(term.implies(other) for j, other in enumerate(terms) if j != i)
    ]
    return Merged(
        replace(members[0], names=tuple(values.items()), required=frozenset(), some=frozenset()),
        tuple(kept),
    )
