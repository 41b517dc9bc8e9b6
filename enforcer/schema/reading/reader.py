"""What the readers of keywords share while one document is read.

Owns: that each reference is followed once (`document` finds what it leads to), and the notes that
are taken on the way: what is malformed, and what cannot be enforced. How a subschema becomes a
formula is left to `parse`, which brings the readers together. Must not know: what a keyword means,
engines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from enforcer.errors import InvalidSchema, Problem, UnsupportedSchema
from enforcer.schema.limits import Conventions, Integers, Limits, OnUnsupported
from enforcer.schema.reading.document import SchemaDocument, SchemaLocation, step
from enforcer.schema.reading.drafts import REFERENCES, Draft, knows
from enforcer.schema.reading.mistakes import mistake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.schema.algebra.normal_form import Algebra
    from enforcer.schema.grammar import Formula


class SchemaReader(ABC):
    """One document that is being read, and what has been noted of it.

    Args:
        document: the schema.
        limits: bounds.
        on_unsupported: whether what cannot be enforced is refused or left out.
        conventions: what authors are taken to mean.
        algebra: the arena of the formulas.

    """

    def __init__(
        self,
        document: SchemaDocument,
        limits: Limits,
        on_unsupported: OnUnsupported,
        conventions: Conventions,
        algebra: Algebra,
    ) -> None:
        self.document = document
        self.limits = limits
        self.conventions = conventions
        self.algebra = algebra
        self.relaxing = on_unsupported is not OnUnsupported.REFUSE
        # Where each formula stands, as far as one subschema says what a value is.
        self.positions: dict[Formula, list[SchemaLocation]] = {}
        self.unsupported: dict[Problem, None] = {}
        self.invalid: dict[Problem, None] = {}

    @abstractmethod
    def parse(self, place: SchemaLocation) -> Formula:
        """Return the formula of a subschema; problems are collected, not raised."""

    @abstractmethod
    def child(self, place: SchemaLocation, *keys: str | int) -> Formula:
        """Return the formula of a subschema about a member or an element of a place's value."""

    def whole(self) -> Formula:
        """Return the formula of the document.

        Raises:
            UnsupportedSchema: it cannot be read to its end; lists all that was noted until then.

        """
        try:
            return self.parse(self.document.root)
        except UnsupportedSchema as error:
            noted = bool(self.invalid or self.unsupported)
            self.unsupported.update(dict.fromkeys(error.problems))
            if noted:
                self.raise_problems()
            raise

    def has(self, schema: dict[str, Any], keyword: str, draft: Draft) -> bool:
        """Return whether a keyword stands in a schema and means something in its draft."""
        return keyword in schema and knows(draft, keyword)

    def in_digits(self, place: SchemaLocation) -> bool:
        """Return whether an integer is one by its text: in draft 4, and where all are to be."""
        return place.draft is Draft.DRAFT4 or self.conventions.integers is Integers.DIGITS

    def refuse(self, place: SchemaLocation, keyword: str, reason: str) -> Formula:
        """Note what cannot be enforced; returns a formula that stands in for it."""
        path = step(place.path, keyword) if keyword else place.path
        problem = Problem(path, keyword, reason)
        self.unsupported[problem] = None
        return self.algebra.unknown(problem)

    def malformed(self, place: SchemaLocation, keyword: str, reason: str) -> Formula:
        """Note what is no JSON Schema; returns a formula that stands in for it."""
        reason = (keyword and mistake(place.schema, keyword)) or reason
        path = step(place.path, keyword) if keyword else place.path
        problem = Problem(path, keyword, reason)
        self.invalid[problem] = None
        return self.algebra.unknown(problem)

    def target(self, place: SchemaLocation, keyword: str) -> SchemaLocation | None:
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

    def targets(self, place: SchemaLocation) -> Iterator[SchemaLocation]:
        """Follow the references of a schema, as far as that is possible."""
        for keyword in REFERENCES:
            if self.has(place.schema, keyword, place.draft):
                target = self.target(place, keyword)
                if target is not None:
                    yield target

    def branches(self, place: SchemaLocation, keyword: str) -> list[SchemaLocation]:
        """List the subschemas of a keyword; none, the problem noted, where it is malformed."""
        listed = place.schema[keyword]
        if not isinstance(listed, list) or not listed:
            self.malformed(place, keyword, "must be a non-empty list of schemas")
            return []
        return [place.child(keyword, i) for i in range(len(listed))]

    def raise_problems(self) -> None:
        """Raise all that was noted; in relax mode only what makes the schema no schema."""
        unsupported = () if self.relaxing else tuple(self.unsupported)
        if self.invalid:
            raise InvalidSchema((*self.invalid, *unsupported))
        if unsupported:
            raise UnsupportedSchema(unsupported)
