"""Completions of a partially written string or name, its closing quote included.

Owns: their bytes, those of partially written characters included. Must not know: which of several
completions is the shortest in token ids.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from enforcer.regex.charset import LAST, CharSet
from enforcer.spelling import SHORT_ESCAPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from enforcer.budget.words import Words

# Kinds of unfinished characters of the kernel.
_ESCAPE, _DIGITS, _BACKSLASH, _SECOND_U, _SECOND_DIGITS = range(1, 6)
_LEADS = {2: (0xC0, 0x80), 3: (0xE0, 0x800), 4: (0xF0, 0x10000)}  # and the least character
_HIGH, _LOW = (0xD800, 0xDBFF), (0xDC00, 0xDFFF)  # halves of surrogate pairs


class PartialCharacter(NamedTuple):
    """A partially written character.

    Attributes:
        data: its bytes so far.
        chars: those that it may become.

    """

    data: bytes
    chars: CharSet

    def rest_of(self, char: str) -> bytes | None:
        """Return the bytes that complete a character; None if it is another one."""
        for spelled in _spellings(char) if char in self.chars else ():
            if spelled.startswith(self.data):
                return spelled[len(self.data) :]
        return None


def begun(pending: int, unescaped: CharSet) -> PartialCharacter | None:
    """Return an unfinished character; None if there is none.

    Args:
        pending: the kernel's word for it.
        unescaped: the characters that no escape stands for.

    """
    found = _begun(pending)
    if found is None or not found.data.startswith(b"\\"):
        return found
    return found._replace(chars=found.chars & ~unescaped)


def _begun(pending: int) -> PartialCharacter | None:
    kind, count, value = pending & 15, pending >> 4 & 15, pending >> 8
    if not kind:
        return None
    if kind == _ESCAPE:
        return PartialCharacter(b"\\", CharSet.of([(0, LAST)]))
    if kind == _DIGITS:
        low, high = _range(value, count)
        first, last = max(low, _HIGH[0]), min(high, _HIGH[1])
        pairs = [(_pair(first, _LOW[0]), _pair(last, _LOW[1]))] if first <= last else []
        return PartialCharacter(b"\\u" + _digits(value, count), CharSet.of([(low, high), *pairs]))
    if kind <= _SECOND_DIGITS:
        first, second = divmod(value, 1 << 16) if kind == _SECOND_DIGITS else (value, 0)
        low, high = _range(second, count)
        ends = _pair(first, max(low, _LOW[0])), _pair(first, min(high, _LOW[1]))
        data = b"\\u"[: kind - _BACKSLASH] + _digits(second, count)
        return PartialCharacter(b"\\u" + _digits(first, 4) + data, CharSet.of([ends]))
    size, low = kind - 4, value << 6 * count
    lead, least = _LEADS[size]
    rest = [0x80 | low >> 6 * i & 63 for i in range(size - 2, count - 1, -1)]
    chars = CharSet.of([(max(low, least), min(low + (1 << 6 * count) - 1, LAST))])
    return PartialCharacter(bytes([lead | low >> 6 * (size - 1), *rest]), chars)


def _range(value: int, count: int) -> tuple[int, int]:
    """Return the first and last number of four hexadecimal digits that begins so."""
    missing = 4 * (4 - count)
    return value << missing, ((value + 1) << missing) - 1


def _pair(first: int, second: int) -> int:
    return 0x10000 + ((first - _HIGH[0]) << 10) + second - _LOW[0]


def _digits(value: int, count: int) -> bytes:
    return f"{value:0{count}x}".encode() if count else b""


def _spellings(char: str) -> Iterator[bytes]:
    """Yield a character as it is and as escapes, hexadecimal digits in lower case."""
    yield spell(char)
    if char in SHORT_ESCAPES:
        yield b"\\" + SHORT_ESCAPES[char].encode()
    units = char.encode("utf-16-be")
    yield b"".join(b"\\u" + units[i : i + 2].hex().encode() for i in range(0, len(units), 2))


def spell(text: str) -> bytes:
    """Write characters in a JSON string in the usual way."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def whole(text: str, *, quoted: bool) -> bytes:
    """Write characters and a closing quote; what is no string as it is."""
    return spell(text) + b'"' if quoted else text.encode()


def rest_of(partial: PartialCharacter | None, tail: str) -> bytes | None:
    """Return what is left of a string; None if the character that has been begun is another."""
    if partial is None:
        return whole(tail, quoted=True)
    rest = partial.rest_of(tail[:1]) if tail else None
    return None if rest is None else rest + whole(tail[1:], quoted=True)


def tails(
    words: Words,
    at: tuple[int, int, int, int],
    partial: PartialCharacter | None,
    *,
    taken: Collection[str] = (),
    quoted: bool = True,
) -> Iterator[tuple[bytes, str]]:
    """Yield what completes a text: bytes, and characters.

    The shortest of what may follow the character that has been begun comes after it.

    Args:
        words: of the grammar.
        at: automaton, state, language and the number of characters so far; see `Words.words`.
        partial: the character that has been begun.
        taken: which characters may not complete it.
        quoted: whether a quote ends it.

    """
    number, state, language, count = at
    if partial is None:
        found = words.word(*at)
        if found in taken:
            found = next((each for each in words.words(*at) if each not in taken), None)
        if found is not None:
            yield whole(found, quoted=quoted), found
        return
    firsts = [*words.firsts(number, state, partial.chars)]
    if partial.data == b"\\":
        for char in SHORT_ESCAPES:
            firsts += words.firsts(number, state, CharSet.span(char))
    for chars, after in firsts:
        # Of a range all lead to the same, so that the first which is not taken is enough.
        for char in islice(chars, 1 + len(taken)):
            rest = partial.rest_of(char)
            following = words.words(number, after, language, count + 1)
            tail = next((each for each in following if char + each not in taken), None)
            if rest is not None and tail is not None:
                yield rest + whole(tail, quoted=True), char + tail
                break
