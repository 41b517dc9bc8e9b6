"""Reader of `unevaluatedProperties` and `unevaluatedItems`, by case distinction.

Each way in which the branches of a schema may hold or fail is a case: a formula for when it
applies, and the properties or elements that are evaluated then. The same closes objects for the
option `closed_objects`. Must not know: normal forms, engines.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from enforcer.regex import ANY, RegexError, either, inverse, not_matching, parse
from enforcer.schema.grammar import ALWAYS, ANYTHING, NEVER, ArrayShape, Formula, ObjectShape
from enforcer.schema.reading.closed_objects import parts_of
from enforcer.schema.reading.document import Closing, members
from enforcer.schema.reading.drafts import Draft
from enforcer.schema.reading.object_keywords import absent, by_two_readings

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.regex import Regex
    from enforcer.schema.reading.document import SchemaLocation
    from enforcer.schema.reading.reader import SchemaReader

_MOST_CASES = 256
_DEEPEST = 24  # references followed at one instance location


class _Patterned(NamedTuple):
    """Property names that surely match a pattern, and names that match by some reading."""

    surely: Regex
    perhaps: Regex


class _Fitting(NamedTuple):
    """Elements that fit a formula."""

    value: Formula


# An ordered set of evaluated parts: names and patterns, or indices and elements that `contains`
# finds; None stands for everything.
_Evaluated = dict["str | int | _Patterned | _Fitting | None", None]
_Case = tuple[Formula, _Evaluated]
_EVERYTHING: _Evaluated = {None: None}
_NOTHING_MORE: list[_Case] = [(ALWAYS, {})]


class TooManyCasesError(Exception):
    """The branches combine in more than `_MOST_CASES` ways."""


class Unevaluated:
    """Applies one of the two keywords to the subschema that has it."""

    def __init__(self, reader: SchemaReader, keyword: str) -> None:
        self._reader = reader
        self._keyword = keyword
        self._of_objects = keyword == "unevaluatedProperties"

    def apply(self, place: SchemaLocation, beside: Formula) -> Formula:
        """Return the formula `beside`, with unevaluated parts restricted by the keyword."""
        reader, algebra = self._reader, self._reader.algebra
        left_over = reader.child(place, self._keyword)
        if left_over == ALWAYS:
            return beside
        try:
            cases = self._cases(place, 0, own=True)
        except TooManyCasesError:
            reason = (
                "too many branches decide what is evaluated; declare the properties here and "
                "use `additionalProperties`"
            )
            return algebra.conj((beside, reader.refuse(place, self._keyword, reason)))
        return self._restricted(beside, cases, left_over)

    def close(self, place: SchemaLocation, beside: Formula) -> Formula:
        """Return the formula `beside`, restricted as if the keyword were there and false.

        Undeclared names in `required` stay allowed, since nothing would fit otherwise. If there are
        too many cases, properties that any branch declares stay allowed.
        """
        part = replace(place, closing=Closing.PART)
        try:
            cases = self._cases(part, 0)
        except TooManyCasesError:
            cases = [(ALWAYS, self._all(part, frozenset()))]
        listed = place.schema.get("required")
        names = listed if isinstance(listed, list) else ()  # a boolean, in draft 3
        required: _Evaluated = dict.fromkeys(name for name in names if isinstance(name, str))
        return self._restricted(beside, [(c, done | required) for c, done in cases], NEVER)

    def _all(self, place: SchemaLocation, around: frozenset[Hashable]) -> _Evaluated:
        """Return all that a subschema and its parts evaluate, whether they hold or not."""
        if not isinstance(place.schema, dict) or place.key in around:
            return {}
        found, around = self._own_properties(place), around | {place.key}
        for part in parts_of(self._reader, place):
            found = found | self._all(part, around)
        return found

    def _restricted(self, beside: Formula, cases: list[_Case], left_over: Formula) -> Formula:
        conj = self._reader.algebra.conj
        options = (conj((when, self._restriction(done, left_over))) for when, done in cases)
        return conj((beside, self._reader.algebra.disj(options)))

    def _restriction(self, done: _Evaluated, left_over: Formula) -> Formula:
        algebra = self._reader.algebra
        if None in done:
            return ALWAYS
        if self._of_objects:
            names = sorted(each for each in done if isinstance(each, str))
            patterns = [each for each in done if isinstance(each, _Patterned)]
            readings = ([x.surely for x in patterns], [x.perhaps for x in patterns])
            shapes = ((_objects(names, languages, left_over),) for languages in readings)
            return by_two_readings(algebra, *shapes)
        prefix = tuple(ALWAYS for each in done if isinstance(each, int))
        contained = [each.value for each in done if isinstance(each, _Fitting)]
        value = algebra.disj((left_over, *contained))
        shape = algebra.arrays.tidy(ArrayShape(prefix=prefix, rest=value))
        return algebra.value(ANYTHING._replace(arrays=() if shape is None else (shape,)))

    # Cases.

    def _cross(self, first: list[_Case], second: list[_Case]) -> list[_Case]:
        """Return the conjunction of each case of two lists; raise if there are too many."""
        if second == _NOTHING_MORE:
            return first
        if len(first) * len(second) > _MOST_CASES:
            raise TooManyCasesError
        conj = self._reader.algebra.conj
        return [(conj((c, d)), a | b) for (c, a), (d, b) in product(first, second)]

    def _cases(self, place: SchemaLocation, depth: int, *, own: bool = False) -> list[_Case]:
        """Return the cases of a subschema that holds; their conditions cover all values."""
        schema = place.schema
        if not isinstance(schema, dict):
            return _NOTHING_MORE
        if depth > _DEEPEST:
            raise TooManyCasesError
        reader = self._reader
        if not own and reader.has(schema, self._keyword, place.draft):
            return [(ALWAYS, _EVERYTHING)]
        cases: list[_Case] = [
            (ALWAYS, self._own_properties(place) if self._of_objects else self._own_items(place))
        ]
        for target in reader.targets(place):
            cases = self._cross(cases, self._cases(target, depth + 1))
        if "allOf" in schema:
            for each in reader.branches(place, "allOf"):
                cases = self._cross(cases, self._cases(each, depth + 1))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                for each in reader.branches(place, keyword):
                    cases = self._cross(cases, self._if_it_holds(each, depth))
        if reader.has(schema, "if", place.draft):
            cases = self._cross(cases, self._conditional(place, depth))
        keyword = "dependentSchemas" if place.draft > Draft.DRAFT7 else "dependencies"
        for name in members(schema, keyword):
            within = self._cases(place.child(keyword, name), depth + 1)
            if any(done for _, done in within):
                there = reader.algebra.neg(absent(reader.algebra, name))
                cases = self._cross(cases, self._when(there, within))
        return cases

    def _when(
        self, condition: Formula, holding: list[_Case], failing: list[_Case] = _NOTHING_MORE
    ) -> list[_Case]:
        """Return cases under a condition, and others under its negation."""
        conj, fails = self._reader.algebra.conj, self._reader.algebra.neg(condition)
        return [
            *((conj((condition, case)), done) for case, done in holding),
            *((conj((fails, case)), done) for case, done in failing),
        ]

    def _if_it_holds(self, place: SchemaLocation, depth: int) -> list[_Case]:
        within = self._cases(place, depth + 1)
        if not any(done for _, done in within):
            return _NOTHING_MORE
        return self._when(self._reader.parse(place), within)

    def _conditional(self, place: SchemaLocation, depth: int) -> list[_Case]:
        condition = self._reader.parse(place.question("if"))
        holding = self._cases(place.child("if"), depth + 1)
        failing = _NOTHING_MORE
        if "then" in place.schema:
            holding = self._cross(holding, self._cases(place.child("then"), depth + 1))
        if "else" in place.schema:
            failing = self._cases(place.child("else"), depth + 1)
        return self._when(condition, holding, failing)

    def _own_properties(self, place: SchemaLocation) -> _Evaluated:
        schema = place.schema
        if "additionalProperties" in schema:
            return _EVERYTHING
        found: _Evaluated = dict.fromkeys(members(schema, "properties"))
        for pattern in members(schema, "patternProperties"):
            try:
                found[_Patterned(parse(pattern), inverse(not_matching(pattern)))] = None
            except RegexError as error:
                self._reader.refuse(place, "patternProperties", str(error))
        return found

    def _own_items(self, place: SchemaLocation) -> _Evaluated:
        schema, reader = place.schema, self._reader
        items = schema.get("items")
        if isinstance(items, list):
            return _EVERYTHING if "additionalItems" in schema else dict.fromkeys(range(len(items)))
        if "items" in schema:
            return _EVERYTHING
        listed = schema.get("prefixItems")
        found: _Evaluated = dict.fromkeys(range(len(listed) if isinstance(listed, list) else 0))
        # From 2020-12 on, `contains` evaluates what it finds.
        if place.draft is Draft.DRAFT2020 and "contains" in schema:
            found[_Fitting(reader.parse(place.question("contains")))] = None
        return found


def _objects(names: list[str], patterns: list[Regex], left_over: Formula) -> ObjectShape:
    evaluated = tuple((name, ALWAYS) for name in names)
    if not patterns:
        return ObjectShape(names=evaluated, classes=((ANY, left_over),))
    covered = either(*patterns)
    classes = ((covered, ALWAYS), (inverse(covered), left_over))
    return ObjectShape(names=evaluated, classes=classes)
