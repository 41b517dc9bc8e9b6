r"""Spellings: the languages of the texts that encode a language, character by character.

A spelling is a function from a set of characters to the language of all encodings of one of them:
`json_chars` for those inside a JSON string (the character itself, a short escape, `\uXXXX`, a
surrogate pair; RFC 8259, section 7), `xml_chars` for those inside an attribute.

No two texts have a common encoding. So a language is spelled by spelling the characters of its
expression, unions and intersections included; only a complement must be restricted to well-formed
encodings. Also here: the white space between JSON's tokens. Must not know: schemas, engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from enforcer.regex import ANY, Regex, both, either, inverse, literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, repeat
from enforcer.regex.syntax import Chars, Complement, Concat, Intersection, Literal, Repeat, Union

if TYPE_CHECKING:
    Spelling = Callable[[CharSet], Regex]
    Spans = tuple[tuple[int, int], ...]

SHORT_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t",
}  # fmt: skip

_ENTITIES = {"&": "&amp;", '"': "&quot;"}
_XML_RESERVED = CharSet.span(*_ENTITIES)
_RAW = ~CharSet.of([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_BASIC = CharSet.of([(0, 0xFFFF)])
_ASTRAL = 0x10000
# For each hexadecimal digit, the most significant first, the text before it and its characters. For
# a code unit; and for a surrogate pair, whose number is the code point less 0x10000.
_D = chars(CharSet.span("d", "D"))
_HEX = (EPSILON, "0123456789abcdef")
_UNIT = (_HEX,) * 4
_PAIR = ((_D, "89ab"), _HEX, _HEX, (concat(literal("\\u"), _D), "cdef"), _HEX, _HEX)


def spelled(regex: Regex, spelling: Spelling) -> Regex:
    """Return the language of all encodings of a language's members.

    Raises:
        TypeError: the expression has states of automata, which cannot be spelled.

    """
    if isinstance(regex, Literal):
        return concat(*(spelling(CharSet.span(c)) for c in regex.text))
    if isinstance(regex, Chars):
        return spelling(regex.chars)
    if isinstance(regex, Repeat):
        return repeat(spelled(regex.part, spelling), regex.minimum, regex.maximum)
    if isinstance(regex, Complement):
        return both(spelled(ANY, spelling), inverse(spelled(regex.part, spelling)))
    if isinstance(regex, Concat | Union | Intersection):
        parts = (spelled(part, spelling) for part in regex.parts)
        if isinstance(regex, Concat):
            return concat(*parts)
        return either(*parts) if isinstance(regex, Union) else both(*parts)
    raise TypeError(f"not expressible without automata: {regex!r}")


@lru_cache(maxsize=4096)
def json_chars(members: CharSet) -> Regex:
    """Return the encodings of one of some characters inside a JSON string."""
    short = "".join(letter for char, letter in SHORT_ESCAPES.items() if char in members)
    units = (members & _BASIC).ranges
    pairs = ((low - _ASTRAL, high - _ASTRAL) for low, high in (members & ~_BASIC).ranges)
    return either(
        chars(members & _RAW),
        concat(literal("\\"), chars(CharSet.span(*short))) if short else NOTHING,
        concat(literal("\\u"), either(_digits(units, _UNIT), _digits(tuple(pairs), _PAIR))),
    )


@lru_cache(maxsize=4096)
def xml_chars(members: CharSet) -> Regex:
    """Return the encodings of one of some characters in an attribute (`&amp;`, `&quot;`)."""
    entities = (literal(name) for char, name in _ENTITIES.items() if char in members)
    return either(chars(members & ~_XML_RESERVED), *entities)


# One space, or a line break and its indentation, as printers write between two tokens; bounded.
INDENTATION = 64
WHITE_SPACE = either(
    literal(" "),
    concat(
        repeat(literal("\r"), 0, 1),
        literal("\n"),
        repeat(chars(CharSet.span(" ", "\t")), 0, INDENTATION),
    ),
)


@lru_cache(maxsize=4096)
def _digits(spans: Spans, places: tuple[tuple[Regex, str], ...]) -> Regex:
    """Match the numbers of ascending spans, with one digit for each place, in either case."""
    if not spans or not places:
        return EPSILON if spans else NOTHING
    (before, digits), *behind = places
    width = prod(len(each) for _, each in behind)
    rests: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high in spans:
        for digit in range(low // width, high // width + 1):
            start = digit * width
            rests[digit].append((max(low - start, 0), min(high - start, width - 1)))
    alike: defaultdict[Spans, str] = defaultdict(str)
    for digit, rest in rests.items():
        alike[tuple(rest)] += digits[digit] + digits[digit].upper()
    return either(
        *(
            concat(before, chars(CharSet.span(*found)), _digits(rest, tuple(behind)))
            for rest, found in alike.items()
        )
    )
