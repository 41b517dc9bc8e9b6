r"""Which bytes can stand somewhere in a JSON text.

A vocabulary has thousands of entries that no JSON text holds, `);\n\n` and the like: a line
break ends a string's text wrongly, and outside strings there are no words. An engine that
never sees them has fewer to try for each mask. Whatever is in doubt counts as possible.

Source of the format: RFC 8259. Owns: that question. Must not know: vocabularies, engines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Inside a string: the text, an escape that the bytes break off, and the rest of one.
_TEXT = rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+'
_CUT = rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
_REST = rb'(?:["\\/bfnrt]|u?[0-9a-fA-F]{0,4})'
# Outside: brackets, white space, whatever numbers are made of, and words, whole or in part.
_BETWEEN = rb"(?:[ \t\r\n{}\[\]:,0-9.eE+-]|true|false|null)*"
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
    """Return whether some JSON text has these bytes in it; True as well where it is unclear."""
    return _PIECE.fullmatch(piece) is not None


class QuotedTexts:
    """The texts behind the quotes in a vocabulary's tokens.

    Args:
        pieces: the tokens.

    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._whole: set[str] = set()
        self._begun = {""}
        self._cut: set[str] = set()  # those behind which a character is broken off
        for piece in pieces:
            for match in _BEHIND_QUOTE.finditer(piece):
                self._add(match[1], is_whole=match[2] == b'"', is_cut=match.end(2) < len(piece))

    def _add(self, body: bytes, *, is_whole: bool, is_cut: bool) -> None:
        plain = body.decode(errors="ignore")
        text = json.loads(f'"{plain}"')
        is_cut = not is_whole and (
            is_cut or plain.encode() != body or "\ud800" <= text[-1:] <= "\udbff"
        )
        if is_whole:
            self._whole.add(text)
        self._begun.update(text[:n] for n in range(1, len(text) + 1))
        if is_cut:
            self._cut.update((text, text[:-1]))

    def affects_earlier(self, text: str, exhausted: int) -> bool:
        """Return whether a token that begins before a name or string depends on its being written.

        Args:
            text: the name or string.
            exhausted: how many of its first characters begin no other one; -1 if all do.

        """
        if text in self._whole:
            return True
        start = text[:exhausted]
        return exhausted >= 0 and (start in self._begun or start[:-1] in self._cut)


class Spans(NamedTuple):
    """What tells which tokens of a vocabulary go on from one name or string to the next.

    Attributes:
        names: finds where a name ends, and the object goes on to another one.
        elements: where a string ends, and some of the array's next one follows.
        ends: where a string ends, and the array goes on to another element.
        opening: where an array may open, and an element of it end.

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
