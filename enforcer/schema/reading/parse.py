"""The schema parser: the formula of each subschema, from its keywords.

Malformed keywords and those that cannot be enforced are collected by path. Must not know: how
formulas are normalised, engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enforcer.errors import SchemaLimit
from enforcer.schema.algebra.normal_form import Algebra
from enforcer.schema.grammar import ALWAYS, NEVER
from enforcer.schema.keywords import ANNOTATIONS
from enforcer.schema.limits import named
from enforcer.schema.reading.closed_objects import closable, declares
from enforcer.schema.reading.document import Closing, SchemaDocument, SchemaLocation, members, step
from enforcer.schema.reading.drafts import REFERENCES, is_hidden
from enforcer.schema.reading.identifiers import wrong_identifiers
from enforcer.schema.reading.mistakes import no_schema
from enforcer.schema.reading.object_keywords import absent, present
from enforcer.schema.reading.reader import SchemaReader
from enforcer.schema.reading.type_keywords import TypeKeywords, constant
from enforcer.schema.reading.unevaluated import Unevaluated

if TYPE_CHECKING:
    from collections.abc import Hashable

    from enforcer.schema.grammar import Formula
    from enforcer.schema.limits import Conventions, Limits, OnUnsupported
    from enforcer.schema.reading.drafts import Draft

_REFERRING = frozenset(REFERENCES)
_DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")
_BESIDE_TYPES = frozenset({"enum", "const", "allOf", "anyOf", "oneOf", "not", "if", *_DEPENDENT})
_OF_LEAVES = ANNOTATIONS | {"type"}
_SCALARS = frozenset({"null", "boolean", "integer", "number", "string"})


class SchemaParser(SchemaReader):
    """Turns the subschemas of one document into formulas of one algebra.

    Args:
        document: the schema.
        limits: bounds.
        on_unsupported: whether unsupported constraints are refused or left out.
        conventions: readings of keywords that depart from the standard.

    """

    def __init__(
        self,
        document: SchemaDocument,
        limits: Limits,
        on_unsupported: OnUnsupported,
        conventions: Conventions,
    ) -> None:
        algebra = Algebra(limits, self._resolve, self._path_of)
        super().__init__(document, limits, on_unsupported, conventions, algebra)
        self._targets: dict[Hashable, SchemaLocation] = {}
        self._parsed: dict[Hashable, Formula] = {}
        self._leaves: dict[tuple[str, Draft], Formula] = {}

    def _resolve(self, key: Hashable) -> Formula:
        return self.parse(self._targets[key])

    def _path_of(self, key: Hashable) -> str:
        return self._targets[key].path

    def child(self, place: SchemaLocation, *keys: str | int) -> Formula:
        """Return the formula of a subschema about a member or an element of a place's value."""
        schema = place.schema
        for key in keys:
            schema = schema[key]
        if isinstance(schema, dict) and _OF_LEAVES.issuperset(schema):  # nearly all are leaves
            kind = schema.get("type")
            if isinstance(kind, str) and kind in _SCALARS:
                leaf = kind, place.draft
                if leaf not in self._leaves:
                    self._leaves[leaf] = self.parse(place.below(*keys))
                return self._leaves[leaf]
        below = place.below(*keys)
        formula = self.parse(below)
        self.positions.setdefault(formula, []).append(below)
        return formula

    def parse(self, place: SchemaLocation) -> Formula:
        """Return the formula of a subschema; problems are collected, not raised."""
        schema = place.schema
        if schema is True or schema is False:
            return ALWAYS if schema else NEVER
        if not isinstance(schema, dict):
            return self.malformed(place, "", no_schema(schema, place.path))
        key = place.key
        if key not in self._parsed:
            parse = self._parse_whole if place.closing is Closing.WHOLE else self._parse_object
            self._parsed[key] = parse(place, schema)
        return self._parsed[key]

    def _parse_whole(self, place: SchemaLocation, schema: dict[str, Any]) -> Formula:
        """Return the formula of a subschema whose objects are closed, as one or part by part."""
        closed = closable(self, place)
        found = self._parse_object(replace(place, closing=closed), schema)
        if closed is Closing.HANDED or not declares(self, place):
            return found
        return Unevaluated(self, "unevaluatedProperties").close(place, found)

    def _parse_object(self, place: SchemaLocation, schema: dict[str, Any]) -> Formula:
        """Return the conjunction of all keywords of a subschema that is an object."""
        draft = place.draft
        if is_hidden(schema, draft):
            return self.reference(place, "$ref")
        parts: list[Formula] = []
        if place.base:  # the document has identifiers
            for keyword, reason in wrong_identifiers(schema, draft):
                parts.append(self.malformed(place, keyword, reason))
        if not _REFERRING.isdisjoint(schema):
            parts += [self.reference(place, x) for x in REFERENCES if self.has(schema, x, draft)]
        parts += TypeKeywords(self, place).value()
        if not _BESIDE_TYPES.isdisjoint(schema):
            for read in (self._enum, self._combinators, self._dependencies):
                parts += read(place, schema)
        formula = parts[0] if len(parts) == 1 else self.algebra.conj(parts)
        for keyword in ("unevaluatedProperties", "unevaluatedItems"):
            if self.has(schema, keyword, draft):
                formula = Unevaluated(self, keyword).apply(place, formula)
        return formula

    # References.

    def reference(self, place: SchemaLocation, keyword: str) -> Formula:
        """Return the formula of a reference, which is resolved when its normal form is needed."""
        target = self.target(place, keyword)
        if target is None:
            return self.algebra.unknown((place.path, keyword))
        if not isinstance(target.schema, dict):
            return self.parse(target)
        key = target.key
        self._targets.setdefault(key, target)
        return self.algebra.reference(key)

    # Values listed, and combinations.

    def _enum(self, place: SchemaLocation, schema: dict[str, Any]) -> list[Formula]:
        parts = []
        if "enum" in schema:
            values = schema["enum"]
            if not isinstance(values, list):
                parts.append(self.malformed(place, "enum", "must be a list of values"))
            elif len(values) > self.limits.enum:
                raise SchemaLimit.of(
                    step(place.path, "enum"),
                    "enum",
                    f"{len(values)} values, more than {self.limits.enum} {named('enum')}",
                )
            else:
                parts.append(constant(self.algebra, values))
        if self.has(schema, "const", place.draft):
            parts.append(constant(self.algebra, [schema["const"]]))
        return parts

    def _combinators(self, place: SchemaLocation, schema: dict[str, Any]) -> list[Formula]:
        algebra = self.algebra
        parts: list[Formula] = []
        if "allOf" in schema:
            parts.extend(self.parse(each) for each in self.branches(place, "allOf"))
        if "anyOf" in schema:
            branches = self.branches(place, "anyOf")
            parts.append(algebra.disj(map(self.parse, branches)) if branches else ALWAYS)
        if "oneOf" in schema:
            parts.append(self._one_of(place))
        if "not" in schema:
            parts.append(algebra.neg(self.parse(place.question("not"))))
        if self.has(schema, "if", place.draft):
            parts.append(self._conditional(place, schema))
        return parts

    def _one_of(self, place: SchemaLocation) -> Formula:
        branches = self.branches(place, "oneOf")
        if not branches:
            return ALWAYS  # malformed, as noted
        parsed = [self.parse(each) for each in branches]
        asked = [self.parse(replace(each, closing=Closing.OPEN)) for each in branches]
        one = self.algebra.one_of(asked)
        # Closing applies to the branch that fits, not to the test that no other one does.
        return one if parsed == asked else self.algebra.conj((one, self.algebra.disj(parsed)))

    def _conditional(self, place: SchemaLocation, schema: dict[str, Any]) -> Formula:
        algebra = self.algebra
        holds = self.parse(place.question("if"))
        fails = algebra.neg(holds)
        then, otherwise = (
            self.parse(place.child(keyword)) if keyword in schema else ALWAYS
            for keyword in ("then", "else")
        )
        if not algebra.three_valued.is_exact(holds):
            # A value may neither surely fit nor surely fail, and has to fit both ways.
            return algebra.conj((algebra.disj((fails, then)), algebra.disj((holds, otherwise))))
        # The cases are disjoint, so that n conditionals on one discriminator have n cases.
        return algebra.disj((algebra.conj((holds, then)), algebra.conj((fails, otherwise))))

    def _dependencies(self, place: SchemaLocation, schema: dict[str, Any]) -> list[Formula]:
        parts = []
        for keyword in _DEPENDENT:
            if not self.has(schema, keyword, place.draft):
                continue
            if not isinstance(schema[keyword], dict):
                parts.append(self.malformed(place, keyword, "must be an object"))
            for name, needed in members(schema, keyword).items():
                listed = [needed] if isinstance(needed, str) else needed
                is_listed = isinstance(needed, list) and keyword != "dependentSchemas"
                if is_listed or (isinstance(needed, str) and keyword == "dependencies"):
                    if all(isinstance(each, str) for each in listed):
                        consequence = present(self.algebra, *listed)
                    else:
                        consequence = self.malformed(place, keyword, "must list property names")
                elif keyword == "dependentRequired":
                    reason = "must map names to lists of names"
                    consequence = self.malformed(place, keyword, reason)
                else:
                    consequence = self.parse(place.child(keyword, name))
                parts.append(self.algebra.disj((absent(self.algebra, name), consequence)))
        return parts
