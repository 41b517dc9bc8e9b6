"""Boolean combinations of value grammars, worked out on demand.

Owns: formulas (value, reference, and, or, not) over integers, and their normal form,
one `Value` each. Children of a normal form stay formulas, so a recursive schema
unfolds no further than it is asked to. Must not know: keywords, engines.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from enforcer.errors import Problem, SchemaLimit, UnsupportedSchema
from enforcer.regex import either, inverse
from enforcer.schema import numbers
from enforcer.schema.arrays import ArraySets
from enforcer.schema.languages import Languages
from enforcer.schema.nodes import ALWAYS, ANYTHING, NEVER, NOTHING_AT_ALL, Value
from enforcer.schema.objects import ObjectSets
from enforcer.schema.readings import Kind, Readings, Widened
from enforcer.schema.rivals import Rivals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from enforcer.schema.limits import Limits
    from enforcer.schema.nodes import ArrayShape, ObjectShape


_T = TypeVar("_T")


_FEW = 20  # strings that a property may have and still be taken for a `kind`
_DEEPEST_QUESTION = 12  # levels looked into for emptiness before it is left open


class _UnderWay(Exception):  # noqa: N818 - a signal, caught where a guess is allowed
    """A normal form is needed to compute itself."""

    def __init__(self, key: Any) -> None:
        super().__init__(key)
        self.key = key  # of a reference on the way; None where none is


class Algebra(Languages):
    """An arena of formulas; each is an integer, equal formulas are the same integer.

    Args:
        limits: bounds; `SchemaLimit` is raised above them.
        resolve: turns the key of a reference into a formula.
        path_of: turns the key of a reference into the path of what it leads to.

    """

    def __init__(
        self, limits: Limits, resolve: Callable[[Any], int], path_of: Callable[[Any], str]
    ) -> None:
        super().__init__(limits)
        self._resolve = resolve
        self._path_of = path_of
        self._formulas: list[tuple[Kind, Any]] = []
        self._ids: dict[tuple[Kind, Any], int] = {}
        self._normal: dict[int, Value] = {}
        self._under_way: dict[int, None] = {}  # in order
        self._subtracting: set[int] = set()
        self._empty: dict[int, bool] = {}
        self._asking: set[int] = set()
        self.arrays = ArraySets(self)
        self.objects = ObjectSets(self, limits)
        self.readings = Readings(self, self._formulas.__getitem__, self._target)
        self._rivals = Rivals(self)
        self._opposites: dict[int, int] = {}
        self.value(NOTHING_AT_ALL)
        self.value(ANYTHING)

    # Building formulas.

    def _intern(self, kind: Kind, content: Any) -> int:
        key = (kind, content)
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._formulas)
            self._formulas.append(key)
        return found

    def value(self, value: Value) -> int:
        """Return the formula of a value grammar."""
        return self._intern(Kind.VALUE, value)

    def reference(self, key: Any) -> int:
        """Return the formula of a reference, resolved when its normal form is needed."""
        return self._intern(Kind.REFERENCE, key)

    def unknown(self, key: Any) -> int:
        """Return a formula that is treated as always true, negated or not (relax mode)."""
        return self._intern(Kind.UNKNOWN, key)

    def conj(self, parts: Iterable[int]) -> int:
        """Return the formula that all parts hold."""
        return self._combine(Kind.AND, parts, neutral=ALWAYS, absorbing=NEVER)

    def disj(self, parts: Iterable[int]) -> int:
        """Return the formula that some part holds."""
        return self._combine(Kind.OR, parts, neutral=NEVER, absorbing=ALWAYS)

    def _combine(self, kind: Kind, parts: Iterable[int], *, neutral: int, absorbing: int) -> int:
        flat: dict[int, None] = {}
        for part in parts:
            found, content = self._formulas[part]
            if found is kind:
                flat.update(dict.fromkeys(content))
            elif part != neutral:
                flat[part] = None
        if absorbing in flat or any(
            self._formulas[part][0] is Kind.NOT and self._formulas[part][1] in flat for part in flat
        ):
            return absorbing
        if len(flat) <= 1:
            return next(iter(flat), neutral)
        return self._intern(kind, tuple(sorted(flat)))

    def neg(self, part: int) -> int:
        """Return the formula that the part does not hold."""
        if part in (NEVER, ALWAYS):
            return ALWAYS if part == NEVER else NEVER
        kind, content = self._formulas[part]
        if kind is Kind.NOT:
            return int(content)
        if part in self._opposites:
            return self._opposites[part]
        return part if kind is Kind.UNKNOWN else self._intern(Kind.NOT, part)

    def narrowed(self, part: int, by: int) -> int:
        """Return the formula that both hold, which is the part itself where that implies it."""
        kind, content = self._formulas[by]
        if kind is Kind.NOT and part != ALWAYS and not self.overlap(part, content):
            return part
        return self.conj((part, by))

    def overlap(self, part: int, other: int) -> bool:
        """Tell whether something may fit both, however patterns in the other are read."""
        return not self.is_empty(self.conj((part, self.readings.widened(other))))

    def implies(self, part: int, other: int) -> bool:
        """Tell whether a formula plainly implies another."""
        if part in (other, NEVER) or other == ALWAYS:
            return True
        return self._conjuncts(other) <= self._conjuncts(part)

    def _conjuncts(self, part: int) -> frozenset[int]:
        kind, content = self._formulas[part]
        return frozenset(content) if kind is Kind.AND else frozenset((part,))

    def oppose(self, part: int, negation: int) -> None:
        """Declare what the negation of a formula is, where complement is not exact."""
        self._opposites[part] = negation
        self._opposites.setdefault(negation, part)

    def one_of(self, parts: Iterable[int]) -> int:
        """Return the formula that exactly one part holds."""
        listed = [part for part in parts if part != NEVER]
        if len(listed) <= 1:
            return listed[0] if listed else NEVER
        return self._intern(Kind.ONE_OF, tuple(listed))

    def parts(self, formula: int) -> tuple[int, ...]:
        """Return what a formula combines, or the target of a reference; nothing for a value."""
        kind, content = self._formulas[formula]
        if kind in (Kind.VALUE, Kind.UNKNOWN):
            return ()
        if kind is Kind.REFERENCE:
            return (self._target(content),)
        return (content,) if kind is Kind.NOT else content

    def _target(self, key: Any) -> int:
        if isinstance(key, Widened):
            return self.readings.widened(self._resolve(key.key))
        return self._resolve(key)

    # Normal forms.

    def normal(self, formula: int) -> Value:
        """Return the union per JSON type that a formula stands for.

        Raises:
            UnsupportedSchema: a reference that leads back to itself without consuming
                anything, so that it has no meaning.
            SchemaLimit: over a limit.

        """
        try:
            return self._normal_of(formula)
        except _UnderWay as loop:
            raise UnsupportedSchema(
                (
                    Problem(
                        "$" if loop.key is None else self._path_of(loop.key),
                        "$ref",
                        "references lead back to themselves without passing through a "
                        "property or an element; break the loop",
                    ),
                )
            ) from None

    def _normal_of(self, formula: int) -> Value:
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

    def _reference_in(self, *formulas: int) -> Any:
        """Return the key of the first reference among formulas."""
        for kind, content in map(self._formulas.__getitem__, formulas):
            if kind is Kind.REFERENCE:
                return content.key if isinstance(content, Widened) else content
        return None

    def _expand(self, formula: int) -> Value:
        kind, content = self._formulas[formula]
        if kind is Kind.VALUE:
            return content  # type: ignore[no-any-return]
        if kind is Kind.UNKNOWN:
            return ANYTHING
        if kind is Kind.REFERENCE:
            return self._normal_of(self._target(content))
        if kind is Kind.AND:
            return self._meet_all(content)
        if kind is Kind.OR:
            return self._join_all([self._normal_of(part) for part in content])
        if kind is Kind.ONE_OF:
            return self._meet_one_of(ANYTHING, content)
        return self._minus(ANYTHING, content)

    def _meet_one_of(self, value: Value, parts: tuple[int, ...]) -> Value:
        options = []
        for part, rivals in zip(parts, self._rivals.of(parts), strict=True):
            option = self._meet(value, self._normal_of(part))
            for rival in rivals:
                option = self._minus(option, rival)
            options.append(option)
        return self._join_all(options)

    def _minus_one_of(self, value: Value, parts: tuple[int, ...]) -> Value:
        """Intersect a value with the negation of a one-of: no part holds, or two do."""
        pairs = {
            (min(part, rival), max(part, rival)): None
            for part, rivals in zip(parts, self._rivals.of(parts), strict=True)
            for rival in rivals
        }
        options = [self._meet_all((*pair, self.value(value))) for pair in pairs]
        for part in parts:
            value = self._minus(value, part)
        return self._join_all([value, *options])

    def _meet_all(self, parts: Iterable[int]) -> Value:
        values, choices, negated = [], [], []
        for part in parts:
            kind, content = self._formulas[part]
            if kind is Kind.NOT:
                negated.append(content)
            elif kind is Kind.ONE_OF:
                choices.append(content)
            else:
                values.append(self._normal_of(part))
        # Few alternatives first: every product then starts from little.
        values.sort(key=lambda value: len(value.arrays) + len(value.objects))
        result = ANYTHING
        for value in values:
            result = self._meet(result, value)
        # Negations, which a one-of has too, have many alternatives by themselves; what is
        # known already rules out most.
        for branches in choices:
            result = self._meet_one_of(result, branches)
        for part in negated:
            result = self._minus(result, part)
        return result

    def _minus(self, value: Value, formula: int) -> Value:
        """Intersect a value with the negation of a formula."""
        if formula in self._opposites:
            return self._meet(value, self._normal_of(self._opposites[formula]))
        kind, content = self._formulas[formula]
        if kind is Kind.VALUE:
            return self._without(value, content)
        if kind is Kind.UNKNOWN:
            return value
        if kind is Kind.NOT:
            return self._meet(value, self._normal_of(content))
        if formula in self._subtracting:
            raise _UnderWay(self._reference_in(formula, *self._subtracting))
        self._subtracting.add(formula)
        try:
            if kind is Kind.REFERENCE:
                return self._minus(value, self._target(content))
            if kind is Kind.ONE_OF:
                return self._minus_one_of(value, content)
            if kind is Kind.AND:
                return self._minus_all(value, content)
            for part in content:
                value = self._minus(value, part)
            return value
        finally:
            self._subtracting.discard(formula)

    def _meet(self, a: Value, b: Value) -> Value:
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

    def _meet_arrays(
        self, a: tuple[ArrayShape, ...], b: tuple[ArrayShape, ...]
    ) -> tuple[ArrayShape, ...]:
        self.spend(len(a) * len(b))
        met = (self.arrays.meet(x, y) for x, y in product(a, b))
        return self._few(self.arrays.without_covered([x for x in met if x is not None]))

    def _meet_objects(
        self, a: tuple[ObjectShape, ...], b: tuple[ObjectShape, ...]
    ) -> tuple[ObjectShape, ...]:
        self.spend(len(a) * len(b))
        met = (self.objects.meet(x, y) for x, y in product(a, b))
        return self._few(self.objects.without_covered([x for x in met if x is not None]))

    def _join_all(self, values: Sequence[Value]) -> Value:
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

    def _minus_all(self, value: Value, parts: Sequence[int]) -> Value:
        """Intersect a value with the negation of a conjunction: one part or other fails."""
        options = []
        for part in sorted(parts, key=lambda x: self._formulas[x][0] is not Kind.VALUE):
            options.append(self._minus(value, part))
            # That the first ones fail is covered, so the others may fail where they hold;
            # that is worth knowing where it is simple.
            kind, content = self._formulas[part]
            if kind is Kind.VALUE and len(content.objects) <= 1 and not content.arrays:
                value = self._meet(value, self._normal_of(self.readings.widened(part)))
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

    def _without_object(
        self, shapes: tuple[ObjectShape, ...], other: ObjectShape
    ) -> tuple[ObjectShape, ...]:
        violations = self.objects.complement(other) if shapes else ()
        left: list[ObjectShape] = []
        for shape in shapes:
            self.spend(len(violations))
            left.extend(self.objects.violating(shape, other, violations))
        return self._few(self.objects.without_covered(left))

    # Emptiness.

    def is_empty(self, formula: int) -> bool:
        """Tell whether surely nothing fits; False where recursion leaves it open."""
        if formula == NEVER or self._formulas[formula][0] is Kind.VALUE:
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
        result = value == NOTHING_AT_ALL
        self._empty[formula] = result
        return result

    def plainly(self, formula: int) -> Value | None:
        """Return the normal form; None where recursion leaves it open, or nothing fits."""
        if formula == ALWAYS or self.is_empty(formula):
            return None
        kind, content = self._formulas[formula]
        return content if kind is Kind.VALUE else self._normal.get(formula)

    def is_listed(self, formula: int) -> bool:
        """Tell whether a formula surely stands for a few constants (no array, no object)."""
        value = self.plainly(formula)
        return (
            value is not None
            and not (value.arrays or value.objects)
            and all(each.low is not None and each.low == each.high for each in value.numbers)
            and (value.strings is None or self.members(value.strings, _FEW) is not None)
        )

    # Limits.

    def _few(self, parts: list[_T]) -> tuple[_T, ...]:
        out = tuple(dict.fromkeys(parts))
        if len(out) > self._limits.branches:
            raise SchemaLimit(
                (
                    Problem(
                        getattr(out[0], "path", "$"),
                        "",
                        f"one value has more than {self._limits.branches} alternatives; "
                        "use fewer overlapping branches",
                    ),
                )
            )
        return out
