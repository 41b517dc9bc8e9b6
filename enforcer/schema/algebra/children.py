"""What the set operations on shapes ask about the children of shapes.

Owns: that list of questions. Children are formulas, and whether one is empty depends on its
normal form, which the set operations are used to work out; so those know this protocol, and
`normal_form`, which answers it, knows them. Must not know: how anything is answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.regex import Regex
    from enforcer.schema.algebra.shapes import Formula, Value
    from enforcer.schema.algebra.three_valued import ThreeValued


class Children(Protocol):
    """Answers about formulas and about languages of names; see `normal_form.Algebra`."""

    @property
    def three_valued(self) -> ThreeValued:
        """What formulas may hold for, where patterns have two readings."""
        ...

    def conj(self, parts: Iterable[Formula]) -> Formula:
        """Return the formula that all parts hold."""
        ...

    def neg(self, part: Formula) -> Formula:
        """Return the formula that the part does not hold."""
        ...

    def narrowed(self, part: Formula, by: Formula) -> Formula:
        """Return the formula that both hold, which is the part itself where that implies it."""
        ...

    def implies(self, part: Formula, other: Formula) -> bool:
        """Tell whether a formula plainly implies another."""
        ...

    def overlap(self, part: Formula, other: Formula) -> bool:
        """Tell whether something may fit both, however patterns in the other are read."""
        ...

    def is_empty(self, formula: Formula) -> bool:
        """Tell whether surely nothing fits; False where recursion leaves it open."""
        ...

    def is_listed(self, formula: Formula) -> bool:
        """Tell whether a formula surely stands for a few constants (no array, no object)."""
        ...

    def plainly(self, formula: Formula) -> Value | None:
        """Return the normal form; None where recursion leaves it open, or nothing fits."""
        ...

    def meet_strings(self, a: Regex | None, b: Regex | None) -> Regex | None:
        """Intersect string languages; None if nothing is left."""
        ...

    def is_empty_regex(self, regex: Regex) -> bool:
        """Tell whether a string language is certainly empty (within the budget)."""
        ...

    def members(self, regex: Regex, limit: int) -> tuple[str, ...] | None:
        """List a string language that has at most `limit` members; None if it may have more."""
        ...

    def spend(self, steps: int) -> None:
        """Count work; raises `SchemaLimit` when there was too much of it."""
        ...
