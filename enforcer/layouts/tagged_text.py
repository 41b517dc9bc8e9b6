"""Pairs with raw values, read as JSON.

Owns: keys as they are escaped, raw strings, values whose type is written or declared. Must not
know: schemas.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from enforcer.layouts.declared import ONLY_STRING, STRING, read_value
from enforcer.layouts.layout import Trim, Types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from enforcer.layouts.layout import BoundLayout

_Utf8 = getincrementaldecoder("utf-8")
_WRITTEN: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


class TaggedReader:
    """Reads one text.

    Args:
        layout: how it is laid out.
        types_of: gives the declared types of a key's value, where they are not written.

    """

    def __init__(self, layout: BoundLayout, types_of: Callable[[str], frozenset[str]]) -> None:
        self._layout = layout.layout
        self._machine = layout.machine
        self._stop = len(layout.stop)
        self._types_of = types_of
        self._places = self._machine.start
        self._field = ""  # the field that the place is inside of
        self._held: list[int] = []  # symbols of it, and of a stop, that are not said
        self._matched = 0  # how many of the last of them may be the beginning of a stop
        self._key = self._type = ""
        self._string = _RawString(self._layout.trim)
        self._opening = "{"

    def feed(self, symbols: Iterable[int]) -> str:
        """Read on; raises ValueError at a symbol that cannot stand there."""
        out: list[str] = []
        for symbol in symbols:
            self._step(symbol, out)
        if self._field == "value" and self._streams:
            out.append(self._string.feed(self._take(self._matched)))
        return "".join(out)

    def finish(self) -> str:
        """End the text."""
        if self._machine.final not in self._places:
            raise ValueError("the arguments are cut off")
        return "{}" if self._opening == "{" else "}"

    @property
    def _streams(self) -> bool:
        """Whether the value is known to be a string before it ends."""
        if self._layout.types is Types.WRITTEN:
            return self._type == STRING
        return self._types_of(self._key) == ONLY_STRING

    def _step(self, symbol: int, out: list[str]) -> None:
        machine = self._machine
        places = machine.step(self._places, symbol)
        if places is None:
            raise ValueError("a symbol that cannot stand there")
        self._places = places
        field = machine.field_at(places)
        if self._field == "value":
            self._held.append(symbol)
            self._matched = max(machine.matched.get(place, 0) for place in places)
            if machine.behind in places:
                out.append(self._value())
                self._field = ""
            return
        if field and field == self._field:
            self._held.append(symbol)
            return
        if self._field:
            self._end_attribute()
        if field == "value":
            out.append(self._begin_value())
        self._field = field

    def _take(self, but: int) -> bytes:
        end = len(self._held) - but
        data, self._held = bytes(self._held[:end]), self._held[end:]
        return data

    def _end_attribute(self) -> None:
        text = self._take(0).decode()
        if self._field == "type":
            self._type = text
        else:
            self._key = self._layout.key.read(text)

    def _begin_value(self) -> str:
        opening, self._opening = self._opening, ", "
        self._string = _RawString(self._layout.trim)
        return f"{opening}{_json(self._key)}: " + ('"' if self._streams else "")

    def _value(self) -> str:
        """End a value; gives what of it is not said."""
        data = self._take(self._stop)
        self._held.clear()
        if self._streams:
            return self._string.feed(data) + self._string.finish() + '"'
        text = data.decode()
        if self._layout.types is Types.DECLARED:
            return _json(read_value(trimmed(text, self._layout.trim), self._types_of(self._key)))
        if not isinstance(value := json.loads(text), _WRITTEN.get(self._type, ())) or (
            isinstance(value, bool) and self._type != "boolean"
        ):
            raise ValueError(f"the value of {self._key!r} is no {self._type}")
        return text


class _RawString:
    """A string without what is trimmed, as the inside of a JSON string."""

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
        """End it; only what is trimmed is left."""
        return self._utf8.decode(b"", final=True)


def trimmed(text: str, trim: Trim) -> str:
    """Give a value without what is not part of it."""
    return text.removeprefix("\n").removesuffix("\n") if trim is Trim.NEWLINE else text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _inside(text: str) -> str:
    return _json(text)[1:-1]
