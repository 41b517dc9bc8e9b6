r"""Which bytes can stand somewhere in a JSON text.

A vocabulary has thousands of entries that no JSON text holds, `);\n\n` and the like: a line
break ends a string's text wrongly, and outside strings there are no words. An engine that
never sees them has fewer to try for each mask. Whatever is in doubt counts as possible.

Source of the format: RFC 8259. Owns: that question. Must not know: vocabularies, engines.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

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
# What may be overlapping: a quote that ends one may begin another.
_BETWEEN_QUOTES = re.compile(rb'"(?=((?:[^"\\]|\\.)*)")', re.DOTALL)
_SPANS_NAMES = re.compile(rb'"\s*:.*,', re.DOTALL)
_PIECE = re.compile(rb"(?:" + _WITHIN + rb"|" + _ENDED + _OUTSIDE + rb")")


def may_occur(piece: bytes) -> bool:
    """Tell whether some JSON text has these bytes in it; True as well where it is unclear."""
    return _PIECE.fullmatch(piece) is not None


def inner_texts(pieces: Iterable[bytes]) -> frozenset[str]:
    """Return the texts that some pieces have between quotes, as a string or name."""
    found = set()
    for piece in pieces:
        if piece.count(b'"') > 1:
            for match in _BETWEEN_QUOTES.finditer(piece):
                try:
                    found.add(json.loads(b'"' + match[1] + b'"'))
                except ValueError:  # no text has these bytes
                    continue
    return frozenset(found)


def spans_names(piece: bytes) -> bool:
    """Return whether a name may end in a piece, and the object go on to another one."""
    return _SPANS_NAMES.search(piece) is not None
