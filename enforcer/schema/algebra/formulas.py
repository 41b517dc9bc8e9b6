"""Formulas: Boolean combinations of value grammars, each an integer.

Owns: building them (value, reference, and, or, not, one of), so that equal formulas are the same
integer (hash consing), and what can be said by looking at one. With references, and values whose
children are formulas, they are the states of an alternating automaton (Chandra, Kozen, Stockmeyer
1981). Must not know: what values they stand for (that is `normal_form`), keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from enforcer.schema.grammar import ALWAYS, ANYTHING, NEVER, NOTHING, Formula, Value

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


@dataclass(frozen=True, slots=True)
class FormulaReference:
    """Whatever its key leads to; with the reader of a schema, another subschema.

    Attributes:
        key: what is resolved, when the normal form is needed.
        is_wide: whether it stands for what the target may hold for, see `three_valued`.

    """

    key: Hashable
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is treated as true, negated or not; told from others by its key."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Not:
    """What the part does not hold for."""

    part: Formula


@dataclass(frozen=True, slots=True)
class And:
    """What all parts hold for."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """What some part holds for."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """What exactly one part holds for."""

    parts: tuple[Formula, ...]


# What a formula says; a value says it by itself.
Node: TypeAlias = Value | FormulaReference | Unknown | Not | And | Or | OneOf


def is_of_objects(node: Node) -> bool:
    """Return whether what a formula says is a value, and allows nothing but objects."""
    return isinstance(node, Value) and bool(node.objects) and node == Value(objects=node.objects)


_FIRST: dict[Node, Formula] = {NOTHING: NEVER, ANYTHING: ALWAYS}


class Formulas:
    """An arena of formulas; each is an integer, equal formulas are the same integer."""

    def __init__(self) -> None:
        self._nodes: list[Node] = list(_FIRST)
        self._ids = _FIRST.copy()
        self._opposites: dict[Formula, Formula] = {}

    def look(self, formula: Formula) -> Node:
        """Return what a formula says."""
        return self._nodes[formula]

    def _intern(self, node: Node) -> Formula:
        new = Formula(len(self._nodes))
        found = self._ids.setdefault(node, new)  # to work out a hash takes longer than the rest
        if found == new:
            self._nodes.append(node)
        return found

    def value(self, value: Value) -> Formula:
        """Return the formula of a value grammar."""
        return self._intern(value)

    def reference(self, key: Hashable, *, is_wide: bool = False) -> Formula:
        """Return the formula of a reference, resolved when its normal form is needed."""
        return self._intern(FormulaReference(key, is_wide))

    def unknown(self, key: Hashable) -> Formula:
        """Return a formula that is treated as always true, negated or not (relax mode)."""
        return self._intern(Unknown(key))

    def conj(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that all parts hold."""
        return self._combine(And, parts, neutral=ALWAYS, absorbing=NEVER)

    def disj(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that some part holds."""
        return self._combine(Or, parts, neutral=NEVER, absorbing=ALWAYS)

    def _combine(
        self,
        kind: type[And | Or],
        parts: Iterable[Formula],
        *,
        neutral: Formula,
        absorbing: Formula,
    ) -> Formula:
        nodes = self._nodes
        flat: dict[Formula, None] = {}
        for part in parts:
            node = nodes[part]
            if isinstance(node, kind):
                flat.update(dict.fromkeys(node.parts))
            elif part != neutral:
                flat[part] = None
        if len(flat) <= 1:
            return next(iter(flat), neutral)
        if absorbing in flat or any(
            isinstance(node := nodes[part], Not) and node.part in flat for part in flat
        ):
            return absorbing
        return self._intern(kind(tuple(sorted(flat))))

    def neg(self, part: Formula) -> Formula:
        """Return the formula that the part does not hold."""
        if part in (NEVER, ALWAYS):
            return ALWAYS if part == NEVER else NEVER
        node = self._nodes[part]
        if isinstance(node, Not):
            return node.part
        if part in self._opposites:
            return self._opposites[part]
        return part if isinstance(node, Unknown) else self._intern(Not(part))

    def implies(self, part: Formula, other: Formula) -> bool:
        """Return whether a formula plainly implies another."""
        if part in (other, NEVER) or other == ALWAYS:
            return True
        return self._conjuncts(other) <= self._conjuncts(part)

    def _conjuncts(self, part: Formula) -> frozenset[Formula]:
        node = self._nodes[part]
        return frozenset(node.parts) if isinstance(node, And) else frozenset((part,))

    def oppose(self, part: Formula, negation: Formula) -> None:
        """Declare what the negation of a formula is, where complement is not exact."""
        self._opposites[part] = negation
        self._opposites.setdefault(negation, part)

    def one_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that exactly one part holds."""
        listed = [part for part in parts if part != NEVER]
        if len(listed) <= 1:
            return listed[0] if listed else NEVER
        return self._intern(OneOf(tuple(listed)))
