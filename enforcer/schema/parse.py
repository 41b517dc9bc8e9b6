"""From keywords to formulas.

Owns: what each keyword of each draft means, and naming those that are malformed or
cannot be enforced. Must not know: how formulas are normalised, engines.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidSchema, Problem, SchemaLimit, UnsupportedSchema
from enforcer.regex import ANY
from enforcer.schema.algebra import Algebra
from enforcer.schema.assertions import Assertions, constant
from enforcer.schema.keywords import Keywords, Malformed
from enforcer.schema.limits import OnUnsupported
from enforcer.schema.nodes import ALWAYS, ANYTHING, NEVER, ObjectShape, Value
from enforcer.schema.numbers import INTEGERS, REALS
from enforcer.schema.read import Document, Draft, Place, step
from enforcer.schema.unevaluated import Unevaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from fractions import Fraction

    from enforcer.regex import Regex
    from enforcer.schema.limits import Limits

# Which draft a keyword came with, and the last one that has it; others are always read.
_SINCE = {
    "const": Draft.DRAFT6,
    "contains": Draft.DRAFT6,
    "propertyNames": Draft.DRAFT6,
    "if": Draft.DRAFT7,
    "then": Draft.DRAFT7,
    "else": Draft.DRAFT7,
    "dependentRequired": Draft.DRAFT2019,
    "dependentSchemas": Draft.DRAFT2019,
    "minContains": Draft.DRAFT2019,
    "maxContains": Draft.DRAFT2019,
    "unevaluatedProperties": Draft.DRAFT2019,
    "unevaluatedItems": Draft.DRAFT2019,
    "$recursiveRef": Draft.DRAFT2019,
    "$dynamicRef": Draft.DRAFT2020,
    "prefixItems": Draft.DRAFT2020,
}
_UNTIL = {"$recursiveRef": Draft.DRAFT2019}
_REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
_LISTED = frozenset({"enum", "const"})
_COMBINED = frozenset({"allOf", "anyOf", "oneOf", "not", "if"})
_DEPENDENT = frozenset({"dependentRequired", "dependentSchemas", "dependencies"})
# What a subschema of one type may hold that says nothing more about its values.
_NOTES = frozenset(
    {
        "type",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
    }
)
_LEAVES = {
    "null": Value(null=True),
    "boolean": Value(booleans=ANYTHING.booleans),
    "integer": Value(numbers=(INTEGERS,)),
    "number": Value(numbers=(REALS,)),
    "string": Value(strings=ANY),
}


class Parser:
    """Turns the subschemas of one document into formulas of one algebra.

    Args:
        document: the schema.
        limits: bounds.
        on_unsupported: whether what cannot be enforced is refused or left out.

    """

    def __init__(self, document: Document, limits: Limits, on_unsupported: OnUnsupported) -> None:
        self.document = document
        self.limits = limits
        self.algebra = Algebra(limits, self._resolve, self._path_of)
        self.relaxing = on_unsupported is not OnUnsupported.REFUSE
        self.unsupported: dict[Problem, None] = {}
        self.invalid: dict[Problem, None] = {}
        self.divisors: dict[Fraction, str] = {}  # where each `multipleOf` stands
        self.patterns: dict[Regex, tuple[str, str]] = {}  # and each pattern, by its languages
        self._targets: dict[Hashable, Place] = {}
        self._parsed: dict[Hashable, int] = {}
        self._leaves: dict[str, int] = {}

    def has(self, schema: dict[str, Any], keyword: str, draft: Draft) -> bool:
        """Tell whether a keyword stands in a schema and means something in its draft."""
        return (
            keyword in schema
            and _SINCE.get(keyword, draft) <= draft
            and _UNTIL.get(keyword, draft) >= draft
        )

    def refuse(self, place: Place, keyword: str, reason: str) -> int:
        """Note what cannot be enforced; returns a formula that stands in for it."""
        path = step(place.path, keyword) if keyword else place.path
        problem = Problem(path, keyword, reason)
        self.unsupported[problem] = None
        return self.algebra.unknown(problem)

    def malformed(self, place: Place, keyword: str, reason: str) -> int:
        """Note what is no JSON Schema; returns a formula that stands in for it."""
        path = step(place.path, keyword) if keyword else place.path
        self.invalid[Problem(path, keyword, reason)] = None
        return ALWAYS

    def _resolve(self, key: Hashable) -> int:
        return self.parse(self._targets[key])

    def _path_of(self, key: Hashable) -> str:
        return self._targets[key].path

    def child(self, place: Place, *keys: str | int) -> int:
        """Return the formula of a subschema below a place; the usual leaf needs no more."""
        schema = place.schema
        for key in keys:
            schema = schema[key]
        if isinstance(schema, dict) and _NOTES.issuperset(schema):
            named = schema.get("type")
            if isinstance(named, str) and named in _LEAVES and place.draft is not Draft.DRAFT4:
                if named not in self._leaves:
                    self._leaves[named] = self.algebra.value(_LEAVES[named])
                return self._leaves[named]
        return self.parse(place.child(*keys))

    def parse(self, place: Place) -> int:
        """Return the formula of a subschema; problems are collected, not raised."""
        schema = place.schema
        if schema is True or schema is False:
            return ALWAYS if schema else NEVER
        if not isinstance(schema, dict):
            return self.malformed(
                place, "", f"a schema is an object or a boolean, not {_shown(schema)}"
            )
        key = place.key
        if key not in self._parsed:
            self._parsed[key] = self._parse_object(place, schema)
        return self._parsed[key]

    def _parse_object(self, place: Place, schema: dict[str, Any]) -> int:
        draft = place.draft
        if "$ref" in schema and draft <= Draft.DRAFT7:
            # Up to draft 7, `$ref` hides everything beside it.
            return self.reference(place, "$ref")
        parts = [
            self.reference(place, keyword)
            for keyword in _REFERENCES
            if self.has(schema, keyword, draft)
        ]
        for read in (
            Assertions(Keywords(self, place, schema)).value,
            *self._readers(place, schema),
        ):
            try:
                parts.extend(read())
            except Malformed as error:
                parts.append(self.malformed(place, error.keyword, error.reason))
        formula = self.algebra.conj(parts)
        for keyword in ("unevaluatedProperties", "unevaluatedItems"):
            if self.has(schema, keyword, draft):
                formula = Unevaluated(self, keyword).apply(place, formula)
        return formula

    def _readers(self, place: Place, schema: dict[str, Any]) -> tuple[Callable[[], list[int]], ...]:
        readers = (
            (_LISTED, self._enum),
            (_COMBINED, self._combinators),
            (_DEPENDENT, self._dependencies),
        )
        return tuple(
            partial(read, place, schema)
            for keywords, read in readers
            if not keywords.isdisjoint(schema)
        )

    # References.

    def target(self, place: Place, keyword: str) -> Place | None:
        """Follow a reference; None, with the problem noted, where that is impossible."""
        if not isinstance(place.schema[keyword], str):
            self.malformed(place, keyword, "a reference is a string")
            return None
        try:
            return self.document.follow(place, keyword)
        except InvalidSchema as error:
            self.invalid.update(dict.fromkeys(error.problems))
        except UnsupportedSchema as error:
            self.unsupported.update(dict.fromkeys(error.problems))
        return None

    def reference(self, place: Place, keyword: str) -> int:
        """Return the formula of a reference, to be resolved when needed."""
        target = self.target(place, keyword)
        if target is None:
            return self.algebra.unknown((place.path, keyword))
        if not isinstance(target.schema, dict):
            return self.parse(target)
        key = target.key
        self._targets.setdefault(key, target)
        return self.algebra.reference(key)

    # Values listed, and combinations.

    def _enum(self, place: Place, schema: dict[str, Any]) -> list[int]:
        parts = []
        if "enum" in schema:
            values = schema["enum"]
            if not isinstance(values, list):
                raise Malformed("enum", "must be a list of values")
            if len(values) > self.limits.enum:
                raise SchemaLimit(
                    (
                        Problem(
                            step(place.path, "enum"),
                            "enum",
                            f"{len(values)} values, more than the limit of {self.limits.enum}",
                        ),
                    )
                )
            parts.append(constant(self.algebra, values))
        if self.has(schema, "const", place.draft):
            parts.append(constant(self.algebra, [schema["const"]]))
        return parts

    def branches(self, place: Place, keyword: str) -> list[Place]:
        """List the subschemas of a keyword that holds an array of them."""
        listed = place.schema[keyword]
        if not isinstance(listed, list) or not listed:
            raise Malformed(keyword, "must be a non-empty list of schemas")
        return [place.child(keyword, i) for i in range(len(listed))]

    def _combinators(self, place: Place, schema: dict[str, Any]) -> list[int]:
        algebra = self.algebra
        parts: list[int] = []
        if "allOf" in schema:
            parts.extend(self.parse(each) for each in self.branches(place, "allOf"))
        if "anyOf" in schema:
            parts.append(algebra.disj(self.parse(x) for x in self.branches(place, "anyOf")))
        if "oneOf" in schema:
            parts.append(algebra.one_of(self.parse(x) for x in self.branches(place, "oneOf")))
        if "not" in schema:
            parts.append(algebra.neg(self.parse(place.child("not"))))
        if self.has(schema, "if", place.draft):
            parts.append(self._conditional(place, schema))
        return parts

    def _conditional(self, place: Place, schema: dict[str, Any]) -> int:
        algebra = self.algebra
        holds = self.parse(place.child("if"))
        fails = algebra.neg(holds)
        then, otherwise = (
            self.parse(place.child(keyword)) if keyword in schema else ALWAYS
            for keyword in ("then", "else")
        )
        if not algebra.readings.is_exact(holds):
            # Something may count as neither holding nor failing, and has to fit both ways.
            return algebra.conj((algebra.disj((fails, then)), algebra.disj((holds, otherwise))))
        # The cases exclude one another, so that a list of conditionals on one property
        # (`kind` is this, `kind` is that) has as many cases as it is long.
        return algebra.disj((algebra.conj((holds, then)), algebra.conj((fails, otherwise))))

    def _dependencies(self, place: Place, schema: dict[str, Any]) -> list[int]:
        parts = []
        for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
            if not self.has(schema, keyword, place.draft):
                continue
            if not isinstance(schema[keyword], dict):
                raise Malformed(keyword, "must be an object")
            for name, needed in schema[keyword].items():
                if isinstance(needed, list) and keyword != "dependentSchemas":
                    if not all(isinstance(each, str) for each in needed):
                        raise Malformed(keyword, "must list property names")
                    consequence = self.present(*needed)
                elif isinstance(needed, str) and keyword == "dependencies":
                    consequence = self.present(needed)
                elif keyword == "dependentRequired":
                    raise Malformed(keyword, "must map names to lists of names")
                else:
                    consequence = self.parse(place.child(keyword, name))
                parts.append(self.algebra.disj((self.absent(name), consequence)))
        return parts

    def present(self, *names: str) -> int:
        """Return that a value, if it is an object, has all these properties."""
        return self.objects(ObjectShape(required=frozenset(names)))

    def absent(self, name: str) -> int:
        """Return that a value, if it is an object, lacks a property."""
        return self.objects(ObjectShape(names=((name, NEVER),)))

    def objects(self, *shapes: ObjectShape) -> int:
        """Return that a value, if it is an object, has one of these shapes."""
        tidied = (self.algebra.objects.tidy(shape) for shape in shapes)
        return self.algebra.value(
            Value(
                ANYTHING.null,
                ANYTHING.booleans,
                ANYTHING.numbers,
                ANYTHING.strings,
                ANYTHING.arrays,
                tuple(shape for shape in tidied if shape is not None),
            )
        )

    def raise_malformed(self) -> None:
        """Raise what was noted that makes the schema no schema."""
        if self.invalid:
            raise InvalidSchema(tuple(self.invalid))

    def raise_problems(self) -> None:
        """Raise whatever was noted; in relax mode only what makes the schema no schema."""
        self.raise_malformed()
        if self.unsupported and not self.relaxing:
            raise UnsupportedSchema(tuple(self.unsupported))


def _shown(value: Any) -> str:
    return f"{value!r:.60}"
