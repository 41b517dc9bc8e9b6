"""Three-valued logic (Kleene 1938), for where patterns have two readings.

A string on which the two readings of a pattern differ neither surely matches nor surely fails. A
pattern's formula and its negation both leave such strings out, so that being disjoint with a
formula does not imply its negation; being disjoint with the *widened* formula does, which holds
wherever the formula is true or unknown.

Must not know: normal forms, keywords, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from enforcer.schema.algebra.formulas import And, FormulaReference, Not, Or, Unknown
from enforcer.schema.grammar import ALWAYS, NEVER, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.schema.algebra.formulas import Formulas
    from enforcer.schema.grammar import Formula, ObjectShape


class ThreeValued:
    """Widens the formulas of one arena.

    Args:
        formulas: the arena.
        parts: returns the parts of a formula, or the target of a reference.

    """

    def __init__(self, formulas: Formulas, parts: Callable[[Formula], tuple[Formula, ...]]) -> None:
        self._formulas = formulas
        self._parts = parts
        self._pairs: dict[Formula, Formula] = {}
        self._exact: dict[Formula, bool] = {}
        self._widened: dict[Formula, Formula] = {}
        self._tracing = False

    def add(self, part: Formula, widened: Formula) -> None:
        """Declare the widened form of a formula with two readings."""
        self._pairs[part] = widened

    def is_exact(self, formula: Formula) -> bool:
        """Return whether a formula and its negation together hold for every value.

        They do not if a formula with two readings can be reached from it.
        """
        if not self._pairs:
            return True
        known = self._exact.get(formula)
        if known is not None:
            return known
        if self._tracing:
            return False  # a recursive call, before references have been read
        self._tracing = True
        try:
            return self._trace(formula)
        finally:
            self._tracing = False

    def _trace(self, formula: Formula) -> bool:
        seen, queue = {formula}, [formula]
        for each in queue:
            if each in self._pairs or self._exact.get(each) is False:
                self._exact[formula] = False
                return False
            fresh = [x for x in self._reached(each) if x not in seen and not self._exact.get(x)]
            seen.update(fresh)
            queue.extend(fresh)
        self._exact.update(dict.fromkeys(seen, True))
        return True

    def _reached(self, formula: Formula) -> Iterable[Formula]:
        node = self._formulas.look(formula)
        return node.children() if isinstance(node, Value) else self._parts(formula)

    def widened(self, formula: Formula) -> Formula:
        """Return the formula that holds wherever the negation does not surely hold."""
        # `ALWAYS` has itself as child.
        if formula in (NEVER, ALWAYS) or self.is_exact(formula):
            return formula
        found = self._widened.get(formula)
        if found is None:
            found = self._widened[formula] = self._widen(formula)
        return found

    def _widen(self, formula: Formula) -> Formula:
        formulas = self._formulas
        if formula in self._pairs:
            return self._pairs[formula]
        node = formulas.look(formula)
        if isinstance(node, Value):
            return formulas.value(node.mapped(self.widened))
        if isinstance(node, FormulaReference):
            return formulas.reference(node.key, is_wide=True)
        if isinstance(node, Unknown):
            return formula
        if isinstance(node, Not):
            return formulas.neg(self.widened(node.part))
        parts = [self.widened(part) for part in node.parts]
        if isinstance(node, And):
            return formulas.conj(parts)
        return formulas.disj(parts) if isinstance(node, Or) else formulas.one_of(parts)

    def widened_object(self, shape: ObjectShape) -> ObjectShape:
        """Return the shape with all its children widened."""
        return shape.mapped(self.widened) if self._pairs else shape
