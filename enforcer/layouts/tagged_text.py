"""Streaming decoder of pairs with raw values to JSON.

Symbols are characters here (`pattern.character`), so that regular expressions find the pairs. Must
not know: schemas.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

from enforcer.layouts.declared import ONLY_STRING, STRING, read_value
from enforcer.layouts.layout import BoundLayout, Trim, Types
from enforcer.layouts.pattern import Field, Piece, character

_Utf8 = getincrementaldecoder("utf-8")
_WRITTEN: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


def characters(symbols: Iterable[int]) -> str:
    """Return symbols as a string of characters."""
    return "".join(map(character, symbols))


@lru_cache(maxsize=256)  # a few for each layout
def expression(pieces: Sequence[Piece], *, begun: bool = False) -> re.Pattern[str]:
    """Return pieces of a layout as a regular expression, whose groups are the fields.

    Args:
        pieces: of a pair or of `BoundLayout.close`.
        begun: whether every prefix of a match matches too.

    """
    text = ""
    for at in reversed(range(len(pieces))):
        piece = pieces[at]
        if isinstance(piece, int):
            part = re.escape(character(piece))
        elif isinstance(piece, Field):
            end = re.escape(characters(x for x in pieces[at + 1 : at + 2] if isinstance(x, int)))
            part = f"(?P<{piece.name}>[^{end}\u0100-\U0010ffff]*)"
        else:
            part = "(?: |\r?\n[ \t]*)?"
        text = f"{part}(?:{text})?" if begun and text else part + text
    return re.compile(text)


def begins_stop(text: str, stop: str) -> int:
    """Return how many of the last characters of a text may begin a delimiter."""
    ends = (count for count in range(len(stop) - 1, 0, -1) if text.endswith(stop[:count]))
    return next(ends, 0)


class TaggedReader:
    """Decodes one text.

    Args:
        layout: a layout of pairs.
        types: the declared types by key, for layouts that do not write them; other keys have
            strings.

    """

    def __init__(self, layout: BoundLayout, types: Mapping[str, frozenset[str]]) -> None:
        self._layout = layout.layout
        self._head = expression(layout.head)
        # The delimiter of a head; the field before it cannot hold its first character.
        ending = [*takewhile(lambda piece: isinstance(piece, int), reversed(layout.head))]
        self._head_end = characters(piece for piece in reversed(ending) if isinstance(piece, int))
        self._close = expression(layout.close)
        self._stop = characters(layout.stop)
        self._types = types
        self._held = ""  # characters not yet decoded
        self._from = 0  # index into it, before which no delimiter begins
        self._is_value = False
        self._key = self._type = ""
        self._string = _RawString(self._layout.trim)
        self._opening = "{"

    def feed(self, symbols: Iterable[int]) -> str:
        """Return the JSON that further symbols complete; raise ValueError at a malformed value."""
        held, self._held = self._held, ""  # so that Python adds to it in place
        held += characters(symbols)
        self._held = held
        return "".join(self._read())

    def finish(self) -> str:
        """Return the rest of the JSON; raise ValueError if the text is incomplete."""
        if self._is_value or not self._close.fullmatch(self._held):
            raise ValueError("the arguments are cut off")
        return "{}" if self._opening == "{" else "}"

    def _read(self) -> Iterator[str]:
        while True:
            if not self._is_value:
                end = self._find(self._head_end)
                found = self._head.match(self._held) if end >= 0 else None
                if found is None:
                    self._from += end >= 0
                    return
                yield self._begin(found)
            end = self._find(self._stop)
            if end < 0:
                if self._streams:
                    yield self._string.feed(self._take(begins_stop(self._held, self._stop)))
                return
            yield self._value(self._take(len(self._held) - end))
            self._held = self._held[len(self._stop) :]
            self._is_value = False

    def _find(self, text: str) -> int:
        """Return the index of a text in the held characters, or -1; tests each index once."""
        at = self._held.find(text, self._from)
        self._from = max(0, len(self._held) - len(text) + 1) if at < 0 else at
        return at

    @property
    def _streams(self) -> bool:
        """Whether the value is known to be a string before it ends."""
        if self._layout.types is Types.WRITTEN:
            return self._type == STRING
        return self._types.get(self._key, ONLY_STRING) == ONLY_STRING

    def _take(self, but: int) -> bytes:
        """Take all held characters but the last ones; raise ValueError at a special token."""
        end = len(self._held) - but
        data, self._held, self._from = self._held[:end].encode("latin-1"), self._held[end:], 0
        return data

    def _begin(self, found: re.Match[str]) -> str:
        fields = {name: text.encode("latin-1").decode() for name, text in found.groupdict().items()}
        self._key, self._type = self._layout.key.read(fields["key"]), fields.get("type", "")
        self._held, self._from, self._is_value = self._held[found.end() :], 0, True
        opening, self._opening = self._opening, ", "
        self._string = _RawString(self._layout.trim)
        return f"{opening}{_json(self._key)}: " + ('"' if self._streams else "")

    def _value(self, data: bytes) -> str:
        """Return the rest of a value as JSON; raise ValueError if it is malformed."""
        if self._streams:
            return self._string.feed(data) + self._string.finish() + '"'
        text = data.decode()
        if self._layout.types is Types.DECLARED:
            types = self._types.get(self._key, ONLY_STRING)
            return _json(read_value(trimmed(text, self._layout.trim), types))
        if not isinstance(value := json.loads(text), _WRITTEN.get(self._type, ())) or (
            isinstance(value, bool) and self._type != "boolean"
        ):
            raise ValueError(f"the value of {self._key!r} is no {self._type}")
        return text


class _RawString:
    """Decodes a raw string, trimmed, to the inside of a JSON string."""

    def __init__(self, trim: Trim) -> None:
        self._utf8 = _Utf8()
        self._trims = trim is Trim.NEWLINE
        self._begun = False
        self._line = ""  # a line break that may be the last

    def feed(self, data: bytes) -> str:
        text = self._utf8.decode(data)
        if not self._trims or not text:
            return _inside(text)
        if not self._begun:
            self._begun = True
            text = text.removeprefix("\n")
        text = self._line + text
        self._line = "\n" if text.endswith("\n") else ""
        return _inside(text.removesuffix("\n"))

    def finish(self) -> str:
        """Raise ValueError if a character is incomplete; what is left is trimmed."""
        return self._utf8.decode(b"", final=True)


def trimmed(text: str, trim: Trim) -> str:
    """Return the text of a value without a line break at either end, if the layout trims it."""
    return text.removeprefix("\n").removesuffix("\n") if trim is Trim.NEWLINE else text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _inside(text: str) -> str:
    return _json(text)[1:-1]
