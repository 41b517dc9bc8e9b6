r"""Regular expressions as values: exact languages of strings.

Patterns (`parse`), texts (`literal`), lengths and known formats become `Regex` values; `both`,
`either` and `inverse` combine them. Must not know: JSON Schema, grammars, engines.

`parse` takes only strings that match by ECMA-262 *and* by Python's `re`. So its complement may hold
strings that match by only one of the two. `not_matching` is strict the other way, for patterns that
a string must *not* match.
"""

from __future__ import annotations

from functools import lru_cache

from enforcer.regex.assertions import language
from enforcer.regex.constructors import ANY, NOTHING, either, inverse, length, literal, marker
from enforcer.regex.derivative import (
    BUDGET,
    RegexBudget,
    example,
    finite_members,
    fullmatch,
    growth,
    is_empty,
    is_surely_empty,
)
from enforcer.regex.derivative import intersection as both
from enforcer.regex.flavors import RUST
from enforcer.regex.formats import format_regex
from enforcer.regex.pattern import read
from enforcer.regex.syntax import Regex
from enforcer.regex.tree import FINISH, START, Reading, RegexError, Sequence, plain_language

_CACHED_LENGTH = 1_000  # longer patterns are rare, and would let a cache grow without bound


def parse(pattern: str) -> Regex:
    """Build the language of all strings in which the pattern matches somewhere.

    Raises:
        RegexError: the pattern is malformed, not regular, or not supported.

    """
    return _matching(pattern, Reading.NARROW)


def not_matching(pattern: str) -> Regex:
    r"""Build the language of all strings in which the pattern matches nowhere, by any reading.

    Disjoint from `parse(pattern)`; a string in neither (an Arabic digit against
    `\d`, say) matches by one of the two readings only.

    Raises:
        RegexError: the pattern is malformed, not regular, or not supported.

    """
    return inverse(_matching(pattern, Reading.WIDE))


def parse_rust(pattern: str) -> Regex:
    """Build the language of the texts that a pattern in Rust's syntax matches as a whole.

    Raises:
        RegexError: the pattern is malformed, not regular, or not supported.

    """
    tree = read(pattern, RUST)
    plain = plain_language(tree, Reading.NARROW)
    if plain is not None:
        return plain
    return language(Sequence((START, tree, FINISH)), Reading.NARROW, pattern)


def _matching(pattern: str, reading: Reading) -> Regex:
    if len(pattern) > _CACHED_LENGTH:
        return language(read(pattern), reading, pattern)
    return _short_matching(pattern, reading)


@lru_cache(maxsize=2048)
def _short_matching(pattern: str, reading: Reading) -> Regex:
    return language(read(pattern), reading, pattern)


__all__ = [
    "ANY",
    "BUDGET",
    "NOTHING",
    "Regex",
    "RegexBudget",
    "RegexError",
    "both",
    "either",
    "example",
    "finite_members",
    "format_regex",
    "fullmatch",
    "growth",
    "inverse",
    "is_empty",
    "is_surely_empty",
    "length",
    "literal",
    "marker",
    "not_matching",
    "parse",
    "parse_rust",
]
