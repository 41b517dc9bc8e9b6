"""The keywords that restrict one JSON type each, and listed constants.

Owns: `type`, and the keywords for numbers, strings and arrays, read into one `Value` beside
those for objects. Must not know: combinations, references, engines.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from enforcer.numbers.doubles import exact
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, meet, single
from enforcer.regex import ANY, both, either, format_regex, inverse, length, literal
from enforcer.regex.regex_format import broken, regexes
from enforcer.schema.grammar import (
    ALWAYS,
    ANYTHING,
    NEVER,
    ArrayShape,
    Contains,
    ObjectShape,
    Value,
)
from enforcer.schema.limits import Formats
from enforcer.schema.reading.document import Place, step
from enforcer.schema.reading.drafts import Draft
from enforcer.schema.reading.object_keywords import ObjectKeywords
from enforcer.schema.reading.reader import shown

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula
    from enforcer.schema.reading.keywords import Keywords

_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_USE = ", ".join(f'"{each}"' for each in _TYPES)
_ONE_TYPE = {each: frozenset({each}) for each in _TYPES}


def constant(algebra: Algebra, values: list[Any]) -> Formula:
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


class TypeKeywords:
    """Reads the keywords of one subschema that need no other instance location."""

    def __init__(self, keywords: Keywords) -> None:
        self._keywords = keywords
        self._reader = keywords.reader
        self._place = keywords.place
        self._schema = keywords.schema

    def value(self) -> list[Formula]:
        """Return the formulas of all these keywords."""
        types = self._types()
        null, booleans = "null" in types, frozenset[bool]()
        numbers: tuple[NumberSet, ...] = ()
        strings: Regex | None = None
        arrays: tuple[ArrayShape, ...] = ()
        objects: tuple[ObjectShape, ...] = ()
        if "boolean" in types:
            booleans = ANYTHING.booleans
        if "number" in types or "integer" in types:
            numbers = self._numbers(types)
        if "string" in types:
            strings = self._strings()
        if "array" in types:
            arrays = self._arrays()
        if "object" in types:
            objects = ObjectKeywords(self._keywords).shapes()
        if len(types) < len(_TYPES):
            self._keywords.check_excluded(types)
        return [
            self._reader.algebra.value(Value(null, booleans, numbers, strings, arrays, objects)),
            *self._keywords.extra,
        ]

    def _types(self) -> frozenset[str]:
        named = self._schema.get("type", list(_TYPES))
        if isinstance(named, str) and named in _ONE_TYPE:
            return _ONE_TYPE[named]
        listed = named if isinstance(named, list) else [named]
        if not listed:
            self._keywords.malformed("type", f"must name a type; use {_USE}")
        wrong = [each for each in listed if each not in _TYPES]
        for each in wrong:
            self._keywords.malformed("type", f"{shown(each)} is no type; use {_USE}")
        return frozenset(listed if listed and not wrong else _TYPES)

    # Numbers.

    def _numbers(self, types: frozenset[str]) -> tuple[NumberSet, ...]:
        found = REALS
        if "number" not in types:
            found = INTEGERS
            if self._reader.in_digits(self._place):
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
            # Draft 4 writes a boolean beside the bound; schemas without `$schema` may too.
            flag = schema.get(exclusive, False)
            bounds = [(self._keywords.number(keyword), flag is True)]
            if not isinstance(flag, bool):
                bounds.append((self._keywords.number(exclusive), True))
            found += [
                NumberSet(low=bound, low_open=is_open)
                if keyword == "minimum"
                else NumberSet(high=bound, high_open=is_open)
                for bound, is_open in bounds
                if bound is not None
            ]
        divisor = self._keywords.number("multipleOf")
        if divisor is not None:
            path = step(self._place.path, "multipleOf")
            self._reader.divisors.setdefault(divisor, path)
            found.append(NumberSet(multiple=divisor))
        return found

    # Strings.

    def _strings(self) -> Regex | None:
        low, high = self._keywords.count("minLength") or 0, self._keywords.count("maxLength")
        if high is not None and low > high:
            return None
        found = length(low, high)
        if "format" in self._schema and self._asserts_format():
            name = self._schema["format"]
            known = format_regex(name) if isinstance(name, str) else None
            if name == "regex":
                self._holds(regexes(), broken())
            if known is not None:
                found = both(found, known)
        pattern = self._keywords.read("pattern")
        if pattern is not None:
            # Readings of patterns differ, so that its negation is no complement.
            languages = self._keywords.languages("pattern", pattern)
            if languages is not None:
                self._holds(*languages)
        return self._reader.algebra.meet_strings(found, ANY)

    def _asserts_format(self) -> bool:
        if self._reader.conventions.formats is Formats.ENFORCE:
            return True
        # From 2019-09 on, `format` asserts nothing in the standard's own dialect. A schema
        # that names no dialect mostly expects the older reading.
        return "$schema" not in self._root() or self._place.draft <= Draft.DRAFT7

    def _root(self) -> dict[str, Any]:
        root = self._reader.document.root.schema
        return root if isinstance(root, dict) else {}

    def _holds(self, matching: Regex, failing: Regex) -> None:
        """Add that strings are of a language, where its negation is another one."""
        algebra = self._reader.algebra

        def among_strings(language: Regex) -> Formula:
            return algebra.value(ANYTHING._replace(strings=algebra.meet_strings(language, ANY)))

        def only_strings(language: Regex) -> Formula:
            return algebra.value(Value(strings=algebra.meet_strings(language, ANY)))

        holds = algebra.two_readings(
            among_strings(matching),
            among_strings(inverse(failing)),
            only_strings(failing),
            only_strings(inverse(matching)),
        )
        self._keywords.extra.append(holds)

    # Arrays.

    def _arrays(self) -> tuple[ArrayShape, ...]:
        place, schema, reader = self._place, self._schema, self._reader
        prefix: tuple[Formula, ...] = ()
        rest = ALWAYS
        items = schema.get("items", True)
        if self._keywords.has("prefixItems"):
            places = reader.branches(place, "prefixItems", Place.below)
            prefix = tuple(map(reader.parse, places))
        if isinstance(items, list):
            # The form before 2020-12, which schemas without `$schema` still use.
            if self._keywords.has("prefixItems"):
                reason = "must be one schema, of the elements after `prefixItems`"
                self._keywords.malformed("items", reason)
            prefix = tuple(reader.parse(place.below("items", i)) for i in range(len(items)))
            if "additionalItems" in schema:
                rest = reader.parse(place.below("additionalItems"))
        elif "items" in schema:
            rest = reader.child(place, "items")
        contains: tuple[Contains, ...] = ()
        if self._keywords.has("contains"):
            least = self._keywords.count("minContains")
            contains = (
                Contains(
                    reader.parse(place.question("contains")),
                    0,
                    1 if least is None else least,
                    self._keywords.count("maxContains"),
                    step(place.path, "contains"),
                ),
            )
        shape = reader.algebra.arrays.tidy(
            ArrayShape(
                prefix,
                rest,
                self._keywords.count("minItems") or 0,
                self._keywords.count("maxItems"),
                contains,
                self._keywords.read("uniqueItems", False),
                path=place.path,
            )
        )
        return () if shape is None else (shape,)
