"""What schemas and instances are drawn from: pools, and what the drafts call things.

Owns: the values. They come from small pools, so that constraints meet. Must not know:
how either is put together, the compiler.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.support.cases import load

NAMES = ["a", "b", "c", "ab", "é", 'q"/', ""]
DEFINITIONS = ["A", "B/~"]
_POOLS = load("cases/drawn.toml")
PATTERNS: dict[str, list[str]] = _POOLS["patterns"]
FORMATS: dict[str, list[str]] = _POOLS["formats"]
KEYWORDS: dict[str, list[str]] = _POOLS["keywords"]
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
