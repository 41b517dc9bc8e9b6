"""Formulas: Boolean combinations of value grammars, each an integer.

Owns: building them (value, reference, and, or, not, one of), so that equal formulas are the same
integer (hash consing), and what can be said by looking at one. With references, and values whose
children are formulas, they are the states of an alternating automaton (Chandra, Kozen, Stockmeyer
1981). Must not know: what values they stand for (that
is `normal_form`), keywords, engines.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from enforcer.schema.nodes import ALWAYS, ANYTHING, NEVER, NOTHING_AT_ALL, Formula

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.schema.nodes import Value


class FormulaKind(Enum):
    """The kinds of formulas."""

    VALUE = "value"
    REFERENCE = "reference"
    UNKNOWN = "unknown"
    AND = "and"
    OR = "or"
    NOT = "not"
    ONE_OF = "one of"


class Formulas:
    """An arena of formulas; each is an integer, equal formulas are the same integer."""

    def __init__(self) -> None:
        self._formulas: list[tuple[FormulaKind, Any]] = []
        self._ids: dict[tuple[FormulaKind, Any], Formula] = {}
        self._opposites: dict[Formula, Formula] = {}
        self.value(NOTHING_AT_ALL)
        self.value(ANYTHING)

    def look(self, formula: Formula) -> tuple[FormulaKind, Any]:
        """Return the kind and the content of a formula."""
        return self._formulas[formula]

    def _intern(self, kind: FormulaKind, content: Any) -> Formula:
        key = (kind, content)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = Formula(len(self._formulas))
            self._formulas.append(key)
        return found

    def value(self, value: Value) -> Formula:
        """Return the formula of a value grammar."""
        return self._intern(FormulaKind.VALUE, value)

    def reference(self, key: Any) -> Formula:
        """Return the formula of a reference, resolved when its normal form is needed."""
        return self._intern(FormulaKind.REFERENCE, key)

    def unknown(self, key: Any) -> Formula:
        """Return a formula that is treated as always true, negated or not (relax mode)."""
        return self._intern(FormulaKind.UNKNOWN, key)

    def conj(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that all parts hold."""
        return self._combine(FormulaKind.AND, parts, neutral=ALWAYS, absorbing=NEVER)

    def disj(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that some part holds."""
        return self._combine(FormulaKind.OR, parts, neutral=NEVER, absorbing=ALWAYS)

    def _combine(
        self, kind: FormulaKind, parts: Iterable[Formula], *, neutral: Formula, absorbing: Formula
    ) -> Formula:
        flat: dict[Formula, None] = {}
        for part in parts:
            found, content = self._formulas[part]
            if found is kind:
                flat.update(dict.fromkeys(content))
            elif part != neutral:
                flat[part] = None
        if absorbing in flat or any(
            self._formulas[part][0] is FormulaKind.NOT and self._formulas[part][1] in flat
            for part in flat
        ):
            return absorbing
        if len(flat) <= 1:
            return next(iter(flat), neutral)
        return self._intern(kind, tuple(sorted(flat)))

    def neg(self, part: Formula) -> Formula:
        """Return the formula that the part does not hold."""
        if part in (NEVER, ALWAYS):
            return ALWAYS if part == NEVER else NEVER
        kind, content = self._formulas[part]
        if kind is FormulaKind.NOT:
            return content  # type: ignore[no-any-return]
        if part in self._opposites:
            return self._opposites[part]
        return part if kind is FormulaKind.UNKNOWN else self._intern(FormulaKind.NOT, part)

    def implies(self, part: Formula, other: Formula) -> bool:
        """Tell whether a formula plainly implies another."""
        if part in (other, NEVER) or other == ALWAYS:
            return True
        return self._conjuncts(other) <= self._conjuncts(part)

    def _conjuncts(self, part: Formula) -> frozenset[Formula]:
        kind, content = self._formulas[part]
        return frozenset(content) if kind is FormulaKind.AND else frozenset((part,))

    def oppose(self, part: Formula, negation: Formula) -> None:
        """Declare what the negation of a formula is, where complement is not exact."""
        self._opposites[part] = negation
        self._opposites.setdefault(negation, part)

    def one_of(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that exactly one part holds."""
        listed = [part for part in parts if part != NEVER]
        if len(listed) <= 1:
            return listed[0] if listed else NEVER
        return self._intern(FormulaKind.ONE_OF, tuple(listed))
