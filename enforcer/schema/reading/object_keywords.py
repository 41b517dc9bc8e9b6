"""Reader of the keywords that constrain objects, into one `ObjectShape`.

These are `properties`, `required`, `patternProperties`, `additionalProperties`, `propertyNames`,
`minProperties` and `maxProperties`. Must not know: other types, combinations, references, engines.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from enforcer.errors import SchemaLimit
from enforcer.regex import ANY, both, either, inverse
from enforcer.schema.grammar import ALWAYS, ANYTHING, NEVER, ObjectShape, Value
from enforcer.schema.limits import named
from enforcer.schema.reading.document import step
from enforcer.schema.reading.keywords import Keywords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from enforcer.regex import Regex
    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula

# Shapes that objects surely fit, and shapes that they may fit; different only where patterns have
# two readings. All of a list hold.
_Readings = tuple[list[ObjectShape], list[ObjectShape]]
_ABOUT_NAMES = frozenset({"patternProperties", "propertyNames"})
_MOST_PATTERNS = 40  # compared pairwise to see whether they overlap


def present(algebra: Algebra, *names: str) -> Formula:
    """Return the formula "no object, or has all these properties"."""
    return _if_object(algebra, ObjectShape(required=frozenset(names)))


def absent(algebra: Algebra, name: str) -> Formula:
    """Return the formula "no object, or lacks the property"."""
    return _if_object(algebra, ObjectShape(names=((name, NEVER),)))


def _if_object(algebra: Algebra, shape: ObjectShape) -> Formula:
    tidied = algebra.objects.tidy(shape)
    return algebra.value(ANYTHING._replace(objects=() if tidied is None else (tidied,)))


def by_two_readings(
    algebra: Algebra, surely: tuple[ObjectShape, ...], perhaps: tuple[ObjectShape, ...]
) -> Formula:
    """Return the formula "no object, or surely of some shapes, perhaps of others"."""
    holds, may_hold = (algebra.value(ANYTHING._replace(objects=x)) for x in (surely, perhaps))
    may_fail = algebra.value(Value(objects=ANYTHING.objects))
    return algebra.two_readings(holds, may_hold, algebra.neg(may_hold), may_fail)


class ObjectKeywords(Keywords):
    """Reads the keywords of one subschema that constrain objects."""

    def object_shapes(self) -> tuple[ObjectShape, ...]:
        """Return the one shape that objects may have; none if no object fits."""
        place, schema, reader = self.place, self.schema, self.reader
        declared = self.read("properties", {})
        required = self.read("required", [])
        if len(declared) > reader.limits.properties or len(required) > reader.limits.properties:
            raise SchemaLimit.of(
                step(place.path, "properties"),
                "properties",
                f"more than {reader.limits.properties} properties {named('properties')}",
            )
        own = ObjectShape(
            names=tuple((name, reader.child(place, "properties", name)) for name in declared),
            classes=((ANY, self._rest()),),
            required=frozenset(required),
            minimum=self.count("minProperties") or 0,
            maximum=self.count("maxProperties"),
            path=place.path,
        )
        shape: ObjectShape | None = own
        if _ABOUT_NAMES.isdisjoint(schema):
            return self._tidied(own)
        for surely, perhaps in (self._additional(declared), self._property_names()):
            if surely == perhaps:
                shape = self._joined((shape, *surely))
            else:
                readings = (self._tidied(self._joined(each)) for each in (surely, perhaps))
                self.extra.append(by_two_readings(reader.algebra, *readings))
        return self._tidied(shape)

    def _joined(self, shapes: Iterable[ObjectShape | None]) -> ObjectShape | None:
        found, *others = shapes
        for each in others:
            if found is not None and each is not None:
                found = self.reader.algebra.objects.meet(found, each)
        return found

    def _tidied(self, shape: ObjectShape | None) -> tuple[ObjectShape, ...]:
        tidied = None if shape is None else self.reader.algebra.objects.tidy(shape)
        return () if tidied is None else (tidied,)

    def _rest(self) -> Formula:
        """Return the formula of all undeclared properties, if there are no patterns."""
        if "additionalProperties" not in self.schema or "patternProperties" in self.schema:
            return ALWAYS
        return self.reader.child(self.place, "additionalProperties")

    def _additional(self, declared: dict[str, Any]) -> _Readings:
        """Read `patternProperties` and `additionalProperties`."""
        place, schema, reader = self.place, self.schema, self.reader
        if "patternProperties" not in schema:
            return [], []
        patterns = self.read("patternProperties", {})
        matching: dict[Formula, list[Regex]] = {}
        either_way: dict[Formula, list[Regex]] = {}
        for pattern in patterns:
            value = reader.child(place, "patternProperties", pattern)
            languages = self.languages("patternProperties", pattern)
            if languages is None:
                return [], []
            narrow, failing = languages
            matching.setdefault(value, []).append(narrow)
            either_way.setdefault(value, []).append(inverse(failing))
        rest = ALWAYS
        if "additionalProperties" in schema:
            rest = reader.child(place, "additionalProperties")
        if side_by_side := self._side_by_side(matching, either_way, rest, declared):
            return side_by_side, side_by_side
        # A name that matches by one reading of patterns only surely fits what fits both sides,
        # and may fit what fits neither.
        return (
            self._apart(either_way, matching, rest, declared),
            self._apart(matching, either_way, rest, declared),
        )

    def _apart(
        self,
        valued: dict[Formula, list[Regex]],
        covering: dict[Formula, list[Regex]],
        rest: Formula,
        declared: dict[str, Any],
    ) -> list[ObjectShape]:
        """Return a shape for each value of patterns, and one for all other names.

        Args:
            valued: names by the value that they must have.
            covering: names that escape `rest`.
            rest: the value of all other names but the declared.
            declared: the declared names.

        """
        shapes = [self._by_name(either(*names), x) for x, names in valued.items()]
        if rest != ALWAYS:
            covered = [names for listed in covering.values() for names in listed]
            shape = self._by_name(inverse(either(*covered)) if covered else ANY, rest)
            names = tuple((name, ALWAYS) for name in declared)
            shapes.append(ObjectShape(names=names, classes=shape.classes, path=self.place.path))
        return shapes

    def _side_by_side(
        self,
        matching: dict[Formula, list[Regex]],
        either_way: dict[Formula, list[Regex]],
        rest: Formula,
        declared: dict[str, Any],
    ) -> list[ObjectShape]:
        """Return one shape if the patterns do not overlap (the usual case); none otherwise."""
        algebra = self.reader.algebra
        if matching != either_way or not 1 <= len(matching) <= _MOST_PATTERNS:
            return []
        groups = [(either(*names), value) for value, names in matching.items()]
        for (x, _), (y, _) in combinations(groups, 2):
            if not algebra.is_empty_regex(both(x, y)):
                return []
        others = inverse(either(*(names for names, _ in groups)))
        path = self.place.path
        patterned = ObjectShape(classes=(*groups, (others, ALWAYS)), path=path)
        if rest == ALWAYS:
            return [patterned]
        # Declared names escape `additionalProperties`, but not the patterns.
        shape = ObjectShape(
            names=tuple((name, patterned.child(name)) for name in declared),
            classes=(*groups, (others, rest)),
            path=path,
        )
        return [shape]

    def _by_name(self, names: Regex, value: Formula) -> ObjectShape:
        """Return the shape of objects whose properties with some names fit a value."""
        algebra = self.reader.algebra
        if value == ALWAYS or algebra.is_empty_regex(names):
            return ObjectShape(path=self.place.path)
        others = inverse(names)
        if names == ANY or algebra.is_empty_regex(others):
            return ObjectShape(classes=((ANY, value),), path=self.place.path)
        return ObjectShape(classes=((names, value), (others, ALWAYS)), path=self.place.path)

    def _property_names(self) -> _Readings:
        if not self.has("propertyNames"):
            return [], []
        algebra = self.reader.algebra
        names = self.reader.parse(self.place.question("propertyNames"))
        surely = self._named(algebra.normal(names).strings)
        if algebra.three_valued.is_exact(names):
            return surely, surely
        return surely, self._named(algebra.normal(algebra.three_valued.widened(names)).strings)

    def _named(self, allowed: Regex | None) -> list[ObjectShape]:
        if allowed is None:
            return [ObjectShape(classes=((ANY, NEVER),), path=self.place.path)]
        return [self._by_name(inverse(allowed), NEVER)]
