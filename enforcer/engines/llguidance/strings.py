r"""A language of strings, written as the language of their JSON spellings.

Owns: every legal way of writing a character inside a JSON string, and the text
of an llguidance terminal for it. A JSON string spells exactly one string, so
union, intersection and complement (within the well-formed spellings) carry over
from strings to spellings one by one. Must not know: patterns, schemas.

The text is a *terminal expression* of llguidance's Lark dialect. A language
without intersections and complements is one regular expression between
slashes; the others, which that syntax has no operators for, combine such
expressions by `&` and `~`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.charset import CharSet
from enforcer.regex.constructors import ANY, EPSILON
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Regex,
    Repeat,
    Union,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_RAW = ~CharSet.of([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_ASTRAL = 0x10000
_COUNT = 2**31  # greatest number that one quantifier is given; the engine's have 32 bits
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ,:;=<>!@%\"'`")


def to_json_literal(regex: Regex) -> str:
    """Write the terminal of the JSON strings, quotes included, that spell a member."""
    if not regex.boolean:
        return f'/"{_text(regex)}"/'
    return f'/"/ {_group(regex)} /"/'


def to_json_body(regex: Regex) -> str:
    """Write the terminal of what stands between the quotes."""
    return _group(regex)


def _group(regex: Regex) -> str:
    """Write a terminal expression that any operator may stand beside."""
    if not regex.boolean:
        return f"/{_text(regex)}/" if regex != EPSILON else '""'
    if isinstance(regex, Concat):
        return f"({' '.join(map(_group, _runs(regex.parts)))})"
    if isinstance(regex, Union):
        return f"({' | '.join(map(_group, regex.parts))})"
    if isinstance(regex, Repeat):
        most = "" if regex.maximum is None else str(regex.maximum)
        return f"({_group(regex.part)}{{{regex.minimum},{most}}})"
    if isinstance(regex, Intersection):
        kept = [_group(p) for p in regex.parts if not isinstance(p, Complement)]
        cut = [f"~{_group(p.part)}" for p in regex.parts if isinstance(p, Complement)]
        return f"({' & '.join([*(kept or [_group(ANY)]), *cut])})"
    if isinstance(regex, Complement):
        return f"({_group(ANY)} & ~{_group(regex.part)})"
    raise TypeError(f"not a regular expression: {regex!r}")


def _runs(parts: Sequence[Regex]) -> list[Regex]:
    """Gather neighbours that one regular expression can hold."""
    out: list[Regex] = []
    for part in parts:
        if out and not out[-1].boolean and not part.boolean:
            before = out[-1].parts if isinstance(out[-1], Concat) else (out[-1],)
            out[-1] = Concat((*before, part))
        else:
            out.append(part)
    return out


def _text(regex: Regex) -> str:
    """Write a regular expression for a language without intersections and complements.

    The result stands for itself beside any text; quantifiers need `_atom`.
    """
    if isinstance(regex, Literal):
        return "".join(map(_spellings, regex.text))
    if isinstance(regex, Chars):
        return _class(regex.chars)
    if isinstance(regex, Concat):
        return "".join(map(_text, regex.parts))
    if isinstance(regex, Union):
        return f"(?:{'|'.join(map(_text, regex.parts))})"
    if isinstance(regex, Repeat):
        return _text_of_repeat(regex)
    raise TypeError(f"not expressible without operators: {regex!r}")


def _text_of_repeat(regex: Repeat) -> str:
    part = _text(regex.part)
    single = isinstance(regex.part, Union | Chars) or (
        isinstance(regex.part, Literal) and len(regex.part.text) == 1
    )
    return _repeated(part if single else f"(?:{part})", regex.minimum, regex.maximum)


def _repeated(atom: str, minimum: int, maximum: int | None) -> str:
    """Write an atom's repetition; the engine counts to 32 bits, what is more is nested."""
    if max(minimum, maximum or 0) <= _COUNT:
        quantifier = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get(
            (minimum, maximum),
            f"{{{minimum}}}"
            if minimum == maximum
            else f"{{{minimum},{'' if maximum is None else maximum}}}",
        )
        return f"{atom}{quantifier}"
    exact = _exactly(atom, minimum)
    if maximum is None:
        return f"{exact}{atom}*"
    return f"{exact}{_at_most(atom, maximum - minimum)}"


def _exactly(atom: str, count: int) -> str:
    blocks, rest = divmod(count, _COUNT)
    block = f"(?:{atom}{{{_COUNT}}}){{{blocks}}}" if blocks else ""
    return f"{block}{atom}{{{rest}}}"


def _at_most(atom: str, count: int) -> str:
    """Write whole blocks and one that is not.

    Blocks that were each filled at will would let one text end in any of them, and the
    engine would have to keep track of all.
    """
    blocks, rest = divmod(count, _COUNT)
    if not blocks:
        return f"{atom}{{0,{rest}}}"
    block = f"(?:{atom}{{{_COUNT}}})"
    return (
        f"(?:{block}{{{blocks}}}{atom}{{0,{rest}}}"
        f"|{block}{{0,{blocks - 1}}}{atom}{{0,{_COUNT - 1}}})"
    )


