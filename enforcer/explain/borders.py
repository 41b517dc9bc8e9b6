"""What may be written next at the borders of a turn whose markers are spelled.

Owns: how what is left of a marker or of a header is written. Whether it may come is the mask's to
say. Must not know: words, the texts of calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from enforcer.layouts.pattern import symbols
from enforcer.turn.dialect import Segment
from enforcer.turn.pattern import BLANK, FIELDS, ID, Choice, pieces_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from enforcer.turn.pattern import Fixed, Language
    from enforcer.turn.position import Position
    from enforcer.turn.table import Table

Symbols = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """A marker that may come next, or go on.

    Attributes:
        role: of the marker.
        rest: what is still to be written of it, without white space that may be missing.
        begun: whether some of it has been written.

    """

    role: str
    rest: Symbols
    begun: bool


def exits(table: Table, now: Position) -> Iterator[Exit]:
    """Give the open markers of a place where markers are symbols; the mask may forbid some."""
    segment = table.segment(now.state)
    if not (now.place.begun or now.complete()):
        return
    opening = (now.row if segment is Segment.ARGUMENTS else now.markers).opening
    for each in table.lexer.open_markers(now.place, opening):
        texts = table.dialect.markers[each.role]
        for text in texts:
            is_token = text in table.vocabulary.controls
            names = (text,) if is_token else (*table.dialect.tokens.names, *texts)
            for whole in _spellings(table, pieces_of(text, FIELDS), names):
                rest = rest_of(each.rest, whole)
                if rest and not _belongs(table, now, rest[0]):
                    yield Exit(each.role, rest, bool(each.length))


def _belongs(table: Table, now: Position, symbol: int) -> bool:
    """Tell whether a symbol is one of the header or of the arguments rather than of a marker."""
    place = now.place
    if place.begun:
        return False
    if place.scan is not None:
        return place.scan.after(symbol) is not None
    if place.header is not None:
        return place.header.after(symbol) is not None
    return table.segment(now.state) is Segment.HEADER and symbol < ID


def rest_of_header(table: Table, part: Language, *, behind: bool) -> Symbols | None:
    """Return what is still to be written of the part of a header before or behind the name's."""
    first, last = table.dialect.header_ends
    whole = table.dialect.header_pieces
    pieces = whole[last:] if behind else whole[:first]
    for spelled in _spellings(table, pieces, table.dialect.tokens.names):
        rest = rest_of(part, spelled)
        if rest is not None:
            return rest
    return None


def rest_of(language: Language, whole: Symbols) -> Symbols | None:
    """Give the longest end of a text that completes a language; None if none does."""
    for start in range(len(whole) + 1):
        at: Language | None = language
        for symbol in whole[start:]:
            at = None if at is None else at.after(symbol)
        if at is not None and at.nullable:
            return whole[start:]
    return None


def _spellings(table: Table, pieces: Sequence[Fixed], names: Iterable[str]) -> Iterator[Symbols]:
    """Write pieces in all ways but for white space; none if a field is among them.

    Args:
        table: of the turn.
        pieces: of a marker or a header.
        names: the special tokens that may be among them.

    """
    inside = {name: table.vocabulary.controls.get(name) for name in names}
    ways: list[tuple[str, ...]] = []
    for piece in pieces:
        if isinstance(piece, Choice):
            ways.append(piece.words)
        elif isinstance(piece, str):
            ways.append((piece,))
        elif piece is not BLANK:
            return
    for words in product(*ways):
        yield tuple(symbols("".join(words), inside.get))
