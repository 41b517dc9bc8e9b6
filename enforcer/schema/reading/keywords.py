"""One subschema's keywords, as the modules that give them a meaning ask for them.

Owns: which keywords a subschema has, what the values of those for one type must be, and what is
said of malformed ones, also where that type is excluded. Must not know: what a keyword means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from enforcer.errors import SchemaLimit
from enforcer.numbers.doubles import exact
from enforcer.regex import RegexError, growth, not_matching, parse
from enforcer.schema.limits import named
from enforcer.schema.reading.document import step

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from enforcer.regex import Regex
    from enforcer.schema.grammar import Formula
    from enforcer.schema.reading.document import Place
    from enforcer.schema.reading.reader import SchemaReader


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_COUNT = (
    lambda value: _is_number(value) and value >= 0 and value == int(value),
    "must be a whole number, zero or more",
)
_NUMBER = (_is_number, "must be a number")
# A boolean is draft 4's.
_LIMIT = (lambda value: isinstance(value, bool) or _is_number(value), "must be a number")
_MAPPING = (lambda value: isinstance(value, dict), "must be an object")
_NAMES = (
    lambda value: isinstance(value, list) and all(isinstance(x, str) for x in value),
    "must be a list of property names",
)
_Check = tuple["Callable[[Any], bool]", str]
# The type that a keyword is about, and what its value must be.
_KEYWORDS: dict[str, tuple[str, tuple[_Check, ...]]] = {
    **dict.fromkeys(("minLength", "maxLength"), ("string", (_COUNT,))),
    "pattern": ("string", ((lambda value: isinstance(value, str), "must be a string"),)),
    **dict.fromkeys(("minimum", "maximum"), ("number", (_NUMBER,))),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), ("number", (_LIMIT,))),
    "multipleOf": ("number", (_NUMBER, (lambda value: value > 0, "must be above zero"))),
    **dict.fromkeys(("minItems", "maxItems", "minContains", "maxContains"), ("array", (_COUNT,))),
    "uniqueItems": ("array", ((lambda value: isinstance(value, bool), "must be a boolean"),)),
    **dict.fromkeys(("minProperties", "maxProperties"), ("object", (_COUNT,))),
    **dict.fromkeys(("properties", "patternProperties"), ("object", (_MAPPING,))),
    "required": ("object", (_NAMES,)),
}


def _what_is_wrong(keyword: str, value: Any) -> str | None:
    _, checks = _KEYWORDS[keyword]
    return next((reason for fits, reason in checks if not fits(value)), None)


class Keywords:
    """The keywords of one subschema, and where it stands.

    `extra` gathers formulas that hold beside those for the types.
    """

    def __init__(self, reader: SchemaReader, place: Place) -> None:
        self.reader = reader
        self.place = place
        self.schema: dict[str, Any] = place.schema
        self.extra: list[Formula] = []

    def has(self, keyword: str) -> bool:
        """Whether the subschema has a keyword that its draft knows."""
        return self.reader.has(self.schema, keyword, self.place.draft)

    def malformed(self, keyword: str, reason: str) -> None:
        """Note that a keyword's value is not what the standard asks for."""
        self.extra.append(self.reader.malformed(self.place, keyword, reason))

    def read(self, keyword: str, default: Any = None) -> Any:
        """Return a keyword's value; the default where it is not there, or noted as malformed."""
        if not self.has(keyword):
            return default
        value = self.schema[keyword]
        reason = _what_is_wrong(keyword, value)
        if reason is None:
            return value
        self.malformed(keyword, reason)
        return default

    def count(self, keyword: str) -> int | None:
        """Read a keyword whose value is a whole number, 2.0 included."""
        value = self.read(keyword)
        return None if value is None else int(value)

    def number(self, keyword: str) -> Fraction | None:
        """Read a keyword whose value is a number, exactly."""
        value = self.read(keyword)
        return None if value is None else exact(value)

    def check_excluded(self, types: frozenset[str]) -> None:
        """Note malformed keywords for other types than these, which assert nothing."""
        for keyword, value in self.schema.items():
            of, _ = _KEYWORDS.get(keyword, ("", ()))
            excluded = of and of not in types and not (of == "number" and "integer" in types)
            # A boolean beside another type is a leftover of draft 3, and common.
            if excluded and not (keyword == "required" and isinstance(value, bool)):
                self.read(keyword)

    def languages(self, keyword: str, pattern: str) -> tuple[Regex, Regex] | None:
        """Return what certainly matches and what certainly does not; None if refused."""
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
