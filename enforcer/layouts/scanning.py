"""Lexical scanner of arguments, which finds where their text ends.

A state is a `NestedText` if brackets end the text, else a `Language`. Both have `after`, the state
after a symbol (None if it is illegal), and `ends`, whether the text is complete and no further
symbol belongs to it. Both are immutable and hashable. Must not know: schemas, what keys and values
mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from enforcer.layouts.pattern import ID, Field, Language, Piece, character
from enforcer.regex import Regex, both, inverse
from enforcer.regex.charset import ALL, CharSet
from enforcer.regex.constructors import chars, concat, either, literal, repeat

_BACKSLASH = ord("\\")
_OPENING = frozenset(b"[{(")
_CLOSING = frozenset(b"]})")
_BLANK = frozenset(b" \t\r\n")
_BYTES = CharSet.span("\x00\xff")
_ANY = repeat(chars(ALL), 0, None)
# Masks allow less, `spelling.WHITE_SPACE`.
_INDENTATION = repeat(chars(CharSet.span(" ", "\t")), 0, None)
_LINE_BREAK = concat(repeat(literal("\r"), 0, 1), literal("\n"), _INDENTATION)
_SPACE = repeat(either(literal(" "), _LINE_BREAK), 0, 1)


@dataclass(frozen=True, slots=True)
class NestedText:
    """A state in nested brackets and strings: JSON, or Python's keyword arguments.

    Attributes:
        depth: number of open brackets.
        quotes: the bytes that begin a string.
        quote: the byte that ends the current string; None outside of strings.
        escaped: whether the last byte was a backslash that escapes the next.
        ends: whether the first bracket has been closed.

    """

    depth: int
    quotes: frozenset[int]
    quote: int | None = None
    escaped: bool = False
    ends: bool = False

    def after(self, symbol: int) -> NestedText | None:
        """Return the state after a symbol; None if the symbol is illegal."""
        if self.ends or symbol >= ID:
            return None
        if self.quote is not None:
            return self._in_string(symbol)
        if symbol in self.quotes:
            return self._at(self.depth, quote=symbol) if self.depth else None
        if symbol in _OPENING:
            return self._at(self.depth + 1)
        if symbol in _CLOSING:
            if not self.depth:
                return None
            return self._at(self.depth - 1, ends=self.depth == 1)
        return self if self.depth or symbol in _BLANK else None

    def stays(self, data: bytes) -> bool:
        """Return whether bytes neither end nor escape the current string."""
        if self.quote is None or self.escaped:
            return False
        return self.quote not in data and _BACKSLASH not in data

    def _in_string(self, symbol: int) -> NestedText:
        if self.escaped:
            return self._at(self.depth, quote=self.quote)
        if symbol == self.quote:
            return self._at(self.depth)
        if symbol == _BACKSLASH:
            return NestedText(self.depth, self.quotes, self.quote, escaped=True)
        return self

    def _at(self, depth: int, *, quote: int | None = None, ends: bool = False) -> NestedText:
        return NestedText(depth, self.quotes, quote, ends=ends)


JSON_TEXT = NestedText(0, frozenset(b'"'))
# The bracket before the arguments is open already.
PYTHON_TEXT = NestedText(1, frozenset(b"\"'"))

Scan = NestedText | Language


def within(text: Scan, data: bytes) -> Scan | None:
    """Return the state after bytes inside a text; None if they end it or are illegal.

    The same object if the state does not change.
    """
    if isinstance(text, NestedText) and text.stays(data):
        return text
    at: Scan | None = text
    for byte in data:
        at = None if at is None else at.after(byte)
        if at is None or at.ends:
            return None
    return at


@lru_cache(maxsize=256)  # one for each layout
def pairs_text(pair: tuple[Piece, ...], close: tuple[Piece, ...]) -> Language:
    """Return the language of texts of pairs with raw values."""
    value = pair.index(Field("value"))
    stop = _of(pair[value + 1 :])
    # A value ends at the first stop.
    raw = both(
        concat(repeat(chars(_BYTES), 0, None), stop), inverse(concat(_ANY, stop, chars(ALL), _ANY))
    )
    return Language(concat(repeat(concat(_of(pair[:value]), raw), 0, None), _of(close)))


def _of(pieces: tuple[Piece, ...]) -> Regex:
    parts = []
    for at, piece in enumerate(pieces):
        if isinstance(piece, int):
            parts.append(literal(character(piece)))
        elif isinstance(piece, Field):
            end = pieces[at + 1]
            ends = CharSet.span(character(end)) if isinstance(end, int) else CharSet(())
            parts.append(repeat(chars(_BYTES & ~ends), 0, None))
        else:
            parts.append(_SPACE)
    return concat(*parts)
