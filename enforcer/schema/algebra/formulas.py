"""Formulas: Boolean combinations of value grammars, each an integer.

Equal formulas are the same integer (hash consing). With references, and values whose children are
formulas, they are the states of an alternating automaton (Chandra, Kozen, Stockmeyer 1981). The
values that a formula stands for are worked out in `normal_form`. Must not know: keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from enforcer.schema.grammar import ALWAYS, ANYTHING, NEVER, NOTHING, Formula, Value

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable


@dataclass(frozen=True, slots=True)
class FormulaReference:
    """The formula of another subschema, resolved when the normal form is needed.

    Attributes:
        key: what the algebra's `resolve` turns into a formula.
        is_wide: whether the target is widened; see `three_valued`.

    """

    key: Hashable
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A formula that is treated as true, negated or not; equal if its key is."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a part."""

    part: Formula


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of parts."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of parts."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The formula that exactly one part holds."""

    parts: tuple[Formula, ...]


# The node of a formula; a value is one by itself.
Node: TypeAlias = Value | FormulaReference | Unknown | Not | And | Or | OneOf


def is_of_objects(node: Node) -> bool:
    """Return whether a node is a value that allows objects only."""
    return isinstance(node, Value) and bool(node.objects) and node == Value(objects=node.objects)


_FIRST: dict[Node, Formula] = {NOTHING: NEVER, ANYTHING: ALWAYS}


class Formulas:
    """An arena of formulas; each is an integer, equal formulas are the same integer."""

    def __init__(self) -> None:
        self._nodes: list[Node] = list(_FIRST)
        self._ids = _FIRST.copy()
        self._opposites: dict[Formula, Formula] = {}

    def look(self, formula: Formula) -> Node:
        """Return the node of a formula."""
        return self._nodes[formula]

    def _intern(self, node: Node) -> Formula:
        """Return the formula of a node; append the node to the arena if it is new."""
        new = Formula(len(self._nodes))
        found = self._ids.setdefault(node, new)  # hashed once: that takes longest
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
        """Return a formula that is treated as true, negated or not (relax mode)."""
        return self._intern(Unknown(key))

    def conj(self, parts: Iterable[Formula]) -> Formula:
        """Return the conjunction of parts."""
        return self._combine(And, parts)

    def disj(self, parts: Iterable[Formula]) -> Formula:
        """Return the disjunction of parts."""
        return self._combine(Or, parts)

    def _combine(self, kind: type[And | Or], parts: Iterable[Formula]) -> Formula:
        """Return a flat conjunction or disjunction, without neutral and repeated parts."""
        neutral, absorbing = (ALWAYS, NEVER) if kind is And else (NEVER, ALWAYS)
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
        """Return the negation of a part."""
        if part in (NEVER, ALWAYS):
            return ALWAYS if part == NEVER else NEVER
        node = self._nodes[part]
        if isinstance(node, Not):
            return node.part
        if part in self._opposites:
            return self._opposites[part]
        return part if isinstance(node, Unknown) else self._intern(Not(part))

    def implies(self, part: Formula, other: Formula) -> bool:
        """Return whether a formula implies another, judged by their conjuncts alone."""
        if part in (other, NEVER) or other == ALWAYS:
            return True
        return self._conjuncts(other) <= self._conjuncts(part)

    def _conjuncts(self, part: Formula) -> frozenset[Formula]:
        node = self._nodes[part]
        return frozenset(node.parts) if isinstance(node, And) else frozenset((part,))

    def oppose(self, part: Formula, negation: Formula) -> None:
        """Declare the negation of a formula whose complement is not exact."""
        self._opposites[part] = negation
        self._opposites.setdefault(negation, part)

    def one_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that exactly one part holds."""
        listed = [part for part in parts if part != NEVER]
        if len(listed) <= 1:
            return listed[0] if listed else NEVER
        return self._intern(OneOf(tuple(listed)))
