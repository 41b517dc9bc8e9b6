"""Reader of `type` and the keywords that constrain one JSON type each, into one `Value`.

Objects are read by `object_keywords`. Must not know: combinations, references, engines.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from enforcer.numbers.doubles import exact
from enforcer.numbers.sets import INTEGERS, REALS, NumberSet, meet, single
from enforcer.regex import ANY, both, either, format_regex, inverse, length, literal
from enforcer.regex.formats import no_regexes, regexes
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
from enforcer.schema.reading.document import step
from enforcer.schema.reading.drafts import Draft
from enforcer.schema.reading.mistakes import TYPES, wrong_types
from enforcer.schema.reading.object_keywords import ObjectKeywords

if TYPE_CHECKING:
    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula

_ONE_TYPE = {each: frozenset({each}) for each in TYPES}


def constant(algebra: Algebra, values: list[Any]) -> Formula:
    """Return the formula that a value equals one of a list of JSON values."""
    booleans = frozenset(each for each in values if isinstance(each, bool))
    strings = [literal(each) for each in values if isinstance(each, str)]
    numbers, arrays, objects = [], [], []
    for each in values:
        if isinstance(each, int | float) and not isinstance(each, bool):
            numbers.append(single(exact(each)))
        elif isinstance(each, list):
            items = tuple(constant(algebra, [item]) for item in each)
            arrays.append(ArrayShape(items, NEVER, len(items), len(items)))
        elif isinstance(each, dict):
            names = tuple((name, constant(algebra, [item])) for name, item in each.items())
            objects.append(ObjectShape(names, ((ANY, NEVER),), frozenset(each)))
    return algebra.value(
        Value(
            any(each is None for each in values),
            booleans,
            tuple(dict.fromkeys(numbers)),
            either(*strings) if strings else None,
            tuple(dict.fromkeys(arrays)),
            tuple(dict.fromkeys(objects)),
        )
    )


class TypeKeywords(ObjectKeywords):
    """Reads the keywords of one subschema that constrain one type each."""

    def value(self) -> list[Formula]:
        """Return formulas that together say what all these keywords say."""
        types = self._types()
        value = Value(
            "null" in types,
            ANYTHING.booleans if "boolean" in types else frozenset(),
            () if types.isdisjoint(("number", "integer")) else self._numbers(types),
            self._strings() if "string" in types else None,
            self._arrays() if "array" in types else (),
            self.object_shapes() if "object" in types else (),
        )
        if len(types) < len(TYPES):
            self.check_excluded(types)
        return [self.reader.algebra.value(value), *self.extra]

    def _types(self) -> frozenset[str]:
        named = self.schema.get("type", list(TYPES))
        if isinstance(named, str) and named in _ONE_TYPE:
            return _ONE_TYPE[named]
        wrong = wrong_types(named)
        if wrong is not None:
            self.malformed("type", wrong)
        return frozenset(TYPES if wrong is not None else named)

    # Numbers.

    def _numbers(self, types: frozenset[str]) -> tuple[NumberSet, ...]:
        found = REALS
        if "number" not in types:
            found = INTEGERS
            if self.reader.in_digits(self.place):
                found = NumberSet(multiple=Fraction(1), plain=True)
        for restriction in self._number_sets():
            narrowed = meet(found, restriction)
            if narrowed is None:
                return ()
            found = narrowed
        return (found,)

    def _number_sets(self) -> list[NumberSet]:
        schema, found = self.schema, []
        for keyword in ("minimum", "maximum"):
            exclusive = f"exclusive{keyword.capitalize()}"
            # Draft 4 writes a boolean beside the bound; schemas without `$schema` may too.
            flag = schema.get(exclusive, False)
            bounds = [(self.number(keyword), flag is True)]
            if not isinstance(flag, bool):
                bounds.append((self.number(exclusive), True))
            found += [
                NumberSet(low=bound, low_open=is_open)
                if keyword == "minimum"
                else NumberSet(high=bound, high_open=is_open)
                for bound, is_open in bounds
                if bound is not None
            ]
        divisor = self.number("multipleOf")
        if divisor is not None:
            found.append(NumberSet(multiple=divisor))
        return found

    # Strings.

    def _strings(self) -> Regex | None:
        low, high = self.count("minLength") or 0, self.count("maxLength")
        if high is not None and low > high:
            return None
        found = length(low, high)
        if "format" in self.schema and self._asserts_format():
            name = self.schema["format"]
            known = format_regex(name) if isinstance(name, str) else None
            if name == "regex":
                self._holds(regexes(), no_regexes())
            if known is not None:
                found = both(found, known)
        pattern = self.read("pattern")
        if pattern is not None:
            # Readings of patterns differ, so that the negation is no complement.
            languages = self.languages("pattern", pattern)
            if languages is not None:
                self._holds(*languages)
        return self.reader.algebra.meet_strings(found, ANY)

    def _asserts_format(self) -> bool:
        if self.reader.conventions.formats is Formats.ENFORCE:
            return True
        # From 2019-09 on, `format` asserts nothing in the standard's own dialect. A schema
        # that names no dialect mostly expects the older reading.
        root = self.reader.document.root.schema
        return "$schema" not in root or self.place.draft <= Draft.DRAFT7

    def _holds(self, matching: Regex, failing: Regex) -> None:
        """Require that strings match a pattern, given the languages that surely do and do not."""
        algebra = self.reader.algebra

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
        self.extra.append(holds)

    # Arrays.

    def _arrays(self) -> tuple[ArrayShape, ...]:
        place, schema, reader = self.place, self.schema, self.reader
        prefix: tuple[Formula, ...] = ()
        rest = ALWAYS
        items = schema.get("items", True)
        if self.has("prefixItems"):
            listed = reader.branches(place, "prefixItems")
            prefix = tuple(reader.child(place, "prefixItems", i) for i in range(len(listed)))
        if isinstance(items, list):
            # The form before 2020-12, which schemas without `$schema` still use.
            if self.has("prefixItems"):
                reason = "must be one schema, of the elements after `prefixItems`"
                self.malformed("items", reason)
            prefix = tuple(reader.child(place, "items", i) for i in range(len(items)))
            if "additionalItems" in schema:
                rest = reader.child(place, "additionalItems")
        elif "items" in schema:
            rest = reader.child(place, "items")
        contains: tuple[Contains, ...] = ()
        if self.has("contains"):
            least = self.count("minContains")
            value = reader.parse(place.question("contains"))
            counts = 1 if least is None else least, self.count("maxContains")
            contains = (Contains(value, 0, *counts, step(place.path, "contains")),)
        lengths = self.count("minItems") or 0, self.count("maxItems")
        unique = self.read("uniqueItems", False)
        shape = ArrayShape(prefix, rest, *lengths, contains, unique, path=place.path)
        tidied = reader.algebra.arrays.tidy(shape)
        return () if tidied is None else (tidied,)
