"""Base class of the schema parser: the state that the readers of keywords share.

It follows references and collects problems: malformed keywords, and unsupported constraints. How a
subschema becomes a formula is left to `parse`. Must not know: what a keyword means, engines.
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
    """The state of parsing one document.

    Args:
        document: the schema.
        limits: bounds.
        on_unsupported: whether unsupported constraints are refused or left out.
        conventions: readings of keywords that depart from the standard.
        algebra: the arena of the formulas.

    Attributes:
        positions: the locations of each formula that is the whole of some value's schema.
        unsupported, invalid: the problems found so far, in order.

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
            InvalidSchema: reading stopped, and some keyword is malformed.
            UnsupportedSchema: reading stopped; lists all problems found until then, or the last
                one alone where unsupported keywords are relaxed.

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
        """Return whether a schema has a keyword that means something in the draft."""
        return keyword in schema and knows(draft, keyword)

    def in_digits(self, place: SchemaLocation) -> bool:
        """Return whether integers are written in digits alone: by draft 4 or the conventions."""
        return place.draft is Draft.DRAFT4 or self.conventions.integers is Integers.DIGITS

    def refuse(self, place: SchemaLocation, keyword: str, reason: str) -> Formula:
        """Note an unsupported constraint; return a formula of unknown truth in its place."""
        return self._note(self.unsupported, place, keyword, reason)

    def malformed(self, place: SchemaLocation, keyword: str, reason: str) -> Formula:
        """Note a malformed keyword; return a formula of unknown truth in its place."""
        reason = (keyword and mistake(place.schema, keyword)) or reason
        return self._note(self.invalid, place, keyword, reason)

    def _note(
        self, notes: dict[Problem, None], place: SchemaLocation, keyword: str, reason: str
    ) -> Formula:
        path = step(place.path, keyword) if keyword else place.path
        problem = Problem(path, keyword, reason)
        notes[problem] = None
        return self.algebra.unknown(problem)

    def target(self, place: SchemaLocation, keyword: str) -> SchemaLocation | None:
        """Return the target of a reference; None, with the problem noted, if there is none."""
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
        """Yield the targets of a schema's references that can be followed."""
        keywords = (each for each in REFERENCES if self.has(place.schema, each, place.draft))
        targets = (self.target(place, keyword) for keyword in keywords)
        yield from (target for target in targets if target is not None)

    def branches(self, place: SchemaLocation, keyword: str) -> list[SchemaLocation]:
        """Return the subschemas of a keyword; none, with the problem noted, if it is malformed."""
        listed = place.schema[keyword]
        if not isinstance(listed, list) or not listed:
            self.malformed(place, keyword, "must be a non-empty list of schemas")
            return []
        return [place.child(keyword, i) for i in range(len(listed))]

    def raise_problems(self) -> None:
        """Raise all problems found; in relax mode only malformed keywords.

        Raises:
            InvalidSchema: some keyword is malformed; lists unsupported constraints too.
            UnsupportedSchema: some constraint is unsupported.

        """
        unsupported = () if self.relaxing else tuple(self.unsupported)
        if self.invalid:
            raise InvalidSchema((*self.invalid, *unsupported))
        if unsupported:
            raise UnsupportedSchema(unsupported)
