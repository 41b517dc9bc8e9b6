"""The keywords that restrict one JSON type each, and listed constants.

Owns: `type`, and the keywords for numbers, strings, arrays and objects, read into one
`Value`. Must not know: combinations, references, engines.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from enforcer.errors import Problem, SchemaLimit
from enforcer.regex import (
    ANY,
    RegexError,
    both,
    either,
    format_regex,
    growth,
    inverse,
    length,
    literal,
    not_matching,
    parse,
)
from enforcer.schema.doubles import exact
from enforcer.schema.idle import malformed
from enforcer.schema.nodes import (
    ALWAYS,
    ANYTHING,
    NEVER,
    ArrayShape,
    Contains,
    ObjectShape,
    Value,
)
from enforcer.schema.numbers import INTEGERS, REALS, NumberSet, meet, single
from enforcer.schema.objects import child_of
from enforcer.schema.read import Draft, step

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.regex import Regex
    from enforcer.schema.algebra import Algebra
    from enforcer.schema.parse import Parser
    from enforcer.schema.read import Place

_T = TypeVar("_T")

_MOST_PATTERNS = 40  # compared pairwise to see whether they overlap
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


class Malformed(Exception):  # noqa: N818 - carries one problem to the parser, never leaves it
    """A keyword's value is not what the standard asks for."""

    def __init__(self, keyword: str, reason: str) -> None:
        super().__init__(keyword, reason)
        self.keyword = keyword
        self.reason = reason


def constant(algebra: Algebra, values: list[Any]) -> int:
    """Return the formula that a value equals one of those listed."""
    strings = [literal(each) for each in values if isinstance(each, str)]
    arrays, objects = [], []
    for each in values:
        if isinstance(each, list):
            items = tuple(constant(algebra, [item]) for item in each)
            arrays.append(
                ArrayShape(prefix=items, rest=NEVER, minimum=len(items), maximum=len(items))
            )
        elif isinstance(each, dict):
            names = tuple((name, constant(algebra, [item])) for name, item in each.items())
            objects.append(
                ObjectShape(names=names, classes=((ANY, NEVER),), required=frozenset(each))
            )
    return algebra.value(
        Value(
            any(each is None for each in values),
            frozenset(each for each in values if isinstance(each, bool)),
            tuple(
                dict.fromkeys(
                    single(exact(each))
                    for each in values
                    if isinstance(each, (int, float)) and not isinstance(each, bool)
                )
            ),
            either(*strings) if strings else None,
            tuple(dict.fromkeys(arrays)),
            tuple(dict.fromkeys(objects)),
        )
    )


