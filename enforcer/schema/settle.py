"""Constraints across the members of one array or object, made countable or refused.

Owns: turning `contains`, `uniqueItems`, counts of properties and witnesses into choices
that an engine can count with a few bits. What cannot be counted exactly is refused by
its path: names of undeclared properties can repeat without anyone noticing, and values
from an endless domain cannot be remembered. Must not know: keywords' syntax, engines.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from enforcer.errors import UnsupportedSchema
from enforcer.regex import ANY, both, fullmatch, inverse, literal
from enforcer.regex import either as join
from enforcer.schema.arrays import rest_of
from enforcer.schema.counting import automaton
from enforcer.schema.division_text import REASON, can_be_written
from enforcer.schema.nodes import (
    NEVER,
    ArrayShape,
    Choice,
    Mark,
    ObjectShape,
    Value,
    Witness,
)
from enforcer.schema.numbers import candidates, single

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from enforcer.regex import Regex
    from enforcer.schema.algebra import Algebra
    from enforcer.schema.limits import Limits
    from enforcer.schema.numbers import NumberSet

_MOST_COUNTED = 6  # `contains` counted together in one array
_MOST_WITNESSES = 3  # properties counted together in one object
_COUNT_BITS = 60  # bits to count with
_MOST_REQUIRED = 64  # bits to keep apart which of an object's properties have been written
_MOST_APART = 8  # elements that are told apart one by one
_MOST_SHAPES_APART = 400
_TWO = 2  # elements that can be equal


class Settler:
    """Rewrites the shapes of one value after another.

    Args:
        algebra: the arena of the formulas.
        limits: bounds.
        refuse: notes a path, a keyword and a reason; in relax mode the constraint is then
            left out.
        divisors: where each value of `multipleOf` stands in the schema.

    """

    def __init__(
        self,
        algebra: Algebra,
        limits: Limits,
        refuse: Callable[[str, str, str], None],
        divisors: Mapping[Fraction, str],
    ) -> None:
        self._divisors = divisors
        self._algebra = algebra
        self._limits = limits
        self._refuse = refuse

    def settle(self, value: Value) -> Value:
        """Return the value with every shape countable and every number writable."""
        if self._divisors and value.numbers:
            numbers = tuple(dict.fromkeys(map(self._divisible, value.numbers)))
            value = replace(value, numbers=numbers)
        if all(_is_plain(array) for array in value.arrays) and all(
            not _needs_settling(shape) for shape in value.objects
        ):
            return value
        objects = (
            self._within_bits(found) for shape in value.objects for found in self._object(shape)
        )
        return replace(
            value,
            arrays=tuple(
                dict.fromkeys(
                    self._array(part) for array in value.arrays for part in self._apart(array)
                )
            ),
            objects=tuple(dict.fromkeys(objects)),
        )

    # Numbers.

    def _divisible(self, numbers: NumberSet) -> NumberSet:
        if can_be_written(numbers):
            return numbers
        involved = [
            *numbers.not_multiples,
            *(() if numbers.multiple is None else [numbers.multiple]),
        ]
        paths = [
            path
            for divisor, path in self._divisors.items()
            if any((each / divisor).denominator == 1 for each in involved)
        ]
        self._refuse(paths[0] if paths else "$", "multipleOf", REASON)
        whole = numbers.multiple is not None and numbers.multiple.denominator == 1
        return replace(
            numbers,
            multiple=Fraction(1) if whole else None,
            not_multiples=numbers.not_multiples & {Fraction(1)},
        )

    # Arrays.

    def _array(self, array: ArrayShape) -> ArrayShape:
        if array.maximum is not None and array.maximum < _TWO:
            array = replace(array, unique=False)
        array = self._unique(array)
        if len(array.contains) > _MOST_COUNTED:
            self._refuse(
                array.path, "contains", f"more than {_MOST_COUNTED} `contains` on one array"
            )
            array = replace(array, contains=array.contains[:_MOST_COUNTED])
        if not array.contains:
            return array
        if array.choices:
            self._refuse(
                f"{array.path}.uniqueItems", "uniqueItems", "cannot be combined with `contains`"
            )
            array = replace(array, unique=False, choices=())
        length = max(len(array.prefix), *(each.start for each in array.contains))
        prefix = tuple(rest_of(array, i) for i in range(length))
        slots = [*prefix, array.rest]
        choices = tuple(
            tuple(self._counted(array, Choice(slot), i)) for i, slot in enumerate(slots)
        )
        counted = replace(array, prefix=prefix, choices=choices)
        try:
            automaton(counted)
        except UnsupportedSchema as error:
            for problem in error.problems:
                self._refuse(problem.path, problem.keyword, problem.reason)
            return replace(array, contains=())
        return counted

    def _counted(self, array: ArrayShape, choice: Choice, index: int) -> list[Choice]:
        """Split a way to fill an element by the `contains` that it counts for."""
        algebra, ways = self._algebra, [choice]
        for i, each in enumerate(array.contains):
            if index < each.start:
                continue
            split = []
            for way in ways:
                hit = algebra.conj((way.value, each.value))
                if not algebra.is_empty(hit):
                    split.append(replace(way, value=hit, counted=(*way.counted, i)))
                # Only an upper bound makes it matter that an element does not fit.
                miss = (
                    way.value
                    if each.maximum is None
                    else algebra.conj((way.value, algebra.neg(each.value)))
                )
                if not algebra.is_empty(miss):
                    split.append(replace(way, value=miss))
            ways = split
        return ways

    def _unique(self, array: ArrayShape) -> ArrayShape:
        if array.repeated:
            self._refuse(
                array.path, "uniqueItems", "that elements repeat cannot be enforced; drop `not`"
            )
            array = replace(array, repeated=False)
        if not array.unique or self._surely_distinct(array):
            return replace(array, unique=False)
        if any(self._algebra.normal(x) != self._algebra.normal(array.rest) for x in array.prefix):
            members = None
        else:
            members = self._members(array.rest)
        if members is None or len(members) > _COUNT_BITS:
            self._refuse(
                f"{array.path}.uniqueItems",
                "uniqueItems",
                f"only elements from one set of at most {_COUNT_BITS} values (an `enum`, "
                "booleans, a short range of integers) can be kept unique; list the values, or "
                "drop `uniqueItems`",
            )
            return replace(array, unique=False)
        choices = tuple(Choice(member, distinct=i) for i, member in enumerate(members))
        maximum = len(members) if array.maximum is None else min(len(members), array.maximum)
        if maximum < array.minimum:
            return replace(array, prefix=(), rest=NEVER, unique=False)
        return replace(array, prefix=(), choices=(choices,), maximum=maximum)

    def _apart(self, array: ArrayShape) -> list[ArrayShape]:
        """Split an array of few unique elements until no two of them can be equal."""
        if not array.unique or array.repeated or not array.prefix:
            return [array]
        if array.maximum is None or not _TWO <= array.maximum <= _MOST_APART:
            return [array]
        prefix = tuple(rest_of(array, i) for i in range(array.maximum))
        done: list[ArrayShape] = []
        queue = [replace(array, prefix=prefix, rest=NEVER)]
        for each in queue:
            pivot = self._pivot(each.prefix)
            if pivot is None:
                done.append(each)
                continue
            i, members = pivot
            split = [replace(each, maximum=i, prefix=each.prefix[:i])]
            for member in members:
                others = (self._algebra.conj((x, self._algebra.neg(member))) for x in each.prefix)
                slots = tuple(member if j == i else x for j, x in enumerate(others))
                split.append(replace(each, prefix=slots, minimum=max(each.minimum, i + 1)))
            tidied = (self._algebra.arrays.tidy(x) for x in split)
            queue.extend(x for x in tidied if x is not None)
            self._algebra.spend(len(split))
            if len(queue) > _MOST_SHAPES_APART:
                return [array]
        return done

    def _pivot(self, prefix: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | None:
        """Choose an element with few values that another one may equal."""
        found: tuple[int, tuple[int, ...]] | None = None
        for pair in combinations(range(len(prefix)), 2):
            if self._algebra.is_empty(self._algebra.conj(prefix[i] for i in pair)):
                continue
            for i in pair:
                members = self._members(prefix[i])
                if members and (found is None or len(members) < len(found[1])):
                    found = i, members
        return found

    def _surely_distinct(self, array: ArrayShape) -> bool:
        if array.rest != NEVER and (array.maximum is None or array.maximum > len(array.prefix)):
            return False
        return all(
            self._algebra.is_empty(self._algebra.conj(pair))
            for pair in combinations(array.prefix, 2)
        )

    def _members(self, formula: int) -> tuple[int, ...] | None:
        """List the values of a finite domain, each as a formula of its own."""
        algebra, limit = self._algebra, _COUNT_BITS
        value = algebra.normal(formula)
        if value.arrays or value.objects:
            return None
        out = [Value(null=True)] if value.null else []
        out.extend(Value(booleans=frozenset({each})) for each in sorted(value.booleans))
        for numbers in value.numbers:
            listed = candidates(numbers, limit + 1)
            if listed is None:
                return None
            out.extend(Value(numbers=(single(each),)) for each in listed)
        if value.strings is not None:
            texts = algebra.members(value.strings, limit)
            if texts is None:
                return None
            out.extend(Value(strings=literal(each)) for each in texts)
        return tuple(dict.fromkeys(algebra.value(each) for each in out))

    # Objects.

    def _object(self, shape: ObjectShape) -> list[ObjectShape]:
        if not _needs_settling(shape):
            return [shape]
        if shape.maximum is not None and shape.some:
            return [each for x in self._with_clauses_split(shape) for each in self._object(x)]
        shape = self._with_finite_names_declared(shape)
        settled = []
        for each in self._with_witnesses_placed(shape):
            if each.witnesses and each.maximum == len(each.required) + 1:
                each = self._with_one_undeclared(each)  # noqa: PLW2901 - the same, rid of witnesses
            tidied = self._algebra.objects.tidy(each)
            if tidied is not None:
                settled.append(self._marked(self._minimum(tidied)))
        return settled

    def _with_clauses_split(self, shape: ObjectShape) -> list[ObjectShape]:
        """Require one name of each clause; with a greatest count, room is kept for them."""
        done = [replace(shape, some=frozenset())]
        for clause in sorted(shape.some, key=sorted):
            done = [replace(x, required=x.required | {n}) for x in done for n in sorted(clause)]
            self._algebra.spend(len(done))
        tidied = (self._algebra.objects.tidy(each) for each in done)
        return [each for each in tidied if each is not None]

    def _with_finite_names_declared(self, shape: ObjectShape) -> ObjectShape:
        names, classes = dict(shape.names), []
        for regex, value in shape.classes:
            members = None
            if value != NEVER:
                undeclared = both(regex, inverse(join(*(literal(name) for name in names))))
                members = self._algebra.members(
                    undeclared if names else regex, self._limits.name_bits
                )
            if members is None:
                classes.append((regex, value))
            else:
                names.update(dict.fromkeys(members, value))
                classes.append((regex, NEVER))
        return replace(shape, names=tuple(names.items()), classes=tuple(classes))

    def _within_bits(self, shape: ObjectShape) -> ObjectShape:
        if len(shape.required) <= _MOST_REQUIRED:
            return shape
        self._refuse(
            f"{shape.path}.required",
            "required",
            f"at most {_MOST_REQUIRED} required properties of one object can be tracked; make "
            "some optional, or group them into objects of their own",
        )
        kept = [name for name, _ in shape.names if name in shape.required]
        return replace(shape, required=frozenset(kept[:_MOST_REQUIRED]))

    def _minimum(self, shape: ObjectShape) -> ObjectShape:
        is_open = any(value != NEVER for _, value in shape.classes)
        most = len(shape.required) + 1
        if not shape.minimum or not is_open or shape.minimum <= most:
            return shape
        self._refuse(
            f"{shape.path}.minProperties",
            "minProperties",
            "several properties of undeclared names cannot be counted, as a repeated name "
            "counts once; declare the names, or set `additionalProperties` to false",
        )
        return replace(shape, minimum=most)

    def _with_witnesses_placed(self, shape: ObjectShape) -> list[ObjectShape]:
        """Split a shape by the properties that may be its witnesses.

        A declared name that is a witness becomes required. What stays a witness after
        that is an undeclared property.
        """
        algebra, done = self._algebra, [replace(shape, witnesses=())]
        for witness in shape.witnesses:
            split = []
            for each in done:
                for i, (name, value) in enumerate(each.names):
                    hit = algebra.conj((value, witness.value))
                    if _in(witness.names, name) and not algebra.is_empty(hit):
                        names = (*each.names[:i], (name, hit), *each.names[i + 1 :])
                        split.append(replace(each, names=names, required=each.required | {name}))
                if self._has_undeclared(each, witness):
                    split.append(replace(each, witnesses=(*each.witnesses, witness)))
            algebra.spend(len(split))
            done = split
        return done

    def _with_one_undeclared(self, shape: ObjectShape) -> ObjectShape:
        """Leave out the witnesses where there is room for one property that is all of them."""
        names = both(*(each.names for each in shape.witnesses))
        fits = self._algebra.conj(each.value for each in shape.witnesses)
        classes: list[tuple[Regex, int]] = [(inverse(names), NEVER)]
        for regex, value in shape.classes:
            common = self._algebra.meet_strings(regex, names)
            if common is not None:
                classes.append((common, self._algebra.conj((value, fits))))
        return replace(
            shape,
            names=tuple((n, v if n in shape.required else NEVER) for n, v in shape.names),
            classes=tuple(classes),
            minimum=len(shape.required) + 1,
            witnesses=(),
        )

    def _has_undeclared(self, shape: ObjectShape, witness: Witness) -> bool:
        return any(
            self._algebra.meet_strings(names, witness.names) is not None
            and not self._algebra.is_empty(self._algebra.conj((value, witness.value)))
            for names, value in shape.classes
        )

    def _marked(self, shape: ObjectShape) -> ObjectShape:
        """List which undeclared properties count as which witnesses."""
        if not shape.witnesses:
            return shape
        if len(shape.witnesses) > _MOST_WITNESSES or shape.maximum is not None:
            self._refuse(
                shape.path,
                "not",
                "negated constraints on undeclared properties cannot be combined like this",
            )
            return replace(shape, witnesses=())
        algebra, marks = self._algebra, []
        indices = range(len(shape.witnesses))
        for hits in (x for n in range(1, len(indices) + 1) for x in combinations(indices, n)):
            wanted = [shape.witnesses[i] for i in hits]
            names = both(*(each.names for each in wanted))
            fits = algebra.conj(each.value for each in wanted)
            for regex, value in shape.classes:
                common = algebra.meet_strings(regex, names)
                hit = algebra.conj((value, fits))
                if common is None or algebra.is_empty(hit):
                    continue
                if not algebra.is_empty(algebra.conj((value, algebra.neg(fits)))):
                    # The same name might follow again with a value that does not fit, and
                    # the last one is the one that counts.
                    self._refuse(
                        wanted[0].path,
                        "not",
                        "that some undeclared property has a certain value cannot be "
                        "enforced; declare the property",
                    )
                    return replace(shape, witnesses=())
                marks.append(Mark(common, hit, hits))
        return replace(shape, marks=tuple(marks))


def _in(names: Regex, name: str) -> bool:
    return names == ANY or fullmatch(names, name)


def _needs_settling(shape: ObjectShape) -> bool:
    return bool(
        shape.minimum
        or shape.witnesses
        or (shape.maximum is not None and shape.some)
        or len(shape.required) > _MOST_REQUIRED
        or (shape.names and any(_may_be_declared(*each) for each in shape.classes))
    )


def _may_be_declared(names: Regex, value: int) -> bool:
    """Tell whether the names of a class may be few, so that all of them may be declared."""
    return value != NEVER and (names.boolean or names.longest is not None)


def _is_plain(array: ArrayShape) -> bool:
    return not (array.contains or array.unique or array.repeated)
