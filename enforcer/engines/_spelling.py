r"""The JSON spellings of a string language, as a language of texts.

Owns: every legal way of writing a character between the quotes of a JSON string: raw,
as a short escape, as `\uXXXX` and as a surrogate pair; and the white space between tokens. The
result is an ordinary `Regex` over the text, for engines that have no notation of their own for
it. Must not know: schemas, any engine's notation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex import Regex, either, literal
from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import chars, concat, repeat
from enforcer.regex.syntax import Chars, Concat, Literal, Repeat, Union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Spans = tuple[tuple[int, int], ...]

# One space, or a line break and its indentation: what compact, default and indented
# printers write between two tokens, and nothing endless.
WHITE_SPACE = r" |\r?\n[ \t]{0,64}"

_RAW = ~CharSet.of([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_HEX = "0123456789abcdef"
_ANY_HEX = chars(CharSet.span("09", "af", "AF"))
_ASTRAL = 0x10000
_HIGH, _LOW = 0xD800, 0xDC00
_HALF_BITS = 10
_HALF = 0x3FF


def quoted(body: Regex) -> Regex:
    """Put the spellings of a string between its quotes."""
    return concat(literal('"'), body, literal('"'))


def spellings(regex: Regex) -> Regex:
    """Build the language of all spellings of the members, without the quotes.

    Args:
        regex: without intersections and complements (`regex.boolean` is False).

    Raises:
        TypeError: an intersection or a complement.

    """
    if isinstance(regex, Literal):
        return concat(*(of_chars(CharSet.span(c)) for c in regex.text))
    if isinstance(regex, Chars):
        return of_chars(regex.chars)
    if isinstance(regex, Concat):
        return concat(*map(spellings, regex.parts))
    if isinstance(regex, Union):
        return either(*map(spellings, regex.parts))
    if isinstance(regex, Repeat):
        return repeat(spellings(regex.part), regex.minimum, regex.maximum)
    raise TypeError(f"not expressible without operators: {regex!r}")


@lru_cache(maxsize=4096)
def of_chars(members: CharSet) -> Regex:
    """Build the language of all spellings of one character of a set."""
    short = "".join(letter for char, letter in _SHORT.items() if char in members)
    escapes = [_unit(_clip(members, 0, _ASTRAL - 1)), *_pairs(_clip(members, _ASTRAL, None))]
    letters = CharSet.span(*short) if short else CharSet.of(())
    return either(
        chars(members & _RAW),
        concat(literal("\\"), either(chars(letters), concat(literal("u"), either(*escapes)))),
    )


def _clip(members: CharSet, low: int, high: int | None) -> Spans:
    return tuple(
        (max(a, low), b if high is None else min(b, high))
        for a, b in members.ranges
        if b >= low and (high is None or a <= high)
    )


def _unit(spans: Spans) -> Regex:
    """Build the four hexadecimal digits, in either case, of the numbers of some spans."""
    return _digits(spans, 4)


def _digits(spans: Spans, count: int) -> Regex:
    if not count:
        return literal("") if spans else chars(CharSet.of(()))
    width = 16 ** (count - 1)
    if spans == ((0, 16 * width - 1),):
        return repeat(_ANY_HEX, count, count)
    by_rest: dict[Spans, list[str]] = {}
    for number, digit in enumerate(_HEX):
        start = number * width
        rest = tuple(
            (max(low - start, 0), min(high - start, width - 1))
            for low, high in spans
            if low < start + width and high >= start
        )
        if rest:
            by_rest.setdefault(rest, []).extend({digit, digit.upper()})
    return either(
        *(
            concat(chars(CharSet.span(*digits)), _digits(rest, count - 1))
            for rest, digits in by_rest.items()
        )
    )


def _pairs(spans: Spans) -> Iterable[Regex]:
    """Yield the surrogate pairs of code points beyond the basic plane."""
    lows: dict[int, list[tuple[int, int]]] = {}
    for first, last in spans:
        a, b = first - _ASTRAL, last - _ASTRAL
        for high in range(a >> _HALF_BITS, (b >> _HALF_BITS) + 1):
            start = a & _HALF if high == a >> _HALF_BITS else 0
            end = b & _HALF if high == b >> _HALF_BITS else _HALF
            lows.setdefault(_HIGH + high, []).append((_LOW + start, _LOW + end))
    by_low: dict[Spans, list[tuple[int, int]]] = {}
    for high, ranges in lows.items():
        by_low.setdefault(tuple(ranges), []).append((high, high))
    for ranges_of_low, highs in by_low.items():
        yield concat(_unit(_merged(highs)), literal("\\u"), _unit(ranges_of_low))


def _merged(spans: Sequence[tuple[int, int]]) -> Spans:
    """Join the ascending spans that touch."""
    out: list[tuple[int, int]] = []
    for low, high in spans:
        if out and out[-1][1] + 1 == low:
            out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)
