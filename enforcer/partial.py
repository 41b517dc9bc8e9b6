r"""Characters of which only some bytes have been written, in JSON strings and in bare text.

Owns: a character that has been begun (some bytes of its UTF-8, part of an escape, one half of a
surrogate pair): which characters it may become, and which bytes complete it. Must not know: values,
ids, which texts are meant.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enforcer.regex import NOTHING
from enforcer.regex.charset import ALL, LAST, CharSet
from enforcer.regex.derivative import derivative, first_classes
from enforcer.spelling import SHORT_ESCAPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enforcer.regex import Regex

_SIMPLE = {letter: char for char, letter in SHORT_ESCAPES.items()}
_QUOTE, _BACKSLASH, _FIRST_TEXT, _FIRST_WIDE = 0x22, 0x5C, 0x20, 0x80
_BEFORE_ASTRAL = 0x10000
_UNIT = 6  # bytes of `\uXXXX`


@dataclass(frozen=True, slots=True)
class Partial:
    """Characters read, and bytes of one that is not complete.

    Attributes:
        pending: the bytes of the character that has been begun.
        quoted: whether the text is a JSON string, which a quote ends.

    """

    pending: bytes = b""
    quoted: bool = True

    def read(self, byte: int) -> tuple[Partial, str | None] | None:
        """Read one more byte; the character that it completes, None being none yet.

        None where no character has such bytes. A quote that ends a string is not read here.
        """
        if not self.pending:
            if byte < _FIRST_WIDE and not (self.quoted and byte == _BACKSLASH):
                return None if self.quoted and byte < _FIRST_TEXT else (self, chr(byte))
            return Partial(bytes([byte]), self.quoted), None
        data = self.pending + bytes([byte])
        char = _character(data)
        if char is not None:
            return Partial(b"", self.quoted), char
        return (Partial(data, self.quoted), None) if any(_spans(data)) else None

    @property
    def characters(self) -> CharSet:
        """The characters that what has been begun may become; all where nothing has been."""
        return CharSet.of(_spans(self.pending)) if self.pending else ALL

    def ways(self, regex: Regex) -> Iterator[tuple[bytes, Regex]]:
        """Give the bytes that can complete the character begun, and what may follow it."""
        allowed = self.characters
        for members in first_classes(regex):
            common = members & allowed
            after = derivative(regex, members.first)
            if not common or after == NOTHING:
                continue
            chars = {common.first}
            if self.pending == b"\\":
                chars.update(char for char in SHORT_ESCAPES if char in common)
            for char in chars:
                rest = self.rest_of(char)
                if rest is not None:
                    yield rest, after

    def rest_of(self, char: str) -> bytes | None:
        """Give what completes a character, written as it has been begun; None if it differs."""
        if not self.pending:
            return spell(char, quoted=self.quoted)
        if self.pending[0] != _BACKSLASH:
            data = char.encode()
            return data[len(self.pending) :] if data.startswith(self.pending) else None
        begun = self.pending.lower()
        for spelled in _escapes(char):
            if spelled.startswith(begun):
                return spelled[len(begun) :]
        return None


def spell(text: str, *, quoted: bool) -> bytes:
    """Write characters in the usual way, without quotes around them."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode() if quoted else text.encode()


def _escapes(char: str) -> Iterator[bytes]:
    """Give every spelling of a character by an escape, hexadecimal digits in lower case."""
    if char in SHORT_ESCAPES:
        yield b"\\" + SHORT_ESCAPES[char].encode()
    units = char.encode("utf-16-be")
    yield b"".join(b"\\u" + units[i : i + 2].hex().encode() for i in range(0, len(units), 2))


def _character(data: bytes) -> str | None:
    """Give the character that these bytes spell; None if it is not complete."""
    if data[0] != _BACKSLASH:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None
    if len(data) == 2 and chr(data[1]) in _SIMPLE:  # noqa: PLR2004
        return _SIMPLE[chr(data[1])]
    if len(data) not in {_UNIT, 2 * _UNIT} or not any(_spans(data)):
        return None
    units = [int(data[i + 2 : i + _UNIT], 16) for i in range(0, len(data), _UNIT)]
    try:
        return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")
    except UnicodeDecodeError:
        return None  # one half of a pair


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Give the ranges of the characters whose spelling may begin with these bytes."""
    if data[0] != _BACKSLASH:
        yield from _wide(data)
        return
    if len(data) == 1:
        yield 0, LAST
        return
    if data[1:2] != b"u" or (len(data) > _UNIT and not b"\\u".startswith(data[6:8])):
        return
    digits = data[2:_UNIT] + data[8:]
    try:
        known = int(digits, 16) if digits else 0
    except ValueError:
        return
    if digits.strip(b"0123456789abcdefABCDEF"):
        return
    if len(data) < _UNIT or (len(data) == _UNIT and not 0xD800 <= known <= 0xDBFF):  # noqa: PLR2004
        free = 4 * (4 - len(digits))
        low, high = known << free, ((known + 1) << free) - 1
        yield low, high
        # The first half of a pair begins like this, too.
        first, last = max(low, 0xD800), min(high, 0xDBFF)
        if first <= last:
            yield _pair(first, 0), _pair(last, 0x3FF)
        return
    first = int(data[2:_UNIT], 16)
    if not 0xD800 <= first <= 0xDBFF:  # noqa: PLR2004
        return
    tail = data[8:]
    free = 4 * (4 - len(tail))
    low = max((int(tail, 16) if tail else 0) << free, 0xDC00)
    high = min((((int(tail, 16) if tail else 0) + 1) << free) - 1, 0xDFFF)
    if low <= high:
        yield _pair(first, low - 0xDC00), _pair(first, high - 0xDC00)


def _pair(first: int, second: int) -> int:
    return _BEFORE_ASTRAL + ((first - 0xD800) << 10) + second


def _wide(data: bytes) -> Iterator[tuple[int, int]]:
    lead = data[0]
    size = 2 if lead >= 0xC2 else 0  # noqa: PLR2004
    size = 3 if lead >= 0xE0 else size  # noqa: PLR2004
    size = 4 if lead >= 0xF0 else size  # noqa: PLR2004
    if not size or len(data) > size or any(byte & 0xC0 != 0x80 for byte in data[1:]):  # noqa: PLR2004
        return
    code = lead & (0x7F >> size)
    for byte in data[1:]:
        code = code << 6 | byte & 0x3F
    free = 6 * (size - len(data))
    least_code = {2: 0x80, 3: 0x800, 4: _BEFORE_ASTRAL}[size]
    low, high = max(code << free, least_code), min(((code + 1) << free) - 1, LAST)
    if low <= high:
        yield low, high
