"""What schemas and instances are drawn from: pools, and what the drafts call things.

Owns: the values. They come from small pools, so that constraints meet. Must not know:
how either is put together, the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ["a", "b", "c", "ab", "é", 'q"/', ""]
DEFINITIONS = ["A", "B/~"]
# Patterns that Python and ECMA-262 read alike on every string of the pools. None is empty:
# `jsonschema` takes an empty pattern of `patternProperties` for none.
PATTERNS = {
    "^a": ["a", "ab", "aé"],
    "b$": ["b", "ab"],
    "^[a-c]{1,2}$": ["a", "ab", "cc"],
    "é|q": ["é", 'q"/'],
    "^[^a]*$": ["", "b", "é日"],
    "^x-[0-9]+$": ["x-1", "x-20"],
    ".*": ["", "zz"],
    "^.{2,}$": ["ab", "日本"],
}
FORMATS = {
    "date": ["2024-02-29", "2023-02-29", "1999-12-31"],
    "ipv4": ["127.0.0.1", "256.0.0.1", "1.2.3"],
    "uuid": ["12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678"],
}
STRINGS = [
    *dict.fromkeys(
        (
            *NAMES,
            *(each for some in PATTERNS.values() for each in some),
            *(each for some in FORMATS.values() for each in some),
            *("\t\\", "🙂", "<|tool_call_end|>", "\u2028"),
        )
    )
]
NUMBERS = [0, 1, 2, 3, -1, 5, 10, 12, 100, 0.5, 1.5, -0.25, 3.33, 2.0, 1e2, 1e-7, 1e21, -1000]
# Also where doubles hold no more integers, and no numbers are spelled any more.
BOUNDS = [*NUMBERS, 2**53, -(2**53), 1e300, -2e301, 3e-302]
DIVISORS = [1, 2, 3, 5, 7, 10, 100, 0.5, 0.25, 0.1, 0.01, 1.5]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
KEYWORDS = {
    "number": ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    "string": ["minLength", "maxLength", "pattern", "format"],
    "array": ["items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"],
    "object": [
        *("properties", "required", "additionalProperties", "patternProperties"),
        *("propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependencies"),
    ],
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A draft, as a schema names it.

    Attributes:
        uri: value of `$schema`; empty to leave it out.
        number: the draft, as a year from 2019 on.

    """

    uri: str
    number: int

    @property
    def definitions(self) -> str:
        """Name of the member that holds the definitions."""
        return "$defs" if self.number >= 2019 else "definitions"

    @property
    def asserts_formats(self) -> bool:
        """Whether `format` is more than an annotation."""
        return not self.uri or self.number <= 7


LATEST = Dialect("", 2020)
DRAFT7 = Dialect("http://json-schema.org/draft-07/schema#", 7)
DRAFT4 = Dialect("http://json-schema.org/draft-04/schema#", 4)
DIALECTS = [
    LATEST,
    Dialect("https://json-schema.org/draft/2020-12/schema", 2020),
    Dialect("https://json-schema.org/draft/2019-09/schema", 2019),
    DRAFT7,
    Dialect("http://json-schema.org/draft-06/schema#", 6),
    DRAFT4,
]


class Drawer:
    """Chances and choices, each one drawn so that examples shrink well."""

    def __init__(self, draw: st.DrawFn, dialect: Dialect) -> None:
        self.draw = draw
        self.dialect = dialect

    def pick(self, options: Sequence[Any]) -> Any:
        """Draw one of the options."""
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        """Draw whether something happens; it does not in a shrunk example."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def some(self, options: Sequence[Any], most: int, least: int = 0) -> list[Any]:
        """Draw a few different options."""
        return self.draw(
            st.lists(st.sampled_from(options), min_size=least, max_size=most, unique=True)
        )


def any_value(depth: int) -> st.SearchStrategy[Any]:
    """Give values of any type from the pools."""
    scalars = st.one_of(
        st.sampled_from(NUMBERS), st.sampled_from(STRINGS), st.sampled_from([None, True, False])
    )
    if depth <= 0:
        return scalars
    inner = any_value(depth - 1)
    return st.one_of(
        scalars,
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        st.lists(inner, max_size=3),
    )
