"""What the set operations on shapes ask about the children of shapes.

Owns: that list of questions. Children are formulas, and whether one is empty depends on its
normal form, which the set operations are used to work out; so those know this class, and
`normal_form`, which answers, knows them. Must not know: how anything is answered that takes a
normal form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from enforcer.schema.algebra.formulas import Formulas
from enforcer.schema.algebra.languages import Languages

if TYPE_CHECKING:
    from enforcer.schema.algebra.three_valued import ThreeValued
    from enforcer.schema.grammar import Formula, Value

    Constants = frozenset[object]

_FEW = 20  # strings that a property may have and still be taken for a `kind`


class Children(Formulas, Languages, ABC):
    """An arena of formulas, and of languages of names, that can tell something of each.

    Attributes:
        three_valued: what formulas may hold for, where patterns have two readings.

    """

    three_valued: ThreeValued

    @abstractmethod
    def narrowed(self, part: Formula, by: Formula) -> Formula:
        """Return the formula that both hold, which is the part itself where that implies it."""

    @abstractmethod
    def overlap(self, part: Formula, other: Formula) -> bool:
        """Return whether something may fit both, however patterns in the other are read."""

    @abstractmethod
    def is_empty(self, formula: Formula) -> bool:
        """Return whether surely nothing fits; False where recursion leaves it open."""

    @abstractmethod
    def plainly(self, formula: Formula) -> Value | None:
        """Return the normal form; None where recursion leaves it open, or nothing fits."""

    def constants(self, value: Value) -> Constants | None:
        """List what a value stands for; None if it is an array, an object, or more than a few."""
        if value.arrays or value.objects:
            return None
        if not all(each.low is not None and each.low == each.high for each in value.numbers):
            return None
        texts = () if value.strings is None else self.members(value.strings, _FEW)
        if texts is None:
            return None
        # A boolean equals a number in Python, so each constant goes with its type.
        return frozenset(
            [
                *((type(None), None) for _ in range(value.null)),
                *((bool, each) for each in value.booleans),
                *((int, each.low) for each in value.numbers),
                *((str, each) for each in texts),
            ]
        )

    def is_listed(self, formula: Formula) -> bool:
        """Return whether a formula surely stands for a few constants (no array, no object)."""
        value = self.plainly(formula)
        return value is not None and self.constants(value) is not None
