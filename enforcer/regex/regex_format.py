r"""The format `regex` of JSON Schema: texts that are regular expressions, as far as can be told.

Whether a text is a well-formed pattern is no regular question, as groups nest. Here they nest to a
fixed depth, and the syntax is what ECMA-262 and Python's `re` have in common: no backreferences,
named groups, lookbehinds or classes by property (`\p{L}`); ranges and counts are in order, as both
demand.

Owns: the language of such texts, and that of texts that surely are no patterns. Must not know: how
patterns are read here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, chars, concat, either, literal, repeat

if TYPE_CHECKING:
    from enforcer.regex.syntax import Regex

_DEPTH = 3  # groups inside groups
_HEX = chars(CharSet.span("09", "af", "AF"))
_DIGIT = chars(CharSet.span("09"))
_SYNTAX = CharSet.span(*r"\^$.*+?()[]{}|")
_PUNCTUATION = CharSet.span("!/", ":@", "[`", "{~")
_PLAIN = CharSet.of([(0x20, 0x10FFFF)]) & ~_SYNTAX
_IN_CLASS = CharSet.of([(0x20, 0x10FFFF)]) & ~CharSet.span(*r"\]^-[&~|")
_RANGES = (("0", "9"), ("A", "Z"), ("a", "z"))


def _optional(part: Regex) -> Regex:
    return either(EPSILON, part)


def _escape(letters: str) -> Regex:
    hexadecimal = either(
        concat(literal("x"), repeat(_HEX, 2, 2)), concat(literal("u"), repeat(_HEX, 4, 4))
    )
    return concat(literal("\\"), either(chars(CharSet.span(*letters) | _PUNCTUATION), hexadecimal))


def _ranges() -> Regex:
    """Match the range of a class, from one character to a later one."""
    spans = [
        concat(literal(f"{first}-"), chars(CharSet.span(first + last)))
        for low, last in _RANGES
        for first in map(chr, range(ord(low), ord(last) + 1))
    ]
    digits, upper, lower = (chars(CharSet.span(low + last)) for low, last in _RANGES)
    mixed = either(
        concat(digits, literal("-"), either(upper, lower)), concat(upper, literal("-"), lower)
    )
    printable = concat(chars(CharSet.span(" !")), literal("-~"))
    units = [
        concat(
            literal(f"\\u{first}"),
            repeat(_HEX, 3, 3),
            literal("-\\u"),
            chars(CharSet.span(*"0123456789abcdef"[int(first, 16) + 1 :])),
            repeat(_HEX, 3, 3),
        )
        for first in "0123456789abcde"
    ]
    return either(*spans, mixed, printable, *units)


def _class() -> Regex:
    item = either(_ranges(), chars(_IN_CLASS), _escape("dDwWsStnrfv"))
    dash = _optional(literal("-"))
    inside = either(concat(dash, repeat(item, 1, None), dash), literal("-"))
    return concat(literal("["), _optional(literal("^")), inside, literal("]"))


def _counts() -> Regex:
    """Match `{2}`, `{2,}` and `{2,5}`, where the second is no less than the first."""
    several = [
        concat(literal(f"{first},"), chars(CharSet.span(f"{first}9"))) for first in "0123456789"
    ]
    longer = concat(_DIGIT, literal(","), chars(CharSet.span("19")), repeat(_DIGIT, 1, 2))
    longest = concat(
        chars(CharSet.span("19")), _DIGIT, literal(","), chars(CharSet.span("19")), _DIGIT, _DIGIT
    )
    one = concat(repeat(_DIGIT, 1, 3), _optional(literal(",")))
    return concat(literal("{"), either(one, *several, longer, longest), literal("}"))


@lru_cache(maxsize=1)
def regexes() -> Regex:
    """Build the language of texts that are regular expressions for both."""
    how_often = concat(
        either(chars(CharSet.span("*", "+", "?")), _counts()), _optional(literal("?"))
    )
    character = either(chars(_PLAIN), literal("."), _escape("dDwWsStnrfv"), _class())
    assertion = either(literal("^"), literal("$"), literal("\\b"), literal("\\B"))
    term = either(concat(character, _optional(how_often)), assertion)
    whole = _alternatives(term)
    for _ in range(_DEPTH):
        group = concat(literal("("), _optional(literal("?:")), whole, literal(")"))
        ahead = concat(either(literal("(?="), literal("(?!")), whole, literal(")"))
        whole = _alternatives(either(term, concat(group, _optional(how_often)), ahead))
    return whole


def _alternatives(term: Regex) -> Regex:
    # Bars stand between terms, so that the text can be cut in one way only.
    return repeat(either(term, literal("|")), 0, None)


@lru_cache(maxsize=1)
def broken() -> Regex:
    """Build a language of texts that are no regular expressions: they end within an escape."""
    pair = concat(literal("\\"), chars(CharSet.of([(0, 0x10FFFF)])))
    before = either(chars(~CharSet.span("\\")), pair)
    return concat(repeat(before, 0, None), literal("\\"))
