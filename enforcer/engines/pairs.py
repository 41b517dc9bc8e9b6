"""What has to be known of a layout of pairs to keep something of its texts (`pairs_keeper`).

Owns: in which layouts that can be done; a layout as JSON that another process reads; the ids of a
vocabulary that cross the borders of values. Must not know: what is kept, engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enforcer.layouts import Escape, LayoutKind, Types
from enforcer.layouts.declared import types_of_properties
from enforcer.layouts.machine import Machine, machine
from enforcer.layouts.pattern import ID, Field, Piece, Space
from enforcer.layouts.texts import Readable

if TYPE_CHECKING:
    from enforcer.engines.mask_rows import Ids, Row
    from enforcer.layouts import BoundLayout
    from enforcer.schema import ArgumentGrammar
    from enforcer.vocabulary import Vocabulary

_VALUE = "value"
_STRUCTURE = frozenset(b'{}[],:"\\')
_SPELLED = len(b"&quot;")  # bytes for one of a name, at most
_BRACKETS = (b"[", b"{")
_LONG_OPENING = 40  # bytes behind what opens a value: fewer than any that are counted may have


@dataclass(frozen=True, slots=True)
class Pairs:
    """What has to be known of a layout and of a tool to follow a text.

    Attributes:
        machine: finds keys and values.
        stop: the bytes that end a value; empty if an id does.
        opens: the last byte before a value; empty if an id is.
        typed: whether the type of a value stands before it.
        escape: how keys are written.
        nested: names whose values are JSON if they begin with a bracket, where none does.
        longest: bytes that a declared name may be spelled with.

    """

    machine: Machine
    stop: bytes
    opens: bytes
    typed: bool
    escape: Escape
    nested: frozenset[str]
    longest: int


def can_follow(layout: BoundLayout | None) -> bool:
    """Tell whether what is kept of JSON can be kept in a layout's texts."""
    if layout is None or layout.layout.kind is LayoutKind.JSON:
        return True
    if layout.layout.kind is not LayoutKind.PAIRS:
        return False
    return layout.stop[0] >= ID or all(x < ID and x not in _STRUCTURE for x in layout.stop)


def written(layout: BoundLayout | None, grammar: ArgumentGrammar) -> list[Any] | None:
    """Give what `read` wants to know as JSON's values; None where the text is JSON itself."""
    if layout is None or layout.layout.kind is LayoutKind.JSON:
        return None
    types = types_of_properties(grammar.schema)
    objects = grammar.definitions[grammar.root].objects
    names = [*types, *(name for shape in objects for name, _ in shape.names)]
    return [
        [_piece(each) for each in layout.pair],
        [_piece(each) for each in layout.close],
        layout.layout.types is Types.WRITTEN,
        layout.layout.key.value,
        sorted(name for name, each in types.items() if Readable(each).as_json),
        _SPELLED * max((len(name.encode()) for name in names), default=0),
    ]


def read(found: list[Any]) -> Pairs:
    """Read what `written` has given."""
    pair, close, typed, escape, nested, longest = found
    pieces = tuple(map(_read_piece, pair))
    return Pairs(
        machine(pieces, tuple(map(_read_piece, close))),
        *borders(pieces),
        typed,
        Escape(escape),
        frozenset(nested),
        longest,
    )


def borders(pair: tuple[Piece, ...]) -> tuple[bytes, bytes]:
    """Give the bytes that end a value of a pair, and the last one before it; none for ids."""
    at = pair.index(Field(_VALUE))
    before, stop = pair[at - 1], pair[at + 1 :]
    bare = [x for x in stop if isinstance(x, int) and x < ID]
    return (
        bytes(bare) if len(bare) == len(stop) else b"",
        bytes([before]) if isinstance(before, int) and before < ID else b"",
    )


def _piece(piece: Piece) -> int | str | None:
    if isinstance(piece, int):
        return piece
    return piece.name if isinstance(piece, Field) else None


def _read_piece(found: int | str | None) -> Piece:
    if isinstance(found, int):
        return found
    return Space.OPTIONAL if found is None else Field(found)


class Crossing:
    """The ids that may end a value, or open one, and go on; 0.2 s to build for 160,000.

    Args:
        vocabulary: all ids.
        stop, opens: what ends and opens values, as `Pairs` has them.

    """

    def __init__(self, vocabulary: Vocabulary, stop: bytes, opens: bytes) -> None:
        self._vocabulary = vocabulary
        every = list(zip(*vocabulary.sorted_text, strict=True))
        whole = [i for data, i in every if stop and stop in data]
        self.whole = np.array(whole, np.int64)
        opening = [i for data, i in every if opens and opens in data and _opens(data, opens)]
        self.opening = vocabulary.row(opening) if opening else None

    def beginning(self, data: bytes) -> Ids:
        """List the ids that begin with some bytes."""
        return np.array(self._vocabulary.beginning_with(data), np.int64)

    def opening_among(self, ids: Ids) -> Row | None:
        """Give those of some ids that may open a value and have to be looked at."""
        return None if self.opening is None else self.opening & self._vocabulary.row(ids.tolist())


def _opens(data: bytes, mark: bytes) -> bool:
    """Tell whether an id may open a value, and write so much of it that it has to be looked at."""
    behind = data.partition(mark)[2]
    return len(behind) >= _LONG_OPENING or any(bracket in behind for bracket in _BRACKETS)