@lru_cache(maxsize=4096)
def _spellings(char: str) -> str:
    """Write all spellings of one character, as a group."""
    return _class(CharSet.span(char))


@lru_cache(maxsize=1024)
def _class(chars: CharSet) -> str:
    """Write all spellings of the characters of a set, as a group."""
    options = []
    if raw := chars & _RAW:
        options.append(_raw_class(raw))
    if short := "".join(_escape(s) for c, s in _SHORT.items() if c in chars):
        options.append(rf"\\[{short}]")
    units: list[tuple[int, int]] = []
    astral: list[tuple[int, int]] = []
    for low, high in chars.ranges:
        if low < _ASTRAL:
            units.append((low, min(high, _ASTRAL - 1)))
        if high >= _ASTRAL:
            astral.append((max(low, _ASTRAL) - _ASTRAL, high - _ASTRAL))
    escapes = []
    if units:
        escapes.append(_digits(units, 4))
    escapes.extend(_pairs(astral))
    if escapes:
        options.append(rf"\\u(?:{'|'.join(escapes)})" if len(escapes) > 1 else rf"\\u{escapes[0]}")
    return f"(?:{'|'.join(options)})" if options else _text_of_nothing()


def _text_of_nothing() -> str:
    return r"[^\x00-\u{10FFFF}]"


def _raw_class(chars: CharSet) -> str:
    if len(chars) == 1:
        return _escape(chars.first)
    if len(chars) > len(~chars):
        return f"[^{_members(~chars)}]"
    return f"[{_members(chars)}]"


def _members(chars: CharSet) -> str:
    """Write the inside of a bracketed class."""
    spans = []
    for low, high in chars.ranges:
        dash = "-" if high > low + 1 else ""
        spans.append(_escape(chr(low)) + (dash + _escape(chr(high)) if high > low else ""))
    return "".join(spans)


def _escape(char: str) -> str:
    """Write one character for a regular expression between slashes."""
    if char in _PLAIN:
        return char
    code = ord(char)
    return "\\" + char if char.isascii() and char.isprintable() else rf"\x{{{code:x}}}"


def _digits(spans: Sequence[tuple[int, int]], count: int) -> str:
    """Write the numbers of ascending inclusive spans with `count` hexadecimal digits."""
    width = 16 ** (count - 1)
    by_rest: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for digit in range(16):
        start, end = digit * width, (digit + 1) * width - 1
        rest = tuple(
            (max(low, start) - start, min(high, end) - start)
            for low, high in spans
            if low <= end and high >= start
        )
        if rest:
            by_rest.setdefault(rest, []).append(digit)
    options = []
    for rest, digits in by_rest.items():
        head = _hex_class(digits)
        if count == 1:
            options.append(head)
        elif rest == ((0, width - 1),):
            options.append(f"{head}[0-9a-fA-F]{{{count - 1}}}")
        else:
            options.append(head + _digits(rest, count - 1))
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _hex_class(digits: Sequence[int]) -> str:
    spans = "".join(_span(first, last) for first, last in _merged([(d, d) for d in digits]))
    return spans if len(spans) == 1 else f"[{spans}]"


def _span(first: int, last: int) -> str:
    """Write the inside of a class of hexadecimal digits, letters in both cases."""
    out = []
    if first < 10:  # noqa: PLR2004 - no letter, so no case
        out.append((f"{first}", f"{min(last, 9)}"))
    if last >= 10:  # noqa: PLR2004
        low, high = f"{max(first, 10):x}", f"{last:x}"
        out.extend([(low, high), (low.upper(), high.upper())])
    return "".join(low if low == high else f"{low}-{high}" for low, high in out)


def _pairs(spans: Sequence[tuple[int, int]]) -> list[str]:
    """Write ascending inclusive spans of code points, less 0x10000, as surrogate pairs."""
    lows: dict[int, list[tuple[int, int]]] = {}
    for first, last in spans:
        for high in range(first >> 10, (last >> 10) + 1):
            start = first & 0x3FF if high == first >> 10 else 0
            end = last & 0x3FF if high == last >> 10 else 0x3FF
            lows.setdefault(0xD800 + high, []).append((0xDC00 + start, 0xDC00 + end))
    highs: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for high, spans_of_low in lows.items():
        highs.setdefault(tuple(spans_of_low), []).append((high, high))
    return [rf"{_digits(_merged(at), 4)}\\u{_digits(low, 4)}" for low, at in highs.items()]


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join the ascending spans that touch."""
    out: list[tuple[int, int]] = []
    for low, high in spans:
        if out and out[-1][1] + 1 == low:
            out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return out
