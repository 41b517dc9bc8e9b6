r"""How a text is written inside another, as a step of its own.

A language of texts says which texts are meant. A spelling is a function that returns the language
of all spellings of one character of a set: `json_chars` those inside a JSON string (the character
itself, a short escape, `\uXXXX`, a surrogate pair), `xml_chars` those inside an attribute.

A spelling is unambiguous: no two texts are written alike. So a language is spelled by spelling
the characters in its expression, with unions, intersections and all, and only the complement
has to be told what a well-formed text is.

Source: RFC 8259, section 7. Owns: these, and the white space between JSON's tokens.
Must not know: schemas, any engine's notation.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from enforcer.regex import ANY, both, either, inverse, literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, repeat
from enforcer.regex.syntax import Chars, Complement, Concat, Intersection, Literal, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Callable

    from enforcer.regex import Regex

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
# For each digit of a number, the most significant first, the text before it and how it is written:
# of a code unit, and of a surrogate pair, whose number is the code point less 0x10000.
_D = chars(CharSet.span("d", "D"))
_HEX = (EPSILON, "0123456789abcdef")
_UNIT = (_HEX,) * 4
_PAIR = ((_D, "89ab"), _HEX, _HEX, (concat(literal("\\u"), _D), "cdef"), _HEX, _HEX)


def spelled(regex: Regex, spelling: Spelling) -> Regex:
    """Build the language of all spellings of the members.

    Raises:
        TypeError: the expression has states of automata, which have none.

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
    """Return what one of some characters looks like inside a JSON string."""
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
    """Return what one of some characters looks like in an attribute.

    That is as formats write attributes that know no more of XML than this.
    """
    entities = (literal(name) for char, name in _ENTITIES.items() if char in members)
    return either(chars(members & ~_XML_RESERVED), *entities)


# One space, or a line break and its indentation: what compact, default and indented
# printers write between two tokens, and nothing endless.
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
    """Write the numbers of ascending spans with one digit for each place, in either case."""
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
