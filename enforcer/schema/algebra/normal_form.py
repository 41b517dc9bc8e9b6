"""The normal form of formulas: one `Value` each, worked out on demand.

This turns an alternating automaton into a non-deterministic one, state by state. Children of a
normal form stay formulas, so a recursive schema unfolds no further than needed. Must not know:
keywords, engines.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from enforcer.errors import SchemaLimit, UnsupportedSchema
from enforcer.numbers import sets as numbers
from enforcer.regex import either, inverse
from enforcer.schema.algebra.arrays import ArraySets
from enforcer.schema.algebra.children import Children
from enforcer.schema.algebra.formulas import (
    And,
    FormulaReference,
    Formulas,
    Not,
    OneOf,
    Or,
    Unknown,
)
from enforcer.schema.algebra.languages import Languages
from enforcer.schema.algebra.objects import ObjectSets
from enforcer.schema.algebra.oneof_overlap import OneOfOverlap
from enforcer.schema.algebra.three_valued import ThreeValued
from enforcer.schema.grammar import ALWAYS, ANY_OBJECT, ANYTHING, NEVER, NOTHING, Value
from enforcer.schema.limits import named

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from enforcer.schema.grammar import ArrayShape, Formula, ObjectShape
    from enforcer.schema.limits import Limits

    _Arrays = tuple[ArrayShape, ...]
    _Objects = tuple[ObjectShape, ...]

_T = TypeVar("_T")
_DEEPEST_QUESTION = 12  # nested tests for emptiness, before it is left open


class _UnderWay(Exception):  # noqa: N818 - a signal, caught where a guess is allowed
    """A normal form is needed to compute itself."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key  # of a reference on the way there; None if none is


class _Aside(NamedTuple):
    """The key of a reference to a formula that belongs to no subschema.

    Attributes:
        formula: the target.
        own: the formula with two readings that it is a part of: the sure and the wide form.

    """

    formula: Formula
    own: tuple[Formula, Formula]


