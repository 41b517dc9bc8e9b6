"""Which alternatives of a `oneOf` may hold together.

Owns: asking it for every pair, except where one look tells: alternatives that are constants,
or objects with a required property that is one of a few constants (a `kind`), are told apart
by a table. Must not know: keywords, engines, how formulas are kept.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from enforcer.schema.algebra.formulas import is_of_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.schema.algebra.children import Children, Constants
    from enforcer.schema.grammar import Formula

    _Signature = dict[str | None, Constants]

_FEW = 20  # alternatives whose pairs are no work to speak of
_WHOLE = None  # stands for a value that is itself one of a few constants


class OneOfOverlap:
    """Answers for the formulas of one algebra.

    Args:
        children: answers about their parts.

    """

    def __init__(self, children: Children) -> None:
        self._children = children
        self._known: dict[tuple[Formula, ...], list[list[Formula]]] = {}

    def of(self, parts: tuple[Formula, ...]) -> list[list[Formula]]:
        """List for each part the others that may hold with it; usually there are none.

        Raises:
            SchemaLimit: too many pairs have to be looked into.

        """
        found = self._known.get(parts)
        if found is None:
            found = self._known[parts] = self._find(parts)
        return found

    def _find(self, parts: tuple[Formula, ...]) -> list[list[Formula]]:
        children, apart = self._children, self._told_apart(parts)
        # Where patterns have one reading only, being disjoint is mutual.
        plain = [children.three_valued.widened(part) == part for part in parts]
        rivals: list[set[int]] = [set() for _ in parts]
        for i, part in enumerate(parts):
            for j in apart.get(i, range(len(parts))):
                if i == j or (j < i and plain[i] and plain[j] and i in apart.get(j, (i,))):
                    continue
                if len(parts) > _FEW:
                    children.spend(1)
                if children.overlap(part, parts[j]):
                    rivals[i].add(j)
                    if plain[i] and plain[j]:
                        rivals[j].add(i)
        return [[parts[j] for j in sorted(listed)] for listed in rivals]

    def _told_apart(self, parts: Sequence[Formula]) -> dict[int, set[int]]:
        """List for parts with constants under one name the others that may have the same."""
        signatures = [self._signature(part) for part in parts]
        counts = Counter(name for signature in signatures for name in signature)
        if not counts:
            return {}
        name, _ = counts.most_common(1)[0]
        holders: dict[object, set[int]] = {}
        unknown = {i for i, signature in enumerate(signatures) if name not in signature}
        for i, signature in enumerate(signatures):
            for atom in signature.get(name, ()):
                holders.setdefault(atom, set()).add(i)
        return {
            i: unknown.union(*(holders[atom] for atom in signature[name]))
            for i, signature in enumerate(signatures)
            if name in signature
        }

    def _signature(self, part: Formula) -> _Signature:
        """List the constants by which a part is told apart, by the name that has them."""
        value = self._children.plainly(self._children.three_valued.widened(part))
        if value is None:
            return {}
        if not value.arrays and not value.objects:
            atoms = self._children.constants(value)
            return {} if atoms is None else {_WHOLE: atoms}
        if not is_of_objects(value) or len(value.objects) > 1:
            return {}
        (shape,) = value.objects
        found: _Signature = {}
        for name, child in shape.names:
            if name in shape.required:
                held = self._children.plainly(child)
                atoms = None if held is None else self._children.constants(held)
                if atoms is not None:
                    found[name] = atoms
        return found
