"""Base class of the readers of keywords: typed access to one subschema's keywords.

Malformed values are noted, also of keywords for types that `type` excludes. Must not know: what a
keyword means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.errors import SchemaLimit
from enforcer.numbers.doubles import exact
from enforcer.regex import RegexError, growth, not_matching, parse
from enforcer.schema.keywords import TYPE_OF, what_is_wrong
from enforcer.schema.limits import named
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from fractions import Fraction

    from enforcer.regex import Regex
    from enforcer.schema.grammar import Formula
    from enforcer.schema.reading.document import SchemaLocation
    from enforcer.schema.reading.reader import SchemaReader


class Keywords:
    """The keywords of one subschema.

    Attributes:
        reader: the document's reader.
        place: the subschema's location.
        schema: the subschema.
        extra: formulas that hold besides that of the types.

    """

    def __init__(self, reader: SchemaReader, place: SchemaLocation) -> None:
        self.reader = reader
        self.place = place
        self.schema: dict[str, Any] = place.schema
        self.extra: list[Formula] = []

    def has(self, keyword: str) -> bool:
        """Return whether the subschema has a keyword, and its draft knows it."""
        return self.reader.has(self.schema, keyword, self.place.draft)

    def malformed(self, keyword: str, reason: str) -> None:
        """Note that a keyword's value is malformed."""
        self.extra.append(self.reader.malformed(self.place, keyword, reason))

    def read(self, keyword: str, default: Any = None) -> Any:
        """Return a keyword's value; the default if it is missing, or noted as malformed."""
        if not self.has(keyword):
            return default
        value = self.schema[keyword]
        reason = what_is_wrong(keyword, value)
        if reason is None:
            return value
        self.malformed(keyword, reason)
        return default

    def count(self, keyword: str) -> int | None:
        """Return the value of a keyword that is a whole number (2.0 is one); None if missing."""
        value = self.read(keyword)
        return None if value is None else int(value)

    def number(self, keyword: str) -> Fraction | None:
        """Return the exact value of a keyword that is a number; None if missing."""
        value = self.read(keyword)
        return None if value is None else exact(value)

    def check_excluded(self, types: frozenset[str]) -> None:
        """Note malformed keywords that apply only to types other than `types`."""
        for keyword, value in self.schema.items():
            of = TYPE_OF.get(keyword)
            excluded = of and of not in types and not (of == "number" and "integer" in types)
            # A boolean beside another type is a leftover of draft 3, and common.
            if excluded and not (keyword == "required" and isinstance(value, bool)):
                self.read(keyword)

    def languages(self, keyword: str, pattern: str) -> tuple[Regex, Regex] | None:
        """Return the strings that surely match a pattern, and those that surely do not.

        None, with the problem noted, if the pattern is refused.

        Raises:
            SchemaLimit: the pattern is over `Limits.regex_growth`.

        """
        try:
            matching, failing = parse(pattern), not_matching(pattern)
        except RegexError as error:
            self.extra.append(self.reader.refuse(self.place, keyword, str(error)))
            return None
        limit = self.reader.limits.regex_growth
        if growth(matching, budget=limit) > limit:
            reason = (
                f"{pattern!r:.200} can cut one text in too many ways, by counts inside counts "
                f"{named('regex_growth')}; put between the parts what they cannot hold, or drop "
                "the inner counts"
            )
            raise SchemaLimit.of(step(self.place.path, keyword), keyword, reason)
        return matching, failing
