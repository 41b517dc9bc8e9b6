"""Three-valued logic (Kleene 1938), for where patterns have two readings.

A string on which the two readings of a pattern differ neither surely matches nor surely fails. A
pattern's formula and its negation both leave such strings out, so that being disjoint with a
formula does not imply its negation; being disjoint with the *widened* formula does, which holds
wherever the formula is true or unknown.

Owns: telling which formulas have no unknowns, and widening the others. Must not know: normal
forms, keywords, engines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from enforcer.schema.algebra.formulas import FormulaKind
from enforcer.schema.nodes import ALWAYS, NEVER, Value, mentioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.schema.algebra.formulas import Formulas
    from enforcer.schema.nodes import ArrayShape, Formula, ObjectShape


@dataclass(frozen=True, slots=True)
class Widened:
    """The key of a reference to the widened target of another."""

    key: Any


class ThreeValued:
    """Answers for the formulas of one arena.

    Args:
        formulas: the arena.
        resolve: turns the key of a reference into a formula.

    """

    def __init__(self, formulas: Formulas, resolve: Callable[[Any], Formula]) -> None:
        self._formulas = formulas
        self._resolve = resolve
        self._pairs: dict[Formula, Formula] = {}
        self._exact: dict[Formula, bool] = {}
        self._widened: dict[Formula, Formula] = {}
        self._tracing = False

    def add(self, part: Formula, widened: Formula) -> None:
        """Declare what a formula with two readings may hold for."""
        self._pairs[part] = widened

    def is_exact(self, formula: Formula) -> bool:
        """Tell whether all that a formula does not hold for, its negation holds for.

        It is not where a formula with two readings can be reached.
        """
        if not self._pairs:
            return True
        known = self._exact.get(formula)
        if known is not None:
            return known
        if self._tracing:
            return False  # asked from within, before references have been read
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
        kind, content = self._formulas.look(formula)
        if kind is FormulaKind.VALUE:
            return mentioned(content)
        if kind is FormulaKind.REFERENCE:
            return (self._resolve(content),)
        if kind is FormulaKind.UNKNOWN:
            return ()
        return (content,) if kind is FormulaKind.NOT else content

    def widened(self, formula: Formula) -> Formula:
        """Return the formula that holds for all but what the negation surely holds for."""
        # What everything fits mentions itself.
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
        kind, content = self._formulas.look(formula)
        if kind is FormulaKind.VALUE:
            return formulas.value(self._mapped(content))
        if kind is FormulaKind.REFERENCE:
            is_wide = isinstance(content, Widened)
            return formula if is_wide else formulas.reference(Widened(content))
        if kind is FormulaKind.UNKNOWN:
            return formula
        if kind is FormulaKind.NOT:
            return formulas.neg(self.widened(content))
        combine = {
            FormulaKind.AND: formulas.conj,
            FormulaKind.OR: formulas.disj,
            FormulaKind.ONE_OF: formulas.one_of,
        }
        return combine[kind]([self.widened(part) for part in content])

    def _mapped(self, value: Value) -> Value:
        return replace(
            value,
            arrays=tuple(map(self._array, value.arrays)),
            objects=tuple(map(self.widened_object, value.objects)),
        )

    def _array(self, array: ArrayShape) -> ArrayShape:
        of = self.widened
        return replace(
            array,
            prefix=tuple(map(of, array.prefix)),
            rest=of(array.rest),
            contains=tuple(replace(x, value=of(x.value)) for x in array.contains),
        )

    def widened_object(self, shape: ObjectShape) -> ObjectShape:
        """Return the shape with all its children widened."""
        if not self._pairs:
            return shape
        of = self.widened
        return replace(
            shape,
            names=tuple((name, of(child)) for name, child in shape.names),
            classes=tuple((names, of(child)) for names, child in shape.classes),
            witnesses=tuple(replace(x, value=of(x.value)) for x in shape.witnesses),
        )
