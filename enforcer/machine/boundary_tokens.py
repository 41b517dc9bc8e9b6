r"""The tokens of a vocabulary that hold the end or the beginning of a name or string.

A mask row of a text can be cached unless some token depends on earlier text. A token that begins
before a name and holds all of it is illegal once an object has the name; a token that ends a key
and its value is walked by itself, since the walk of a row does not note the keys that end in it.

Tokens that no JSON text holds, `);\n\n` and thousands of others, are left out of the vocabulary's
trie: a line break cannot stand in a string, and outside strings there are no words. In case of
doubt a token is kept. Source of the format: RFC 8259.

Owns: finding these tokens. Must not know: tables, engines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OF_MARKER = -1  # in place of a byte

# Inside a string: the text, an escape that the bytes break off, and the rest of one.
_TEXT = rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+'
_CUT = rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
_REST = rb'(?:["\\/bfnrt]|u?[0-9a-fA-F]{0,4})'
# Outside: brackets, white space, whatever numbers are made of, and words, whole or in part.
_BETWEEN = rb"(?:[ \t\r\n{}\[\]:,0-9.eE+-]|true|false|null)*"
_LAST_OF_OBJECT = ord("}")
_BEGUN = rb"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul)"
_ENDED = rb"(?:rue|ue|e|alse|lse|se|ull|ll|l)?"
_OUTSIDE = (
    _BETWEEN + rb'(?:"' + _TEXT + rb'"' + _BETWEEN + rb")*"
    rb"(?:" + _BEGUN + rb'|"' + _TEXT + _CUT + rb")?"
)
_WITHIN = _REST + b"?" + _TEXT + rb"(?:" + _CUT + rb'|"' + _OUTSIDE + rb")"
# A quote that ends one text may begin another.
_BEHIND_QUOTE = re.compile(rb'"(?=(' + _TEXT + rb')("?))')
_PIECE = re.compile(rb"(?:" + _WITHIN + rb"|" + _ENDED + _OUTSIDE + rb")")


def may_occur(piece: bytes) -> bool:
    """Return whether some JSON text may hold these bytes, or end in them; True if in doubt."""
    if _PIECE.fullmatch(piece) is not None:
        return True
    ends = (at + 1 for at, byte in enumerate(piece) if byte == _LAST_OF_OBJECT)
    return any(_PIECE.fullmatch(piece[:end]) is not None for end in ends)


class _Beginnings:
    """The beginnings of names and strings that tokens hold."""

    def __init__(self) -> None:
        self._begun = {""}
        self._cut: set[str] = set()  # those behind which a token breaks off a character

    def _note(self, text: str, *, is_cut: bool) -> None:
        self._begun.update(text[:n] for n in range(1, len(text) + 1))
        if is_cut:
            self._cut.add(text)

    def _may_begin(self, start: str) -> bool:
        """Return whether some token ends with a text that may become `start`."""
        return start in self._begun or start[:-1] in self._cut


class QuotedTexts(_Beginnings):
    """The texts behind the quotes in a vocabulary's tokens.

    Args:
        pieces: the bytes of each token.

    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self._whole: set[str] = set()
        for piece in pieces:
            for match in _BEHIND_QUOTE.finditer(piece):
                self._add(match[1], is_whole=match[2] == b'"', is_cut=match.end(2) < len(piece))

    def _add(self, body: bytes, *, is_whole: bool, is_cut: bool) -> None:
        plain = body.decode(errors="ignore")
        text = json.loads(f'"{plain}"')
        is_cut |= plain.encode() != body or "\ud800" <= text[-1:] <= "\udbff"
        if is_whole:
            self._whole.add(text)
        elif is_cut:
            self._cut.add(text[:-1])
        self._note(text, is_cut=is_cut and not is_whole)

    def affects_earlier(self, text: str, exhausted: int) -> bool:
        """Return whether a token that begins before a written name or string becomes illegal.

        Args:
            text: the name or string.
            exhausted: the length of its shortest prefix that begins no other one; -1 for none.

        """
        return text in self._whole or (exhausted >= 0 and self._may_begin(text[:exhausted]))


class KeyTokens(_Beginnings):
    """The tokens in which keys of a layout of pairs begin or end; 0.1 s for Kimi's vocabulary.

    Args:
        pieces: the bytes of each token, with its id.
        around: the last byte before a key, the first byte behind it, and those of the delimiter of
            values; `OF_MARKER` for a marker, which no token of text holds.

    Attributes:
        spanning: the token ids in which a key and its value end.

    """

    def __init__(self, pieces: Iterable[tuple[bytes, int]], around: Sequence[int]) -> None:
        super().__init__()
        first, last, *delimiter = around
        opening, end, stop = _bytes([first]), _bytes([last]), _bytes(delimiter)
        self.spanning: list[int] = []
        for piece, token_id in pieces:
            if opening and opening in piece:
                for at, byte in enumerate(piece, 1):
                    if byte == first:
                        self._add(piece[at:], end)
            if end and stop and stop in piece and stop in piece.partition(end)[2]:
                self.spanning.append(token_id)

    def _add(self, behind: bytes, end: bytes) -> None:
        body = behind[: behind.index(end) + 1] if end and end in behind else behind
        text = body.decode(errors="ignore")
        self._note(text, is_cut=text.encode() != body)

    def affects_earlier(self, text: str, exhausted: int) -> bool:
        """Return whether a token that begins before a written key becomes illegal.

        Args:
            text: the key, and the character that ends it.
            exhausted: the length of its shortest prefix that begins no other one; -1 for none.

        """
        return self._may_begin(text if exhausted < 0 else text[:exhausted])


def _bytes(symbols: Sequence[int]) -> bytes:
    """Return the bytes of symbols; none if there is a marker among them."""
    return b"" if OF_MARKER in symbols else bytes(symbols)


class Spans(NamedTuple):
    """Patterns of tokens that go on from one name or string to the next.

    Attributes:
        names: a name ends, and the object goes on to another one.
        elements: a string ends, and some of the array's next one follows.
        ends: a string ends, and the array goes on to another element.
        opening: an array may open, and an element of it end.

    """

    names: re.Pattern[bytes]
    elements: re.Pattern[bytes]
    ends: re.Pattern[bytes]
    opening: re.Pattern[bytes]


def _spans(quote: bytes, name_end: bytes) -> Spans:
    return Spans(
        re.compile(name_end + b".*,", re.DOTALL),
        re.compile(quote + rb"\s*,\s*" + quote + b".", re.DOTALL),
        re.compile(quote + rb"\s*,"),
        re.compile(rb"\[.*,", re.DOTALL),
    )


SPANS_OF_JSON = _spans(b'"', rb'"\s*:')
SPANS_OF_PYTHON = _spans(b"[\"']", rb"(?:[\"']\s*:|=\s*[^\s=,])")
