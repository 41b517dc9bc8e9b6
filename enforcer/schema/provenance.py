"""Provenance of a compiled schema: the subschemas that each value comes from.

Equal subschemas share formulas and values, so neither has a single source; a *position* has: a
subschema is a source of the value at a position if it applies there and its formula is a part of
the value's. All is worked out on demand, so that compiling costs nothing more. Must not know:
engines, texts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from enforcer.regex import RegexError, fullmatch, parse
from enforcer.schema.grammar import ALWAYS, NEVER, Formula, ValueId
from enforcer.schema.reading.closed_objects import parts_of
from enforcer.schema.reading.document import members, step
from enforcer.schema.reading.drafts import is_hidden

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from enforcer.errors import Problem
    from enforcer.schema.reading.document import SchemaLocation
    from enforcer.schema.reading.parse import SchemaParser

_MOST_PLACES = 20_000  # searched for the positions of formulas: some 50 milliseconds
_EMPTY: frozenset[Formula] = frozenset()


@dataclass(frozen=True, slots=True)
class Sources:
    """The subschemas about the value at one position.

    Attributes:
        applying: every subschema that applies at the position, branches of all kinds included.
        places: the subschemas that the value comes from; never empty if any applies.

    """

    applying: tuple[SchemaLocation, ...]
    places: tuple[SchemaLocation, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The `$.`-paths of the places, in document order as far as it is known."""
        return tuple(dict.fromkeys(place.path for place in self.places))