class Algebra(Children):
    """An arena of formulas, and the normal form of each.

    Args:
        limits: bounds; `SchemaLimit` is raised above them.
        resolve: returns the formula that the key of a reference leads to.
        path_of: returns the `$.`-path that the key of a reference leads to.

    """

    def __init__(
        self,
        limits: Limits,
        resolve: Callable[[Hashable], Formula],
        path_of: Callable[[Hashable], str],
    ) -> None:
        Formulas.__init__(self)
        Languages.__init__(self, limits)
        self._resolve = resolve
        self._path_of = path_of
        self._normal: dict[Formula, Value] = {}
        self._under_way: dict[Formula, None] = {}  # in the order of their beginning
        self._subtracting: set[Formula] = set()
        self._empty: dict[Formula, bool] = {}
        self._asking: set[Formula] = set()
        self.arrays = ArraySets(self)
        self.objects = ObjectSets(self, limits)
        self.three_valued = ThreeValued(self, self.parts)
        self._overlap = OneOfOverlap(self)

    def narrowed(self, part: Formula, by: Formula) -> Formula:
        """Return the conjunction; the part itself if it implies the other."""
        if by == ALWAYS:
            return part
        node = self._nodes[by]
        if isinstance(node, Not) and part != ALWAYS and not self.overlap(part, node.part):
            return part
        return self.conj((part, by))

    def overlap(self, part: Formula, other: Formula) -> bool:
        """Return whether a value may fit both, by some reading of the patterns in `other`."""
        return not self.is_empty(self.conj((part, self.three_valued.widened(other))))

    def parts(self, formula: Formula) -> tuple[Formula, ...]:
        """Return the parts of a formula, or the target of a reference; none for a value."""
        node = self._nodes[formula]
        if isinstance(node, And | Or | OneOf):
            return node.parts
        if isinstance(node, Not):
            return (node.part,)
        return (self._target(node),) if isinstance(node, FormulaReference) else ()

    def two_readings(
        self, holds: Formula, may_hold: Formula, fails: Formula, may_fail: Formula
    ) -> Formula:
        """Return a formula that is neither true nor false for some values.

        Args:
            holds: the values that it is true for.
            may_hold: the values that it is not false for.
            fails: the values that it is false for.
            may_fail: the values that it is not true for, or a superset.

        """
        if holds == may_hold:
            return holds
        # The keys keep equal formulas of different pairs apart: their negations and wide forms
        # differ.
        own = (holds, may_hold)
        fails, may_fail = (self.reference(_Aside(each, own)) for each in (fails, may_fail))
        wide = self.reference(_Aside(may_hold, own), is_wide=True)
        if self._opposites.get(holds, fails) != fails:
            holds = self.reference(_Aside(holds, own))
        self.oppose(holds, fails)
        self.oppose(wide, may_fail)
        self.three_valued.add(holds, wide)
        self.three_valued.add(fails, may_fail)
        return holds

    def _target(self, reference: FormulaReference) -> Formula:
        key = reference.key
        found = key.formula if isinstance(key, _Aside) else self._resolve(key)
        return self.three_valued.widened(found) if reference.is_wide else found

    # Normal forms.

    def normal(self, formula: Formula) -> Value:
        """Return the values that a formula stands for, as a union for each JSON type.

        Raises:
            UnsupportedSchema: a reference leads back to itself without consuming anything.
            SchemaLimit: over a limit.

        """
        try:
            return self._normal_of(formula)
        except _UnderWay as loop:
            raise UnsupportedSchema.of(
                "$" if loop.key is None else self._path_of(loop.key),
                "$ref",
                "references lead back to themselves without passing through a "
                "property or an element; break the loop",
            ) from None

    def _normal_of(self, formula: Formula) -> Value:
        """Return the normal form of a formula; cached. Raise `_UnderWay` if it needs itself."""
        known = self._normal.get(formula)
        if known is not None:
            return known
        if formula in self._under_way:
            raise _UnderWay(self._reference_in(formula, *reversed(self._under_way)))
        self._under_way[formula] = None
        try:
            result = self._expand(formula)
        finally:
            del self._under_way[formula]
        self._normal[formula] = result
        return result

    def _reference_in(self, *formulas: Formula) -> Hashable:
        """Return the key of the first reference among formulas."""
        nodes = map(self._nodes.__getitem__, formulas)
        keys = (node.key for node in nodes if isinstance(node, FormulaReference))
        return next((key for key in keys if not isinstance(key, _Aside)), None)

    def _expand(self, formula: Formula) -> Value:
        node = self._nodes[formula]
        if isinstance(node, Value):
            return node
        if isinstance(node, Unknown):
            return ANYTHING
        if isinstance(node, FormulaReference):
            return self._normal_of(self._target(node))
        if isinstance(node, And):
            return self._meet_all(node.parts)
        if isinstance(node, Or):
            return self._join_all([self._normal_of(part) for part in node.parts])
        if isinstance(node, OneOf):
            return self._meet_one_of(ANYTHING, node.parts)
        return self._minus(ANYTHING, node.part)

    def _meet_one_of(self, value: Value, parts: tuple[Formula, ...]) -> Value:
        options = []
        for part, others in zip(parts, self._overlap.of(parts), strict=True):
            option = self._meet(value, self._normal_of(part))
            for other in others:
                option = self._minus(option, other)
            options.append(option)
        return self._join_all(options)

    def _minus_one_of(self, value: Value, parts: tuple[Formula, ...]) -> Value:
        """Return the part of a value for which no part of a one-of holds, or two do."""
        pairs = {
            (min(part, other), max(part, other)): None
            for part, others in zip(parts, self._overlap.of(parts), strict=True)
            for other in others
        }
        options = [self._meet_all((*pair, self.value(value))) for pair in pairs]
        for part in parts:
            value = self._minus(value, part)
        return self._join_all([value, *options])

    def _meet_all(self, parts: Iterable[Formula]) -> Value:
        """Return the normal form of a conjunction of parts."""
        values, choices, negated = [], [], []
        for part in parts:
            node = self._nodes[part]
            if isinstance(node, Not):
                negated.append(node.part)
            elif isinstance(node, OneOf):
                choices.append(node.parts)
            else:
                values.append(self._normal_of(part))
        # Few alternatives first: every product then starts from little.
        values.sort(key=lambda value: len(value.arrays) + len(value.objects))
        result = ANYTHING
        for value in values:
            result = self._meet(result, value)
        # Negations, which a one-of has too, have many alternatives, most of which the other parts
        # rule out.
        for branches in choices:
            result = self._meet_one_of(result, branches)
        for formula in negated:
            result = self._minus(result, formula)
        return result

    def _minus(self, value: Value, formula: Formula) -> Value:
        """Return a value without the part that fits a formula."""
        if formula in self._opposites:
            return self._meet(value, self._normal_of(self._opposites[formula]))
        node = self._nodes[formula]
        if isinstance(node, Value):
            return self._without(value, node)
        if isinstance(node, Unknown):
            return value
        if isinstance(node, Not):
            return self._meet(value, self._normal_of(node.part))
        if formula in self._subtracting:
            raise _UnderWay(self._reference_in(formula, *self._subtracting))
        self._subtracting.add(formula)
        try:
            if isinstance(node, FormulaReference):
                return self._minus(value, self._target(node))
            if isinstance(node, OneOf):
                return self._minus_one_of(value, node.parts)
            if isinstance(node, And):
                return self._minus_all(value, node.parts)
            for part in node.parts:
                value = self._minus(value, part)
            return value
        finally:
            self._subtracting.discard(formula)

    def _meet(self, a: Value, b: Value) -> Value:
        """Return the intersection of two values."""
        if a is ANYTHING or b is ANYTHING:
            return b if a is ANYTHING else a
        sets = (numbers.meet(x, y) for x, y in product(a.numbers, b.numbers))
        return Value(
            a.null and b.null,
            a.booleans & b.booleans,
            self._few([each for each in sets if each is not None]),
            self.meet_strings(a.strings, b.strings),
            self._meet_arrays(a.arrays, b.arrays),
            self._meet_objects(a.objects, b.objects),
        )

    def _meet_arrays(self, a: _Arrays, b: _Arrays) -> _Arrays:
        if not (a and b):
            return ()
        self.spend(len(a) * len(b))
        met = (self.arrays.meet(x, y) for x, y in product(a, b))
        return self._few(self.arrays.without_covered([x for x in met if x is not None]))

    def _meet_objects(self, a: _Objects, b: _Objects) -> _Objects:
        self.spend(len(a) * len(b))
        if not a or b == ANY_OBJECT.objects:
            return a  # a shortcut for roots of schemas, which must be objects: `b` is any
        met = (self.objects.meet(x, y) for x, y in product(a, b))
        return self._few(self.objects.without_covered([x for x in met if x is not None]))

    def _join_all(self, values: Sequence[Value]) -> Value:
        """Return the union of values."""
        strings = [value.strings for value in values if value.strings is not None]
        booleans: frozenset[bool] = frozenset()
        return Value(
            any(value.null for value in values),
            booleans.union(*(value.booleans for value in values)),
            self._few([each for value in values for each in value.numbers]),
            self._checked(either(*strings)) if strings else None,
            self._few(self.arrays.without_covered([x for v in values for x in v.arrays])),
            self._few(self.objects.without_covered([x for v in values for x in v.objects])),
        )

    def _minus_all(self, value: Value, parts: Sequence[Formula]) -> Value:
        """Return the part of a value for which some of `parts` fails."""
        options = []
        for part in sorted(parts, key=lambda x: not isinstance(self._nodes[x], Value)):
            options.append(self._minus(value, part))
            # Where this part fails is covered, so the next may fail where it holds; that makes the
            # options disjoint, and is done where it is cheap.
            node = self._nodes[part]
            if isinstance(node, Value) and len(node.objects) <= 1 and not node.arrays:
                value = self._meet(value, self._normal_of(self.three_valued.widened(part)))
        return self._join_all(options)

    def _without(self, value: Value, other: Value) -> Value:
        left = value.numbers
        for each in other.numbers:
            sets = (numbers.meet(x, y) for x, y in product(left, numbers.complement(each)))
            left = self._few([x for x in sets if x is not None])
        strings, arrays, objects = value.strings, value.arrays, value.objects
        if strings is not None and other.strings is not None:
            strings = self.meet_strings(strings, inverse(other.strings))
        for array in other.arrays:
            arrays = self._meet_arrays(arrays, self.arrays.complement(array))
        for shape in other.objects:
            objects = self._without_object(objects, shape)
        return Value(
            value.null and not other.null,
            value.booleans - other.booleans,
            left,
            strings,
            arrays,
            objects,
        )

    def _without_object(self, shapes: _Objects, other: ObjectShape) -> _Objects:
        violations = self.objects.complement(other) if shapes else ()
        left: list[ObjectShape] = []
        for shape in shapes:
            self.spend(len(violations))
            left.extend(self.objects.violating(shape, other, violations))
        return self._few(self.objects.without_covered(left))

    # Emptiness.

    def is_empty(self, formula: Formula) -> bool:
        """Return whether surely nothing fits; False if recursion leaves it open."""
        if formula == NEVER or isinstance(self._nodes[formula], Value):
            return formula == NEVER
        known = self._empty.get(formula)
        if known is not None:
            return known
        if (
            formula in self._asking
            or formula in self._under_way
            or len(self._asking) > _DEEPEST_QUESTION
        ):
            return False
        self._asking.add(formula)
        try:
            value = self._normal_of(formula)
        except _UnderWay:
            return False
        finally:
            self._asking.discard(formula)
        self._empty[formula] = value == NOTHING
        return self._empty[formula]

    def plainly(self, formula: Formula) -> Value | None:
        """Return the normal form if it is known; None if it is not, or is empty or any value."""
        if formula == ALWAYS or self.is_empty(formula):
            return None
        node = self._nodes[formula]
        return node if isinstance(node, Value) else self._normal.get(formula)

    # Limits.

    def _few(self, parts: list[_T]) -> tuple[_T, ...]:
        """Return alternatives without duplicates; raise `SchemaLimit` if there are too many."""
        out = tuple(dict.fromkeys(parts)) if len(parts) > 1 else tuple(parts)
        if len(out) > self._limits.branches:
            raise SchemaLimit.of(
                getattr(out[0], "path", "$"),
                "",
                f"one value has more than {self._limits.branches} alternatives "
                f"{named('branches')}; use fewer overlapping branches",
            )
        return out
