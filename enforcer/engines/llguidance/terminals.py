"""Regular languages as terminals of llguidance's Lark.

Owns: writing a value of `enforcer.regex`, in a spelling, as a *terminal expression*. A language
without intersections and complements is one regular expression between slashes; the others,
which that syntax has no operators for, combine such expressions by `&` and `~`; languages with
names are terminals of their own, which share what they have in common. Must not know: how
characters are spelled, what a text means, schemas.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import ANY, EPSILON
from enforcer.regex.syntax import (
    Chars,
    Complement,
    Concat,
    Intersection,
    Literal,
    Named,
    Regex,
    Repeat,
    Union,
    quantifier,
)
from enforcer.spelling import RAW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from enforcer.spelling import Spelling

_COUNT = 2**31  # greatest number that one quantifier is given; the engine's have 32 bits
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ,:;=<>!@%\"'`")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_NOTHING = r"[^\x00-\u{10FFFF}]"
_BESIDE_SURROGATES = (0xD7FF, 0xE000)
_EVERYTHING = r"[\x00-\u{10FFFF}]"


def expression(regex: Regex, spelling: Spelling) -> str:
    """Write the terminal of a language, with what stands around a text in its spelling.

    That stands inside every operand: only then does llguidance see that most tokens are
    prefixes of a member, and takes them from its tables instead of trying each, 1,300 against
    35 microseconds a mask.
    """
    before, behind = spelling.opening, spelling.closing
    if not regex.boolean:
        if isinstance(regex, Union) and not before:
            return f"/{'|'.join(_text(part, spelling) for part in regex.parts)}/"
        return f"/{before}{_text(regex, spelling)}{behind}/" if before else operand(regex, spelling)
    if not before:
        return operand(regex, spelling)
    if isinstance(regex, Complement):
        return f"({expression(ANY, spelling)}) & ~({expression(regex.part, spelling)})"
    if isinstance(regex, Intersection):
        return " & ".join(f"({expression(part, spelling)})" for part in regex.parts)
    return f"/{before}/ {operand(regex, spelling)} /{behind}/"


@lru_cache(maxsize=64)
def definitions(language: Named, spelling: Spelling) -> Mapping[str, str]:
    """Write the terminals that a language with a name refers to, its own the first of them.

    Returns:
        Lines by the name of the terminal.

    """
    lines: dict[str, str] = {}
    queue = [language]
    for each in queue:
        name = _name(each, spelling)
        if name in lines:
            continue
        options = []
        for members, after in each.equation.moves():
            if isinstance(after, Named):
                queue.append(after)
            behind = "" if after == EPSILON else f" {operand(after, spelling)}"
            options.append(f"/{_class(members, spelling)}/{behind}")
        if each.nullable:
            options.append('""')
        lines[name] = f"{name}:{'|'.join(options) or f'/{_NOTHING}/'}"
    return lines


def operand(regex: Regex, spelling: Spelling) -> str:
    """Write a terminal expression of what stands inside, which any operator may stand beside."""
    if not regex.boolean:
        return f"/{_text(regex, spelling)}/" if regex != EPSILON else '""'
    if isinstance(regex, Named):
        return _name(regex, spelling)
    if isinstance(regex, Concat):
        return f"({' '.join(operand(part, spelling) for part in _runs(regex.parts))})"
    if isinstance(regex, Union):
        plain = tuple(part for part in regex.parts if not part.boolean)
        first = [Union(plain)] if len(plain) > 1 else plain
        parts = [*first, *(part for part in regex.parts if part.boolean)]
        return f"({'|'.join(operand(part, spelling) for part in parts)})"
    if isinstance(regex, Repeat):
        most = "" if regex.maximum is None else str(regex.maximum)
        return f"({operand(regex.part, spelling)}{{{regex.minimum},{most}}})"
    if isinstance(regex, Intersection):
        kept = [operand(p, spelling) for p in regex.parts if not isinstance(p, Complement)]
        cut = [f"~{operand(p.part, spelling)}" for p in regex.parts if isinstance(p, Complement)]
        return f"({' & '.join([*(kept or [operand(ANY, spelling)]), *cut])})"
    if isinstance(regex, Complement):
        return f"({operand(ANY, spelling)} & ~{operand(regex.part, spelling)})"
    raise TypeError(f"not a regular expression: {regex!r}")


def _name(language: Named, spelling: Spelling) -> str:
    """Name the terminal of a language."""
    name = language.equation.name
    return name if spelling is RAW else f"{name}_{spelling.name}"


def _text(regex: Regex, spelling: Spelling) -> str:
    """Write a regular expression for a language without operators.

    The result stands for itself beside any text; quantifiers need an atom.
    """
    if isinstance(regex, Literal):
        return "".join([_char(char, spelling) for char in regex.text])
    if isinstance(regex, Chars):
        return _class(regex.chars, spelling)
    if isinstance(regex, Concat):
        return "".join([_text(part, spelling) for part in regex.parts])
    if isinstance(regex, Union):
        return f"(?:{'|'.join([_text(part, spelling) for part in regex.parts])})"
    if isinstance(regex, Repeat):
        part = _text(regex.part, spelling)
        single = isinstance(regex.part, Union | Chars) or (
            isinstance(regex.part, Literal) and len(regex.part.text) == 1
        )
        return _repeated(part if single else f"(?:{part})", regex.minimum, regex.maximum)
    raise TypeError(f"not expressible without operators: {regex!r}")


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


def _repeated(atom: str, minimum: int, maximum: int | None) -> str:
    """Write an atom's repetition; the engine counts to 32 bits, what is more is nested."""
    if max(minimum, maximum or 0) <= _COUNT:
        return f"{atom}{quantifier(minimum, maximum)}"
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
def _char(char: str, spelling: Spelling) -> str:
    """Write all spellings of one character, as an atom."""
    return _class(CharSet.span(char), spelling)


@lru_cache(maxsize=1024)
def _class(chars: CharSet, spelling: Spelling) -> str:
    """Write all spellings of the characters of a set, as an atom."""
    if spelling is RAW:
        return _raw_class(chars)
    found = spelling.of_chars(chars)
    text = _text(found, RAW)
    return text if isinstance(found, Chars | Union) else f"(?:{text})"


def _raw_class(chars: CharSet) -> str:
    if not chars:
        return _NOTHING
    if chars == ALL:
        return _EVERYTHING
    if len(chars) == 1:
        return "-" if chars.first == "-" else _escape(chars.first)
    if len(chars) > len(~chars):
        return f"[^{_members(~chars)}]"
    return f"[{_members(chars)}]"


def _members(chars: CharSet) -> str:
    """Write the inside of a bracketed class.

    Spans on both sides of the surrogates are written as one: the negation of two has their ends
    U+D7FF and U+E000 in it, since there is no character between (regex-syntax's
    `IntervalSet::negate`).
    """
    spans = []
    ranges = [*chars.ranges]
    for at, (low, high) in enumerate(ranges[1:], 1):
        if (ranges[at - 1][1], low) == _BESIDE_SURROGATES:
            ranges[at - 1 : at + 1] = [(ranges[at - 1][0], high)]
            break
    for low, high in ranges:
        dash = "-" if high > low + 1 else ""
        spans.append(_escape(chr(low)) + (dash + _escape(chr(high)) if high > low else ""))
    return "".join(spans)


def _escape(char: str) -> str:
    """Write one character for a regular expression between slashes."""
    if char in _SAFE:
        return char
    code = ord(char)
    if char.isascii() and char.isprintable():
        return "\\" + char
    return _SHORT.get(char, rf"\x{{{code:x}}}")