class Provenance:
    """The sources of one compiled schema's values; holds its parser and its formulas.

    Args:
        parser: the parser of the schema.
        alias: the number of each formula's value.

    """

    def __init__(self, parser: SchemaParser, alias: Mapping[Formula, ValueId]) -> None:
        self._parser = parser
        self._alias = alias
        self._atoms = cache(self._find_atoms)
        self._looked_at = 0

    @cached_property
    def root(self) -> Sources:
        """The sources of the whole value."""
        root = self._parser.document.root
        return self._narrowed((root,), self._own(root))

    def below(self, sources: Sources, key: str | int, values: Iterable[ValueId]) -> Sources:
        """Return the sources of a property or an element.

        Args:
            sources: the sources of the object or array.
            key: name of the property or index of the element.
            values: the definitions, one of which the property or element fits.

        """
        formulas = (x for value in values for x in self._merged.get(value, (value,)))
        return self._below(sources, key, formulas)

    def offenders(self, formula: Formula, problem: Problem) -> tuple[Problem, ...]:
        """Return a problem for every position of its formula; the problem itself if none is known.

        Equal subschemas are one formula, which is refused once, by the path of the first.
        """
        keyword = problem.keyword
        named = problem.path.endswith(f".{keyword}")
        paths = {
            step(place.path, keyword) if named else place.path: None
            for position in self._positions(formula)
            for place in self._narrowed((position,), self._atoms(formula)).places
            if isinstance(place.schema, dict) and keyword in place.schema
        }
        return tuple(replace(problem, path=path) for path in paths) or (problem,)

    # One position.

    def _below(self, sources: Sources, key: str | int, formulas: Iterable[Formula]) -> Sources:
        atoms = frozenset[Formula]().union(*map(self._atoms, formulas))
        for places in (sources.places, sources.applying):
            direct = tuple(found for place in places for found in self._steps(place, key))
            if direct:
                return self._narrowed(direct, atoms)
        return sources  # no subschema is about it alone

    def _narrowed(self, direct: tuple[SchemaLocation, ...], atoms: frozenset[Formula]) -> Sources:
        """Return the subschemas at some positions, and those that the atoms come from.

        The second are the positions alone if no subschema has an atom.
        """
        applying: dict[Hashable, SchemaLocation] = {}
        places: dict[str, SchemaLocation] = {}
        for first in direct:
            around = self._around(first)
            applying.update(around)
            involved = [x for x in around.values() if not atoms.isdisjoint(self._own(x))]
            if involved:
                places.update({place.path: place for place in (first, *involved)})
        if not places:
            places = {place.path: place for place in direct}
        return Sources(tuple(applying.values()), tuple(places.values()))

    def _around(self, first: SchemaLocation) -> dict[Hashable, SchemaLocation]:
        """Return the subschemas that apply to the same value as one, by key."""
        found: dict[Hashable, SchemaLocation] = {}
        queue = [first]
        for place in queue:
            # A reference may lead in a circle, each time by a longer path.
            key = place.key if isinstance(place.schema, dict) else place.path
            if key not in found:
                found[key] = place
                queue.extend(self._beside(place))
        return found

    def _beside(self, place: SchemaLocation) -> Iterator[SchemaLocation]:
        schema = place.schema
        if not isinstance(schema, dict):
            return
        # `dependencies` has lists of names as well.
        parts = parts_of(self._parser, place)
        yield from (part for part in parts if isinstance(part.schema, dict | bool))
        if "not" in schema and not is_hidden(schema, place.draft):
            yield place.child("not")

    def _steps(self, place: SchemaLocation, key: str | int) -> Iterator[SchemaLocation]:
        schema = place.schema
        if not isinstance(schema, dict) or is_hidden(schema, place.draft):
            return
        yield from self._property(place, key) if isinstance(key, str) else _element(place, key)

    @staticmethod
    def _property(place: SchemaLocation, name: str) -> Iterator[SchemaLocation]:
        schema = place.schema
        declared = members(schema, "properties")
        if name in declared:
            yield place.child("properties", name)
        matching = [x for x in members(schema, "patternProperties") if _matches(x, name)]
        yield from (place.child("patternProperties", pattern) for pattern in matching)
        if name not in declared and not matching and "additionalProperties" in schema:
            yield place.child("additionalProperties")
        if "unevaluatedProperties" in schema:
            yield place.child("unevaluatedProperties")

    # The atoms of a formula.

    def _own(self, place: SchemaLocation) -> frozenset[Formula]:
        return self._atoms(self._parser.parse(place))

    def _find_atoms(self, formula: Formula) -> frozenset[Formula]:
        """Return the formulas without parts that one combines, but for `ALWAYS` and `NEVER`."""
        seen = {formula: None}
        queue, found = [formula], set()
        for each in queue:
            parts = self._parser.algebra.parts(each)
            if not parts:
                found.add(each)
            queue.extend(x for x in parts if x not in seen)
            seen.update(dict.fromkeys(parts))
        return frozenset(found - {ALWAYS, NEVER})

    @cached_property
    def _merged(self) -> Mapping[ValueId, tuple[Formula, ...]]:
        """The formulas of each definition."""
        found: dict[ValueId, list[Formula]] = {}
        for formula, value in self._alias.items():
            found.setdefault(value, []).append(formula)
        return {value: tuple(formulas) for value, formulas in found.items()}

    def _positions(self, formula: Formula) -> list[SchemaLocation]:
        """Return the positions of a formula; of a conjunction, those of its parts."""
        known = self._parser.positions
        if formula in known:
            return known[formula]
        atoms = self._atoms(formula)
        self._looked_at += len(known)
        if self._looked_at > _MOST_PLACES:
            return []
        meeting = [places for own, places in [*known.items()] if _EMPTY < self._atoms(own) <= atoms]
        return [place for places in meeting for place in places]


def _matches(pattern: str, name: str) -> bool:
    try:
        return fullmatch(parse(pattern), name)
    except RegexError:
        return False


def _element(place: SchemaLocation, index: int) -> Iterator[SchemaLocation]:
    schema = place.schema
    tuples = (word for word in ("prefixItems", "items") if isinstance(schema.get(word), list))
    listed = next(tuples, None)
    if listed is not None and index < len(schema[listed]):
        yield place.child(listed, index)
    else:
        rest = "additionalItems" if listed == "items" else "items"
        if rest in schema:
            yield place.child(rest)
    for keyword in ("contains", "unevaluatedItems"):
        if keyword in schema:
            yield place.child(keyword)
