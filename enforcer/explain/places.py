"""Where in a text of keyed arguments one stands, in a layout that is not JSON.

Owns: the key, the type and the part of a value that have been written, for pairs and for Python's
keyword arguments. Takes for granted that an engine has let the text through. Must not know:
schemas, words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from enforcer.layouts.layout import LayoutKind
from enforcer.layouts.pattern import ID
from enforcer.layouts.scanning import PYTHON_TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from enforcer.layouts import BoundLayout

KEY, TYPE, VALUE = "key", "type", "value"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in such a text.

    Attributes:
        field: what is being written: a key, a type, a value; empty between them.
        behind: the field that was written last; empty before a key.
        key: the key that has been written, as it is spelled.
        type: the type that has been written.
        held: symbols of the field, of a value with what may be the beginning of its stop.
        matched: how many of the last of them may be that.
        begin: how many symbols of the text stand before the argument.
        start: likewise before the value.
        is_open: whether a bracket or a string of Python's is open in the value.
        comma: whether a comma of Python's stands before what is due.

    """

    field: str = ""
    behind: str = ""
    key: bytes = b""
    type: str = ""
    held: tuple[int, ...] = ()
    matched: int = 0
    begin: int = 0
    start: int = 0
    is_open: bool = False
    comma: bool = False

    @property
    def text(self) -> bytes:
        """The bytes of the field, up to a control token."""
        found: list[int] = list(takewhile(lambda each: each < ID, self.held))
        return bytes(found)

    @property
    def value(self) -> bytes:
        """The same without what may be the beginning of a stop."""
        found: list[int] = list(self.held[: len(self.held) - self.matched])
        return bytes(found)


def spot(layout: BoundLayout, symbols: Sequence[int]) -> Spot:
    """Read the beginning of a text."""
    if layout.layout.kind is LayoutKind.PYTHON:
        return _in_python(symbols)
    return _in_pairs(layout, symbols)


def _in_pairs(layout: BoundLayout, symbols: Sequence[int]) -> Spot:
    machine = layout.machine
    places = machine.start
    field = behind = written = ""
    key = b""
    held: list[int] = []
    begin = start = matched = 0
    for at, symbol in enumerate(symbols, 1):
        after = machine.step(places, symbol)
        if after is None:
            break  # the engine has let it through, so there is no such symbol
        places = after
        now = next((machine.field[place] for place in places if place in machine.field), "")
        if field == VALUE:
            held.append(symbol)
            matched = max(machine.matched.get(place, 0) for place in places)
            if machine.behind in places:
                field = behind = written = ""
                begin, matched, key = at, 0, b""
                held.clear()
            continue
        if field and now == field:
            held.append(symbol)
            continue
        if field == KEY:
            key = bytes(held)
        elif field == TYPE:
            written = bytes(held).decode("utf-8", "replace")
        if now != field:
            behind = field or behind
            held.clear()
            start = at if now == VALUE else start
        field = now
    return Spot(field, behind, key, written, tuple(held), matched, begin, start)


def _in_python(symbols: Sequence[int]) -> Spot:
    scan = PYTHON_TEXT
    field, key, comma = KEY, b"", False
    held: list[int] = []
    begin = start = 0
    for at, symbol in enumerate(symbols, 1):
        after = scan.step(symbol)
        if after is None:
            break
        is_top = scan.depth == 1 and scan.quote is None
        scan = after
        if is_top and symbol == ord(","):
            field, key, comma, begin = KEY, b"", True, at
            held.clear()
        elif field == KEY and symbol == ord("="):
            field, key, start = VALUE, bytes(held).strip(), at
            held.clear()
        else:
            held.append(symbol)
    is_open = scan.depth > 1 or scan.quote is not None
    return Spot(field, "", key, "", tuple(held), 0, begin, start, is_open=is_open, comma=comma)
