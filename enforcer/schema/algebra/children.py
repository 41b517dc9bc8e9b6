"""Interface through which set operations on shapes query the shapes' children.

Children are formulas. Whether one is empty depends on its normal form, which the set operations
are used to work out; so those know this abstract class, and `normal_form`, which implements it,
knows them.
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

_FEW = 20  # strings that a property may have to discriminate between objects


class Children(Formulas, Languages, ABC):
    """An arena of formulas and of languages of names, with queries on both.

    Attributes:
        three_valued: widens formulas whose patterns have two readings.

    """

    three_valued: ThreeValued

    @abstractmethod
    def narrowed(self, part: Formula, by: Formula) -> Formula:
        """Return the conjunction; the part itself if it implies the other."""

    @abstractmethod
    def overlap(self, part: Formula, other: Formula) -> bool:
        """Return whether a value may fit both, by some reading of the patterns in `other`."""

    @abstractmethod
    def is_empty(self, formula: Formula) -> bool:
        """Return whether surely nothing fits; False if recursion leaves it open."""

    @abstractmethod
    def plainly(self, formula: Formula) -> Value | None:
        """Return the normal form if it is known; None if it is not, or is empty or any value."""

    def constants(self, value: Value) -> Constants | None:
        """Return all members as pairs of type and value; None if they are not listed.

        Members are not listed where the value allows arrays, objects, a range of numbers (even a
        short one) or more than `_FEW` strings. Every number goes with `int`.
        """
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
        """Return whether a formula surely has only a few members, all scalar."""
        value = self.plainly(formula)
        return value is not None and self.constants(value) is not None
