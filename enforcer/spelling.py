r"""How a text is written inside another, as a step of its own.

A language of texts says which texts are meant; a `Spelling` says what each of their characters
looks like in the text that a model writes. `RAW` leaves a character as it is. `JSON` writes what
may stand inside a JSON string: the character itself, a short escape, `\uXXXX` and surrogate
pairs. `XML` writes the two characters as entities that would end an attribute or begin an entity,
`PYTHON` is two values, for the two quotes of Python's literals.

A spelling is unambiguous: no two texts are written alike. So a language is spelled by spelling
the characters in its expression, with unions, intersections and all, and only the complement
has to be told what a well-formed text is.

Sources: RFC 8259, section 7; Python's reference, "String and Bytes literals", less octal escapes,
names of characters, and line breaks that are escaped. Owns: these, and the white space between
JSON's tokens. Must not know: schemas, any engine's notation.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex import ANY, both, either, inverse, literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import EPSILON, NOTHING, chars, concat, repeat
from enforcer.regex.syntax import Chars, Complement, Concat, Intersection, Literal, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from enforcer.regex import Regex

Spans = tuple[tuple[int, int], ...]

SHORT_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t",
}  # fmt: skip

_ENTITIES = {"&": "&amp;", '"': "&quot;"}
_XML_RESERVED = CharSet.span(*_ENTITIES)
_PYTHON_ESCAPES = {
    '"': '"', "'": "'", "\\": "\\", "\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r",
    "\t": "t", "\v": "v",
}  # fmt: skip

_RAW = ~CharSet.of([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_ANY_HEX = chars(CharSet.span("09", "af", "AF"))
_HEX = {digit: chars(CharSet.span(digit, digit.upper())) for digit in "0123456789abcdef"}
_ASTRAL = 0x10000
_HIGH, _LOW = 0xD800, 0xDC00
_HALF_BITS = 10
_HALF = 0x3FF


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """A way to write texts; each is one value, compared by identity.

    Attributes:
        name: letters, by which languages that are written so are told apart.
        opening: what stands before a text.
        closing: what stands behind it.
        of_chars: gives the language of all spellings of one character of a set.

    """

    name: str
    opening: str
    closing: str
    of_chars: Callable[[CharSet], Regex]


def spelled(regex: Regex, spelling: Spelling) -> Regex:
    """Build the language of all spellings of the members, without what stands around them.

    Raises:
        TypeError: the expression has names, for which an engine writes rules.

    """
    if spelling is RAW:
        return regex
    if isinstance(regex, Literal):
        return concat(*(spelling.of_chars(CharSet.span(c)) for c in regex.text))
    if isinstance(regex, Chars):
        return spelling.of_chars(regex.chars)
    if isinstance(regex, Repeat):
        return repeat(spelled(regex.part, spelling), regex.minimum, regex.maximum)
    if isinstance(regex, Complement):
        return both(spelled(ANY, spelling), inverse(spelled(regex.part, spelling)))
    if isinstance(regex, Concat | Union | Intersection):
        parts = (spelled(part, spelling) for part in regex.parts)
        if isinstance(regex, Concat):
            return concat(*parts)
        return either(*parts) if isinstance(regex, Union) else both(*parts)
    raise TypeError(f"not expressible without names: {regex!r}")


def framed(body: Regex, spelling: Spelling) -> Regex:
    """Put spellings between what stands around them."""
    return concat(literal(spelling.opening), body, literal(spelling.closing))


@lru_cache(maxsize=4096)
def _json_chars(members: CharSet) -> Regex:
    short = "".join(letter for char, letter in SHORT_ESCAPES.items() if char in members)
    escapes = [_unit(_clip(members, 0, _ASTRAL - 1)), *_pairs(_clip(members, _ASTRAL, None))]
    return either(
        chars(members & _RAW),
        concat(literal("\\"), chars(CharSet.span(*short))) if short else NOTHING,
        concat(literal("\\u"), either(*escapes)),
    )


@lru_cache(maxsize=4096)
def _xml_chars(members: CharSet) -> Regex:
    entities = (literal(name) for char, name in _ENTITIES.items() if char in members)
    return either(chars(members & ~_XML_RESERVED), *entities)


def _python_chars(members: CharSet, quote: str) -> Regex:
    short = "".join(letter for char, letter in _PYTHON_ESCAPES.items() if char in members)
    low = _clip(members, 0, 0xFF)
    unit = _clip(members, 0, _ASTRAL - 1)
    return either(
        chars(members & ~(CharSet.span("\0", "\n", "\r", "\\") | CharSet.span(quote))),
        concat(literal("\\"), chars(CharSet.span(*short))) if short else NOTHING,
        concat(literal("\\x"), _digits(low, 2)),
        concat(literal("\\u"), _digits(unit, 4)),
        concat(literal("\\U"), _digits(_clip(members, 0, None), 8)),
    )


@lru_cache(maxsize=4096)
def _double_quoted(members: CharSet) -> Regex:
    return _python_chars(members, '"')


@lru_cache(maxsize=4096)
def _single_quoted(members: CharSet) -> Regex:
    return _python_chars(members, "'")


RAW = Spelling("raw", "", "", chars)
JSON = Spelling("json", '"', '"', _json_chars)
# The attributes of a tag, as formats write them that know no more of XML than this.
XML = Spelling("xml", "", "", _xml_chars)
# Python's literals; each has two spellings that differ in the quotes.
PYTHON = (
    Spelling("double", '"', '"', _double_quoted),
    Spelling("single", "'", "'", _single_quoted),
)

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


def _clip(members: CharSet, low: int, high: int | None) -> Spans:
    return tuple(
        (max(a, low), b if high is None else min(b, high))
        for a, b in members.ranges
        if b >= low and (high is None or a <= high)
    )


def _unit(spans: Sequence[tuple[int, int]]) -> Regex:
    """Build the four hexadecimal digits, in either case, of the numbers of ascending spans."""
    return _digits(tuple(spans), 4)


@lru_cache(maxsize=4096)
def _digits(spans: Spans, count: int) -> Regex:
    if not spans:
        return NOTHING
    if not count:
        return EPSILON
    if len(spans) == 1 and spans[0][0] == spans[0][1]:
        return concat(*(_HEX[digit] for digit in f"{spans[0][0]:0{count}x}"))
    width = 16 ** (count - 1)
    if spans == ((0, 16 * width - 1),):
        return repeat(_ANY_HEX, count, count)
    rests: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for low, high in spans:
        for digit in range(low // width, high // width + 1):
            start = digit * width
            rests[digit].append((max(low - start, 0), min(high - start, width - 1)))
    by_rest: defaultdict[Spans, list[str]] = defaultdict(list)
    for digit, rest in rests.items():
        by_rest[tuple(rest)] += {f"{digit:x}", f"{digit:X}"}
    return either(
        *(
            concat(chars(CharSet.span(*digits)), _digits(rest, count - 1))
            for rest, digits in by_rest.items()
        )
    )


def _pairs(spans: Spans) -> Iterator[Regex]:
    """Yield the surrogate pairs of code points beyond the basic plane."""
    lows: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for first, last in spans:
        a, b = first - _ASTRAL, last - _ASTRAL
        for high in range(a >> _HALF_BITS, (b >> _HALF_BITS) + 1):
            start = a & _HALF if high == a >> _HALF_BITS else 0
            end = b & _HALF if high == b >> _HALF_BITS else _HALF
            lows[_HIGH + high].append((_LOW + start, _LOW + end))
    by_low: defaultdict[Spans, list[tuple[int, int]]] = defaultdict(list)
    for high, ranges in lows.items():
        by_low[tuple(ranges)].append((high, high))
    for ranges_of_low, highs in by_low.items():
        yield concat(_unit(_merged(highs)), literal("\\u"), _unit(ranges_of_low))


def _merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Join the ascending spans that touch."""
    out: list[tuple[int, int]] = []
    for low, high in spans:
        if out and out[-1][1] + 1 == low:
            out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)