class Assertions:
    """Reads the keywords of one subschema that need no other instance location."""

    def __init__(self, parser: Parser, place: Place, schema: dict[str, Any]) -> None:
        self._parser = parser
        self._place = place
        self._schema = schema
        self._extra: list[int] = []

    def value(self) -> list[int]:
        """Return the formulas of all these keywords; raises `Malformed` for `type` alone."""
        types = self._types()
        null, booleans = "null" in types, frozenset[bool]()
        strings: Regex | None = None
        arrays: tuple[ArrayShape, ...] = ()
        objects: tuple[ObjectShape, ...] = ()
        if "boolean" in types:
            booleans = ANYTHING.booleans
        # What is wrong about one type must not hide what is wrong about the next.
        numbers = self._noted(lambda: self._numbers(types)) or ()
        if "string" in types:
            strings = self._noted(self._strings)
        if "array" in types:
            arrays = self._noted(self._arrays) or ()
        if "object" in types:
            objects = self._noted(self._objects) or ()
        if len(types) < len(_TYPES):
            for keyword, reason in malformed(self._schema, types):
                if self._has(keyword):
                    self._parser.malformed(self._place, keyword, reason)
        return [
            self._parser.algebra.value(Value(null, booleans, numbers, strings, arrays, objects)),
            *self._extra,
        ]

    def _noted(self, read: Callable[[], _T]) -> _T | None:
        """Read something; None, the problem noted, where it is malformed."""
        try:
            return read()
        except Malformed as error:
            self._parser.malformed(self._place, error.keyword, error.reason)
            return None

    def _has(self, keyword: str) -> bool:
        return self._parser.has(self._schema, keyword, self._place.draft)

    def _types(self) -> frozenset[str]:
        named = self._schema.get("type", list(_TYPES))
        listed = named if isinstance(named, list) else [named]
        for each in listed:
            if each not in _TYPES:
                raise Malformed("type", f"{each!r:.40} is no type; use {', '.join(_TYPES)}")
        return frozenset(listed)

    def _count(self, keyword: str) -> int | None:
        """Read a keyword whose value is a whole number, 2.0 included."""
        if not self._has(keyword):
            return None
        value = self._schema[keyword]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise Malformed(keyword, "must be a whole number, zero or more")
        return value

    def _number(self, keyword: str) -> Fraction | None:
        value = self._schema.get(keyword)
        if value is None and keyword not in self._schema:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Malformed(keyword, "must be a number")
        return exact(value)

    # Numbers.

    def _numbers(self, types: frozenset[str]) -> tuple[NumberSet, ...]:
        if "number" not in types and "integer" not in types:
            return ()
        found = REALS
        if "number" not in types:
            found = INTEGERS
            if self._place.draft is Draft.DRAFT4:
                found = NumberSet(multiple=Fraction(1), plain=True)
        for restriction in self._number_sets():
            narrowed = meet(found, restriction)
            if narrowed is None:
                return ()
            found = narrowed
        return (found,)

    def _number_sets(self) -> list[NumberSet]:
        schema, found = self._schema, []
        for keyword, exclusive in (
            ("minimum", "exclusiveMinimum"),
            ("maximum", "exclusiveMaximum"),
        ):
            below = keyword == "minimum"
            # Draft 4 writes a boolean beside the bound; schemas without `$schema` may too.
            flag = schema.get(exclusive)
            bound = self._number(keyword)
            if bound is not None:
                is_open = flag is True
                found.append(
                    NumberSet(low=bound, low_open=is_open)
                    if below
                    else NumberSet(high=bound, high_open=is_open)
                )
            if flag is not None and not isinstance(flag, bool):
                bound = self._number(exclusive)
                found.append(
                    NumberSet(low=bound, low_open=True)
                    if below
                    else NumberSet(high=bound, high_open=True)
                )
        divisor = self._number("multipleOf")
        if divisor is not None:
            if divisor <= 0:
                raise Malformed("multipleOf", "must be above zero")
            path = step(self._place.path, "multipleOf")
            self._parser.divisors.setdefault(divisor, path)
            found.append(NumberSet(multiple=divisor))
        return found

    # Strings.

    def _strings(self) -> Regex | None:
        low, high = self._count("minLength") or 0, self._count("maxLength")
        if high is not None and low > high:
            return None
        found = length(low, high)
        if "format" in self._schema and self._asserts_format():
            name = self._schema["format"]
            known = format_regex(name) if isinstance(name, str) else None
            if name == "regex":
                self._extra.append(
                    self._parser.refuse(
                        self._place,
                        "format",
                        "which strings are well-formed regular expressions cannot be enforced; "
                        "drop `format`",
                    )
                )
            if known is not None:
                found = both(found, known)
        if "pattern" in self._schema:
            self._pattern(self._schema["pattern"])
        return self._parser.algebra.meet_strings(found, ANY)

    def _asserts_format(self) -> bool:
        # From 2019-09 on, `format` asserts nothing in the standard's own dialect. A schema
        # that names no dialect mostly expects the older reading.
        return "$schema" not in self._root() or self._place.draft <= Draft.DRAFT7

    def _root(self) -> dict[str, Any]:
        root = self._parser.document.root.schema
        return root if isinstance(root, dict) else {}

    def _pattern(self, pattern: Any) -> None:
        """Add a pattern as a formula with its own negation: readings of patterns differ."""
        if not isinstance(pattern, str):
            raise Malformed("pattern", "must be a string")
        algebra = self._parser.algebra
        languages = self._languages("pattern", pattern)
        if languages is None:
            return
        matching, failing = languages

        def among_strings(language: Regex) -> int:
            return algebra.value(replace(ANYTHING, strings=algebra.meet_strings(language, ANY)))

        def only_strings(language: Regex) -> int:
            return algebra.value(Value(strings=algebra.meet_strings(language, ANY)))

        holds = among_strings(matching)
        if failing != inverse(matching):
            fails, may_hold = only_strings(failing), among_strings(inverse(failing))
            may_fail = only_strings(inverse(matching))
            algebra.oppose(holds, fails)
            algebra.oppose(may_hold, may_fail)
            algebra.readings.add(holds, may_hold)
            algebra.readings.add(fails, may_fail)
        self._extra.append(holds)

    def _languages(self, keyword: str, pattern: str) -> tuple[Regex, Regex] | None:
        """Return what certainly matches and what certainly does not; None if refused."""
        try:
            matching, failing = parse(pattern), not_matching(pattern)
        except RegexError as error:
            self._extra.append(self._parser.refuse(self._place, keyword, str(error)))
            return None
        limit = self._parser.limits.regex_growth
        if growth(matching, budget=limit) > limit:
            reason = (
                f"{pattern!r:.200} can cut one text in too many ways, by counts inside counts; "
                "put between the parts what they cannot hold, or drop the inner counts"
            )
            raise SchemaLimit((Problem(step(self._place.path, keyword), keyword, reason),))
        return matching, failing

    # Arrays.

    def _arrays(self) -> tuple[ArrayShape, ...]:
        place, schema, parser = self._place, self._schema, self._parser
        prefix: tuple[int, ...] = ()
        rest = ALWAYS
        items = schema.get("items", True)
        if self._has("prefixItems"):
            prefix = tuple(parser.parse(each) for each in parser.branches(place, "prefixItems"))
        if isinstance(items, list):
            # The form before 2020-12, which schemas without `$schema` still use.
            prefix = tuple(parser.parse(place.child("items", i)) for i in range(len(items)))
            if "additionalItems" in schema:
                rest = parser.parse(place.child("additionalItems"))
        elif "items" in schema:
            rest = parser.child(place, "items")
        contains: tuple[Contains, ...] = ()
        if self._has("contains"):
            least = self._count("minContains")
            contains = (
                Contains(
                    parser.parse(place.child("contains")),
                    0,
                    1 if least is None else least,
                    self._count("maxContains"),
                    step(place.path, "contains"),
                ),
            )
        unique = schema.get("uniqueItems", False)
        if not isinstance(unique, bool):
            raise Malformed("uniqueItems", "must be a boolean")
        shape = parser.algebra.arrays.tidy(
            ArrayShape(
                prefix,
                rest,
                self._count("minItems") or 0,
                self._count("maxItems"),
                contains,
                unique,
                path=place.path,
            )
        )
        return () if shape is None else (shape,)

    # Objects.

    def _objects(self) -> tuple[ObjectShape, ...]:
        place, schema, parser = self._place, self._schema, self._parser
        declared = schema.get("properties", {})
        if not isinstance(declared, dict):
            raise Malformed("properties", "must be an object")
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(x, str) for x in required):
            raise Malformed("required", "must be a list of property names")
        if len(declared) > parser.limits.properties or len(required) > parser.limits.properties:
            raise SchemaLimit(
                (
                    Problem(
                        step(place.path, "properties"),
                        "properties",
                        f"more than {parser.limits.properties} properties",
                    ),
                )
            )
        own = ObjectShape(
            names=tuple((name, parser.child(place, "properties", name)) for name in declared),
            classes=((ANY, self._rest()),),
            required=frozenset(required),
            minimum=self._count("minProperties") or 0,
            maximum=self._count("maxProperties"),
            path=place.path,
        )
        shape: ObjectShape | None = own
        for each in (*self._additional(declared), *self._property_names()):
            if shape is not None:
                shape = parser.algebra.objects.meet(shape, each)
        shape = None if shape is None else parser.algebra.objects.tidy(shape)
        return () if shape is None else (shape,)

    def _rest(self) -> int:
        """Return what holds for every undeclared property, where no pattern is in between."""
        if "additionalProperties" not in self._schema or "patternProperties" in self._schema:
            return ALWAYS
        return self._parser.child(self._place, "additionalProperties")

    def _additional(self, declared: dict[str, Any]) -> list[ObjectShape]:
        """Read `patternProperties` and `additionalProperties`, a shape for each."""
        place, schema, parser = self._place, self._schema, self._parser
        if "patternProperties" not in schema:
            return []
        patterns = schema["patternProperties"]
        if not isinstance(patterns, dict):
            raise Malformed("patternProperties", "must be an object")
        matching: dict[int, list[Regex]] = {}
        either_way: dict[int, list[Regex]] = {}
        for pattern in patterns:
            value = parser.parse(place.child("patternProperties", pattern))
            languages = self._languages("patternProperties", pattern)
            if languages is None:
                return []
            narrow, failing = languages
            matching.setdefault(value, []).append(narrow)
            # A name that matches by one reading of patterns only has to fit both sides.
            either_way.setdefault(value, []).append(inverse(failing))
        rest = ALWAYS
        if "additionalProperties" in schema:
            rest = parser.child(place, "additionalProperties")
        shapes = [self._by_name(either(*names), x) for x, names in either_way.items()]
        if rest != ALWAYS:
            covered = [names for listed in matching.values() for names in listed]
            shape = self._by_name(inverse(either(*covered)) if covered else ANY, rest)
            names = tuple((name, ALWAYS) for name in declared)
            shapes.append(ObjectShape(names=names, classes=shape.classes, path=place.path))
        return self._side_by_side(matching, either_way, rest, declared) or shapes

    def _side_by_side(
        self,
        matching: dict[int, list[Regex]],
        either_way: dict[int, list[Regex]],
        rest: int,
        declared: dict[str, Any],
    ) -> list[ObjectShape]:
        """Join patterns that do not overlap, the usual case, in one shape; none otherwise."""
        algebra = self._parser.algebra
        if matching != either_way or not 1 <= len(matching) <= _MOST_PATTERNS:
            return []
        groups = [(either(*names), value) for value, names in matching.items()]
        for (x, _), (y, _) in combinations(groups, 2):
            if not algebra.is_empty_regex(both(x, y)):
                return []
        others = inverse(either(*(names for names, _ in groups)))
        path = self._place.path
        patterned = ObjectShape(classes=(*groups, (others, ALWAYS)), path=path)
        if rest == ALWAYS:
            return [patterned]
        # Declared names escape `additionalProperties`, but not the patterns.
        shape = ObjectShape(
            names=tuple((name, child_of(patterned, name)) for name in declared),
            classes=(*groups, (others, rest)),
            path=path,
        )
        return [shape]

    def _by_name(self, names: Regex, value: int) -> ObjectShape:
        """Return objects whose properties with such a name fit a value grammar."""
        algebra = self._parser.algebra
        if value == ALWAYS or algebra.is_empty_regex(names):
            return ObjectShape(path=self._place.path)
        others = inverse(names)
        if names == ANY or algebra.is_empty_regex(others):
            return ObjectShape(classes=((ANY, value),), path=self._place.path)
        return ObjectShape(classes=((names, value), (others, ALWAYS)), path=self._place.path)

    def _property_names(self) -> list[ObjectShape]:
        if not self._has("propertyNames"):
            return []
        parser = self._parser
        allowed = parser.algebra.normal(parser.parse(self._place.child("propertyNames"))).strings
        if allowed is None:
            return [ObjectShape(classes=((ANY, NEVER),), path=self._place.path)]
        return [self._by_name(inverse(allowed), NEVER)]
