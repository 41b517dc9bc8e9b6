"""Overlaps among the branches of a `oneOf`.

Every pair of branches is tested for a common value, except those that a table shows to be disjoint:
constants, and objects with a required property that is one of a few constants (a discriminator).
Must not know: keywords, engines, how formulas are stored.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from enforcer.schema.algebra.formulas import is_of_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.schema.algebra.children import Children, Constants
    from enforcer.schema.grammar import Formula

    _Signature = dict[str | None, Constants]

_FEW = 20  # branches whose pairs cost too little to be counted
_WHOLE = None  # the name under which a value that is itself one of a few constants is listed


class OneOfOverlap:
    """Finds overlapping branches of one algebra.

    Args:
        children: the algebra.

    Attributes:
        of: returns, for each formula of a tuple, the formulas that may hold with it (usually none);
            cached. Raises `SchemaLimit` if too many pairs have to be tested.

    """

    def __init__(self, children: Children) -> None:
        self._children = children
        self.of = cache(self._find)

    def _find(self, parts: tuple[Formula, ...]) -> list[list[Formula]]:
        children, apart = self._children, self._told_apart(parts)
        # Where patterns have one reading only, being disjoint is mutual.
        plain = [children.three_valued.widened(part) == part for part in parts]
        overlaps: list[set[int]] = [set() for _ in parts]
        for i, part in enumerate(parts):
            for j in apart.get(i, range(len(parts))):
                if i == j or (j < i and plain[i] and plain[j] and i in apart.get(j, (i,))):
                    continue
                if len(parts) > _FEW:
                    children.spend(1)
                if children.overlap(part, parts[j]):
                    overlaps[i].add(j)
                    if plain[i] and plain[j]:
                        overlaps[j].add(i)
        return [[parts[j] for j in sorted(listed)] for listed in overlaps]

    def _told_apart(self, parts: Sequence[Formula]) -> dict[int, set[int]]:
        """Return, for parts with constants under the commonest name, parts that may share one.

        Keys and members are indices of parts.
        """
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
        """Return the constants of a part's required properties by name; of a constant, by None."""
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
